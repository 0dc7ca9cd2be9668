package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run on the built-in backend and one on the same backend as a plugin process give equal metrics, to the bit.
func TestTrainDevicesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	plugins, data, settings := buildPlugin(t), table(t), trainSettings(t, smallTable)
	var runs [][]map[string]any
	for _, device := range []string{"builtin:cpu", "process:cpu"} {
		dir := filepath.Join(t.TempDir(), "run")
		_, errs, code := burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--device", device, "--plugin-path", plugins)
		require.Equal(t, exitOK, code, errs)
		runs = append(runs, history(t, dir))
	}
	require.Equal(t, runs[0], runs[1])
}
