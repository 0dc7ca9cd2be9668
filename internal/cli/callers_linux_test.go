package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/bench"
)

// TestManyCallers runs one session from 16 goroutines, built in and in a plugin process. The command fails if a result differs
// from that of a single run; this test checks the memory: the weights are stored once.
func TestManyCallers(t *testing.T) {
	dir := buildPlugin(t)
	for _, device := range []string{"builtin:cpu", "process:cpu"} {
		r := call(t, "bench", "model", digits+"digits.onnx", "--batch", "2", "--callers", "16", "--device", device, "--plugin-path", dir, "--min-time", "300ms", "--json", "-")
		require.Equal(t, 0, r.code, r.err)
		var got bench.Report
		require.NoError(t, json.Unmarshal([]byte(r.out), &got))
		c := got.Models[0].Callers
		require.NotNil(t, c)
		require.Equal(t, 16, c.Callers)
		require.Positive(t, c.Alone)
		require.Positive(t, c.Together)
		require.Positive(t, c.MemoryAlone)
		require.LessOrEqual(t, c.Memory, c.MemoryAlone*5/4, "%s: concurrent runs hold too much memory beside the weights", device)
	}
}
