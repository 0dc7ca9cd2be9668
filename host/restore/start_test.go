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

// starting returns a function that starts this test binary as a plugin and counts the starts. env returns the environment of each start,
// from 1.
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

// A process that is killed before its handshake is restarted, like one that is killed later.
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

	// The same happens if the process is killed during work and its successor before the handshake.
	require.NoError(t, os.Remove(mark))
	require.NoError(t, syscall.Kill(pid(t, b), syscall.SIGKILL))
	d, s = on(t, b)
	session(t, d, s, func(int) {})
	require.Equal(t, 4, count)
	require.NoError(t, b.Close())

	// A process that is killed at each start is given up, and the error names the signal.
	count = 0
	_, err = restore.Open(ctx, restore.Options{Attempts: 4, Backoff: time.Millisecond, Open: starting(&count, func(int) []string {
		return []string{fake.Env + "=" + fake.Killed}
	})})
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "killed before the handshake, by signal SIGKILL")
	require.NotContains(t, err.Error(), "not a burn plugin")
	require.Equal(t, 4, count)
}

// A restart is given up after two starts that fail in the same way, since a third would fail too.
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
	for range 3 { // the error persists
		err = core.Sync(ctx, s)
		require.ErrorIs(t, err, core.ErrBackendLost)
		require.ErrorContains(t, err, "two starts failed in the same way")
		require.ErrorContains(t, err, "panic: no firmware")
	}
	require.Equal(t, 3, count)
	require.NoError(t, b.Close())

	// The initial start is not repeated if the plugin itself fails.
	count = 0
	_, err = restore.Open(ctx, restore.Options{Open: starting(&count, func(int) []string { return []string{fake.Env + "=" + fake.CrashAtStart} })})
	var e *client.StartError
	require.True(t, errors.As(err, &e))
	require.False(t, e.Transient())
	require.Equal(t, 1, count)
}
