//go:build unix

package restore_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/host/restore"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

func TestMain(m *testing.M) {
	fake.Maybe()
	os.Exit(m.Run())
}

// plugin starts this test binary as a restored plugin. opts is the name of an option and its values for the successive generations; the
// last value is repeated.
func plugin(t testing.TB, o restore.Options, opts ...string) *restore.Backend {
	t.Helper()
	o.Open = func(ctx context.Context, generation uint16) (core.Backend, error) {
		c := core.Config{Options: map[string]string{}}
		if len(opts) > 0 {
			c.Options[opts[0]] = opts[min(int(generation), len(opts)-2)+1]
		}
		return client.Start(ctx, os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good}, Config: c,
			Generation: generation, Rebase: true, StartTimeout: time.Minute})
	}
	b, err := restore.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func pid(t testing.TB, b *restore.Backend) int {
	t.Helper()
	n, err := strconv.Atoi(b.Inner().(*client.Backend).PID())
	require.NoError(t, err)
	return n
}

// TestProcessRestored kills the process between the steps of a session.
func TestProcessRestored(t *testing.T) {
	for at := -1; at < 9; at += 2 {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			b := plugin(t, restore.Options{})
			d, s := on(t, b)
			session(t, d, s, func(step int) {
				if step == at {
					require.NoError(t, syscall.Kill(pid(t, b), syscall.SIGKILL))
				}
			})
			if at >= 0 {
				require.EqualValues(t, 1, b.Restarts())
			}
		})
	}
}

// If every process ends at its third node, whichever that is, the plugin is given up, and the error has its exit status.
func TestProcessFatal(t *testing.T) {
	b := plugin(t, restore.Options{Attempts: 3, Backoff: time.Millisecond}, "crash", "3")
	_, s := on(t, b)
	write(t, s, desc(1, 1), 1)
	for i := uint64(2); i < 10; i++ {
		submit(t, s, node(t, "neg", id(i), desc(1, 1)))
	}
	err := core.Sync(ctx, s)
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.Contains(t, err.Error(), "exit status 7")
}

// If a plugin restarts without programs, the error says so.
func TestProcessLess(t *testing.T) {
	b := plugin(t, restore.Options{}, "plain", "", "yes")
	d, s := on(t, b)
	ps := extension[core.Programs](t, d)
	write(t, s, desc(1, 1), 1)
	prog, err := ps.Define(ctx, s, addProgram(t, 1), []op.TensorID{id(1)})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid(t, b), syscall.SIGKILL))
	require.NoError(t, ps.Run(s, core.Run{Program: prog, Inputs: []op.TensorID{id(1)}, Outputs: []op.TensorID{id(2)}}))
	err = core.Sync(ctx, s)
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "came back without programs")
}

// left returns the numbers of open files and of mapped memory files of this process; 0 except on Linux.
func left(t testing.TB) (files, maps int) {
	if runtime.GOOS != "linux" {
		return 0, 0
	}
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return len(fds), strings.Count(string(text), "/memfd:")
}

// TestSoak kills the process at random moments while clients compute, until it was restarted BURN_SOAK_KILLS times (default 15). All
// results are right, and no process, socket, descriptor or memory remains.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test kills and starts processes for a while")
	}
	kills := 15
	if n, err := strconv.Atoi(os.Getenv("BURN_SOAK_KILLS")); err == nil {
		kills = n
	}
	dir, err := os.MkdirTemp("/tmp", "burn-soak-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	t.Setenv("TMPDIR", dir)
	filesBefore, _ := left(t)
	goroutines := runtime.NumGoroutine()
	var pids []int
	var heap [2]runtime.MemStats
	t.Run("run", func(t *testing.T) {
		b := plugin(t, restore.Options{Attempts: 50, Backoff: time.Millisecond})
		pids = append(pids, pid(t, b))
		small, big := newLoad(t, b, 8), newLoad(t, b, 40_000) // big transfers through shared memory
		soak(t, b, int64(kills), func() {
			p := pid(t, b)
			pids = append(pids, p)
			_ = syscall.Kill(p, syscall.SIGKILL)
			if len(pids) == 3 {
				runtime.GC()
				runtime.ReadMemStats(&heap[0])
			}
		}, small, big)
		pids = append(pids, pid(t, b))
	})
	runtime.GC()
	runtime.ReadMemStats(&heap[1])
	require.Less(t, int64(heap[1].HeapInuse), int64(heap[0].HeapInuse)+64<<20, "memory must not grow with the number of kills")
	for _, p := range pids {
		require.Eventually(t, func() bool { return syscall.Kill(p, 0) == syscall.ESRCH }, time.Minute, time.Millisecond, "process %d", p)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "sockets or folders remain")
	require.Eventually(t, func() bool {
		files, maps := left(t)
		return files <= filesBefore+4 && maps == 0 && runtime.NumGoroutine() <= goroutines+8 // the runtime keeps some for itself
	}, time.Minute, 5*time.Millisecond)
}

// Errors of a restarted process name tensors by the ids of the caller.
func TestProcessNamesCallersTensors(t *testing.T) {
	b := plugin(t, restore.Options{})
	_, s := on(t, b)
	write(t, s, desc(1, 3), 1, 2, 3)
	require.NoError(t, core.Sync(ctx, s))
	require.NoError(t, syscall.Kill(pid(t, b), syscall.SIGKILL))
	at := op.Desc{ID: id(2), DType: dtype.I32, Shape: shape.Of(1)}
	require.NoError(t, s.Write(ctx, at, []byte{9, 0, 0, 0}))
	n, err := op.New(op.Gather, []op.Desc{desc(1, 3), at}, op.Int("axis", 0))
	require.NoError(t, err)
	n.Outputs[0].ID = id(3)
	submit(t, s, n)
	err = core.Read(ctx, s, id(3), make([]byte, 4))
	require.ErrorIs(t, err, core.ErrUnsupported) // the plugin has no gather
	require.EqualValues(t, 1, b.Restarts())
	var fault *core.NodeError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, id(3), fault.Outputs[0].ID)
}
