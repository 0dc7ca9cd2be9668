package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKilledWhileStarting checks that a plugin that is killed before its handshake counts as lost, not as defective. Training and inference
// restart it; devices names the signal.
func TestKilledWhileStarting(t *testing.T) {
	real := filepath.Join(buildPlugin(t), "burn-backend-cpu")
	mark := filepath.Join(t.TempDir(), "mark")
	script := filepath.Join(t.TempDir(), "burn-backend-cpu")
	text := fmt.Sprintf("#!/bin/sh\nif [ ! -e '%s' ]; then : > '%s'; kill -9 $$; fi\nexec '%s' \"$@\"\n", mark, mark, real)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))
	env := map[string]string{"BURN_PLUGIN_CONTAINMENT": "off", "BURN_DEV_PLUGINS": "cpu=" + script, "BURN_DEVICE": "process:cpu"}

	r := callWith(t, t.Context(), env, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable),
		"--epochs", "1", "--out", filepath.Join(t.TempDir(), "run"))
	require.Equal(t, exitOK, r.code, r.err)
	require.Contains(t, r.err, "warning: the backend was lost: ")
	require.Contains(t, r.err, "killed before the handshake, by signal SIGKILL")
	require.NotContains(t, r.err, "not a burn plugin")
	require.NotContains(t, r.err, "goroutine")

	require.NoError(t, os.Remove(mark))
	r = callWith(t, t.Context(), env, "run", digits+"digits.onnx", "@zeros")
	require.Equal(t, exitOK, r.code, r.err)
	require.FileExists(t, mark)

	require.NoError(t, os.Remove(mark))
	r = callWith(t, t.Context(), env, "devices")
	require.Equal(t, exitOK, r.code, r.err)
	require.Contains(t, r.out, "killed before the handshake, by signal SIGKILL")
	require.Contains(t, r.out, "start it again")
	require.NotContains(t, strings.ToLower(r.out), "not a burn plugin")
}

// TestCrashingPlugin checks that a plugin that fails in the same way at every start is not restarted endlessly, and that its
// panic is printed without the trace.
func TestCrashingPlugin(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	script := filepath.Join(t.TempDir(), "burn-backend-npu")
	text := fmt.Sprintf("#!/bin/sh\necho x >> '%s'\nprintf 'panic: no card\\n\\ngoroutine 1 [running]:\\nmain.main()\\n\\t/src/main.go:3 +0x1d\\n' >&2\nexit 2\n", count)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))
	env := map[string]string{"BURN_PLUGIN_CONTAINMENT": "off", "BURN_DEV_PLUGINS": "npu=" + script}
	for _, args := range [][]string{{"run", digits + "digits.onnx", "@zeros", "--device", "npu"}, {"devices"}} {
		_ = os.Remove(count)
		r := callWith(t, t.Context(), env, args...)
		require.Contains(t, r.out+r.err, "panic: no card")
		require.NotContains(t, r.out+r.err, "goroutine")
		require.NotContains(t, r.out+r.err, "main.go")
		starts, err := os.ReadFile(count)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(starts), "x"), 2, "%v", args)
	}
	r := callWith(t, t.Context(), env, "devices", "--log", "debug")
	require.Contains(t, r.err, "goroutine 1 [running]")
}
