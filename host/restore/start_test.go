//go:build unix

package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/restore"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

// starting opens this test binary as a plugin, whose behaviour may differ by start.
func starting(count *int, env func(start int) []string) func(context.Context, uint16) (core.Backend, error) {
	return func(ctx context.Context, generation uint16) (core.Backend, error) {
		*count++
		b, err := client.Start(ctx, os.Args[0], client.Options{Name: "fake", Env: env(*count), Generation: generation, Rebase: true, StartTimeout: time.Minute})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}

// TestKilledWhileStarting: a process that somebody kills before its handshake is started again, as one that is killed later.
func TestKilledWhileStarting(t *testing.T) {
	ctx := context.Background()
	mark, count := filepath.Join(t.TempDir(), "mark"), 0
	b, err := restore.Open(ctx, restore.Options{Backoff: time.Millisecond, Open: starting(&count, func(int) []string {
		return []string{fake.Env + "=" + fake.KilledOnce, fake.EnvMark + "=" + mark}
	})})
	require.NoError(t, err)
	require.Equal(t, 2, count)
	d, s := on(t, b)
	session(t, d, s, func(int) {})

	// During work, too.
	require.NoError(t, os.Remove(mark))
	require.NoError(t, syscall.Kill(pid(t, b), syscall.SIGKILL))
	d, s = on(t, b)
	session(t, d, s, func(int) {})
	require.Equal(t, 4, count)
	require.NoError(t, b.Close())

	// One that is killed each time is given up, and the error names the signal.
	count = 0
	_, err = restore.Open(ctx, restore.Options{Attempts: 4, Backoff: time.Millisecond, Open: starting(&count, func(int) []string {
		return []string{fake.Env + "=" + fake.Killed}
	})})
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "killed before the handshake, by signal SIGKILL")
	require.NotContains(t, err.Error(), "not a burn plugin")
	require.Equal(t, 4, count)
}

// TestSameStart: a plugin that does not start again fails in the same way the next time, so that two tries are enough.
func TestSameStart(t *testing.T) {
	ctx, count := context.Background(), 0
	b, err := restore.Open(ctx, restore.Options{Backoff: time.Millisecond, Open: starting(&count, func(start int) []string {
		if start == 1 {
			return []string{fake.Env + "=" + fake.Good}
		}
		return []string{fake.Env + "=" + fake.CrashAtStart}
	})})
	require.NoError(t, err)
	_, s := on(t, b)
	require.NoError(t, syscall.Kill(pid(t, b), syscall.SIGKILL))
	for range 3 { // the answer stays
		err = core.Sync(ctx, s)
		require.ErrorIs(t, err, core.ErrBackendLost)
		require.ErrorContains(t, err, "two starts failed in the same way")
		require.ErrorContains(t, err, "panic: no firmware")
	}
	require.Equal(t, 3, count)
	require.NoError(t, b.Close())

	// The first start of all is not tried again when it fails by itself.
	count = 0
	_, err = restore.Open(ctx, restore.Options{Open: starting(&count, func(int) []string { return []string{fake.Env + "=" + fake.CrashAtStart} })})
	var e *client.StartError
	require.True(t, errors.As(err, &e))
	require.False(t, e.Transient())
	require.Equal(t, 1, count)
}
