package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/npy"
	"github.com/stretchr/testify/require"
)

// limitMemory sets the memory limit of the Go runtime, in bytes, for the test.
func limitMemory(t *testing.T, bytes int64) {
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// Inputs that do not fit in memory are refused before they are allocated.
func TestInputsTooLarge(t *testing.T) {
	limitMemory(t, 64<<20)
	dir := t.TempDir()
	var b bytes.Buffer
	require.NoError(t, npy.Write(&b, &npy.Array{DType: "f32", Shape: []int{1, 1, 28, 28}, Data: make([]byte, 28*28*4)}))
	large := filepath.Join(dir, "large.npy")
	require.NoError(t, os.WriteFile(large, b.Bytes(), 0o600))
	require.NoError(t, os.Truncate(large, 1<<32))
	message := filepath.Join(dir, "large.pb")
	require.NoError(t, os.WriteFile(message, nil, 0o600))
	require.NoError(t, os.Truncate(message, 1<<32))
	table := filepath.Join(dir, "large.csv")
	require.NoError(t, os.WriteFile(table, []byte("a,y\n1,2\n"), 0o600))
	require.NoError(t, os.Truncate(table, 1<<32))
	for _, args := range [][]string{
		{"run", digits + "digits.onnx", "--input", "@zeros:3000000x1x28x28"},
		{"run", digits + "digits.onnx", "--input", large},
		{"run", digits + "digits.onnx", "--input", message},
		{"bench", "model", digits + "digits.onnx", "--batch", "1000000"},
		{"train", "text", "--data", table, "--out", filepath.Join(dir, "run")},
		{"train", "regression", "--data", table, "--out", filepath.Join(dir, "run")},
	} {
		_, errs, code := burn(t, args...)
		require.Equal(t, exitFailure, code, "%v: %s", args, errs)
		require.Contains(t, errs, "out of memory", "%v", args)
	}
}

func TestHostRoom(t *testing.T) {
	limitMemory(t, 1000)
	r := newHostRoom()
	require.NoError(t, r.take("a", 600))
	require.ErrorIs(t, r.take("b", 600), core.ErrOutOfMemory, "the sum exceeds the limit")
	require.NoError(t, r.take("c", 400))
	var none *hostRoom
	require.NoError(t, none.take("a", 600))
	require.ErrorIs(t, none.take("a", 1001), core.ErrOutOfMemory)
}

// A batch larger than the data set takes only the memory of the data set.
func TestTrainHugeBatch(t *testing.T) {
	for _, batch := range []int{999999999, 1<<63 - 1} {
		_, errs, code := burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable), "--batch", fmt.Sprint(batch), "--out", filepath.Join(t.TempDir(), "run"))
		require.Equal(t, exitOK, code, errs)
		require.Contains(t, errs, "8 epochs of 1 batches")
	}
}
