package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goburn/burn/internal/bench"
	"github.com/stretchr/testify/require"
)

func TestBenchOps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.json")
	r := call(t, "bench", "ops", "--filter", "^(add/64KiB|max_pool/2x2/s2)$", "--min-time", "4ms", "--threads", "1", "--json", file)
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "limits of this machine on 1 thread\n")
	require.Regexp(t, `(?m)^add/64KiB +\d+.*\d+ % of copy of 128 KiB$`, r.out)
	require.Regexp(t, `(?m)^max_pool/2x2/s2 .*µs`, r.out)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var got bench.Report
	require.NoError(t, json.Unmarshal(b, &got))
	require.Equal(t, "builtin:cpu:0", got.Device)
	require.Len(t, got.Ops, 2)
	require.Positive(t, got.Ops[0].Median)
	require.False(t, got.Interrupted)

	r = call(t, "bench", "ops", "--set", "pool", "--list")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "pool       max_pool/3x3/s2\n")
	require.NotContains(t, r.out, "matmul")
}

func TestBenchModel(t *testing.T) {
	r := call(t, "bench", "model", digits+"digits.onnx", "--batch", "3", "--min-time", "4ms", "--json", "-")
	require.Equal(t, 0, r.code, r.err)
	var got bench.Report
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.Equal(t, "generated", got.Models[0].Input)
	require.Equal(t, 3, got.Models[0].Batch)
	require.Positive(t, got.Models[0].PerSecond)

	r = call(t, "bench", "model", digits+"digits.onnx", "--min-time", "4ms")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)digits\.onnx +\d.*generated$`, r.out)
}

func TestBenchUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"bench", "walk"}, 2, "want ops or model"},
		{[]string{"bench", "ops", "--filter", "("}, 2, "--filter: error parsing regexp"},
		{[]string{"bench", "ops", "--set", "nosuch"}, 2, "no case is selected"},
		{[]string{"bench", "ops", "--min-time", "0s"}, 2, "--min-time: want a time above 0"},
		{[]string{"bench", "model"}, 2, "requires at least 1 arg"},
		{[]string{"bench", "model", digits + "labels.txt"}, 3, "want an ONNX model"},
		{[]string{"bench", "model", digits + "digits.onnx", "--batch", "-1"}, 2, "--batch: want 1 to"},
	} {
		r := call(t, c.args...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, r.err, c.text)
	}
}

// After an interrupt, the report contains the measurements so far.
func TestBenchInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.json")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r := callWith(t, ctx, nil, "bench", "ops", "--min-time", "20ms", "--json", file)
	require.Equal(t, 130, r.code)
	require.Contains(t, r.err, "burn: interrupted\n")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var got bench.Report
	require.NoError(t, json.Unmarshal(b, &got))
	require.True(t, got.Interrupted)
	require.Less(t, len(got.Ops), len(bench.Cases()))
}
