package train_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/train"
)

// TestLostBackend kills the plugin in the middle of an epoch. Training opens it again, resumes from the last checkpoint, repeats
// no more than the steps since, and ends with the same parameters as an undisturbed run.
func TestLostBackend(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test builds a plugin")
	}
	ctx := context.Background()
	plugins := t.TempDir()
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(plugins, "burn-backend-cpu"), "../plugins/cpu/cmd/burn-backend-cpu").CombinedOutput()
	require.NoError(t, err, string(out))
	want, whole := run(t, ctx, newLearner("", 3))

	var device *core.Place
	opens := 0
	dir := t.TempDir()
	process := func(ctx context.Context) (*parts, error) {
		c, err := host.Open(ctx, "process:cpu", host.Options{Config: core.Config{Threads: 1}, Dirs: []string{plugins}})
		if err != nil {
			return nil, err
		}
		opens++
		device = c
		return opened(ctx, c)
	}
	kill := func() {
		b, ok := device.Backend.(*client.Backend)
		require.True(t, ok)
		pid, err := strconv.Atoi(b.PID())
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	const every = 2
	killAt := map[int]bool{3: true, 9: true, 10: true}
	var steps []int // in the order done
	var warnings []string
	l := newLearner(dir, 3)
	l.Open = process
	l.Restarts = 3
	l.Backoff = time.Millisecond
	l.Checkpoints.Every = every
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		switch e := e.(type) {
		case train.Stepped:
			if e.Split != train.Train {
				return
			}
			steps = append(steps, e.Step)
			if killAt[e.Step] {
				delete(killAt, e.Step)
				kill()
			}
		case train.Warned:
			warnings = append(warnings, e.Text)
		}
	})}
	got, r := run(t, ctx, l)
	require.Empty(t, killAt)
	require.Equal(t, 4, opens)
	require.Len(t, warnings, 3, "%v", warnings)
	require.Contains(t, warnings[0], "the backend was lost")
	require.Equal(t, want, got, "builtin and process devices, and a run without faults")
	require.Equal(t, values(whole.History), values(r.History))
	for i := 1; i < len(steps); i++ {
		require.LessOrEqual(t, steps[i-1]-steps[i]+1, every, "%v", steps)
	}

	t.Run("too often", func(t *testing.T) {
		l := newLearner(t.TempDir(), 1)
		l.Open = process
		l.Restarts = 1
		l.Backoff = time.Millisecond
		l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
			if s, ok := e.(train.Stepped); ok && s.Step == 2 {
				kill()
			}
		})}
		_, err := l.Run(ctx)
		require.True(t, errors.Is(err, core.ErrBackendLost), "%v", err)
	})
}
