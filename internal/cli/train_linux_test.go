package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// onText is a writer that calls what once, before it writes the first text that contains at.
type onText struct {
	all  bytes.Buffer
	at   string
	what func()
}

func (w *onText) Write(p []byte) (int, error) {
	if w.what != nil && strings.Contains(string(p), w.at) {
		w.what()
		w.what = nil
	}
	return w.all.Write(p)
}

// A run on the built-in backend, one on the same backend as a plugin process, and one whose process is killed midway produce
// bitwise equal metrics.
func TestTrainOnProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	plugins, data, settings := buildPlugin(t), table(t), trainSettings(t, "checkpoint_every = 5\n"+smallTable)
	train := func(dir, device string, stderr *onText) int {
		args := []string{"train", "regression", "--data", data, "--config", settings, "--out", dir, "--device", device, "--plugin-path", plugins, "--log", "off"}
		return run(t.Context(), func(string) string { return "" }, args, strings.NewReader(""), &bytes.Buffer{}, stderr)
	}
	var runs [][]map[string]any
	for _, device := range []string{"builtin:cpu", "process:cpu"} {
		dir, stderr := filepath.Join(t.TempDir(), "run"), &onText{}
		require.Equal(t, exitOK, train(dir, device, stderr), stderr.all.String())
		runs = append(runs, history(t, dir))
	}
	require.Equal(t, runs[0], runs[1])

	dir := filepath.Join(t.TempDir(), "run")
	stderr := &onText{at: "epoch 4/8 train", what: func() { require.NoError(t, syscall.Kill(child(os.Getpid()), syscall.SIGKILL)) }}
	require.Equal(t, exitOK, train(dir, "process:cpu", stderr), stderr.all.String())
	require.Nil(t, stderr.what, "nothing was killed")
	require.Contains(t, stderr.all.String(), "the backend was lost")
	require.Equal(t, runs[0], history(t, dir))
}
