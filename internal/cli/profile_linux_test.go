package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A plugin process reports the same steps as the built-in backend.
func TestProfileOfAProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	r := call(t, "profile", digits+"digits.onnx", "--batch", "4", "--runs", "3", "--device", "process:cpu", "--plugin-path", buildPlugin(t))
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, digitSteps, stepRows(r.out), r.out)
}
