//go:build unix

package restore_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/host/restore"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

func TestMain(m *testing.M) {
	fake.Maybe()
	os.Exit(m.Run())
}

// plugin starts this test binary as a plugin that is restored.
func plugin(t testing.TB, o restore.Options, opts map[string]string) *restore.Backend {
	t.Helper()
	o.Open = func(ctx context.Context, generation uint16) (core.Backend, error) {
		return client.Start(ctx, os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good},
			Config: core.Config{Options: opts}, Generation: generation, Rebase: true, StartTimeout: 20 * time.Second})
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

func kill(t testing.TB, b *restore.Backend) {
	t.Helper()
	p, err := os.FindProcess(pid(t, b))
	require.NoError(t, err)
	require.NoError(t, p.Kill())
}

func stream(t testing.TB, b core.Backend) core.Stream {
	t.Helper()
	s, err := b.OpenStream(context.Background(), 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func id(n uint64) op.TensorID            { return op.NewTensorID(0, n) }
func desc(n uint64, dims ...int) op.Desc { return op.Desc{ID: id(n), DType: dtype.F32, Shape: dims} }
func f32(vs ...float32) (b []byte) {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func node(t testing.TB, name string, out uint64, in ...op.Desc) op.Node {
	t.Helper()
	code, ok := op.ByName(name)
	require.True(t, ok)
	n, err := op.New(code, in)
	require.NoError(t, err)
	n.Outputs[0].ID = id(out)
	return n
}

func read(t testing.TB, s core.Stream, d op.Desc) []byte {
	t.Helper()
	dst := make([]byte, d.Bytes())
	require.NoError(t, s.Read(context.Background(), d.ID, dst))
	return dst
}

// addProgram is x + c, negated.
func addProgram(t testing.TB, n int) *program.Program {
	p := &program.Program{Name: "add", Inputs: []op.Desc{desc(1, n)}, Consts: []op.Desc{desc(2, n)}, Outputs: []op.TensorID{id(4)}}
	p.Nodes = []op.Node{node(t, "add", 3, p.Inputs[0], p.Consts[0])}
	p.Nodes = append(p.Nodes, node(t, "neg", 4, p.Nodes[0].Outputs[0]))
	require.NoError(t, p.Check())
	return p
}

// TestRestored kills the process between all the steps of a session whose user notices nothing.
func TestRestored(t *testing.T) {
	for at := -1; at < 8; at++ {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			ctx := context.Background()
			b := plugin(t, restore.Options{}, nil)
			s := stream(t, b)
			ps, ok := core.As[core.Programs](s)
			require.True(t, ok)
			step := 0
			next := func() {
				if step == at {
					kill(t, b)
				}
				step++
			}
			next()
			require.NoError(t, s.Write(ctx, desc(1, 2), f32(1, 2)))
			next()
			prog, err := ps.Define(ctx, addProgram(t, 2), []op.TensorID{id(1)})
			require.NoError(t, err)
			next()
			require.NoError(t, s.Free([]op.TensorID{id(1)}), "the program has its constants")
			big := make([]byte, 4<<18)
			big[3] = 0x40
			require.NoError(t, s.Write(ctx, desc(2, 1<<18), big))
			next()
			require.NoError(t, s.Write(ctx, desc(3, 2), f32(10, 20)))
			n := node(t, "neg", 4, desc(3, 2))
			n.Drop = 1
			require.NoError(t, s.Submit([]op.Node{n}))
			next()
			require.NoError(t, ps.Run(prog, []op.TensorID{id(4)}, []op.TensorID{id(5)}))
			next()
			require.Equal(t, f32(9, 18), read(t, s, desc(5, 2)))
			next()
			require.Equal(t, f32(-10, -20), read(t, s, desc(4, 2)))
			require.Equal(t, big, read(t, s, desc(2, 1<<18)))
			require.NoError(t, s.Sync(ctx))
			next()
			require.NoError(t, s.Free([]op.TensorID{id(4)}))
			require.NoError(t, ps.Run(prog, []op.TensorID{id(5)}, []op.TensorID{id(6)}))
			require.Equal(t, f32(-10, -20), read(t, s, desc(6, 2)))
			require.ErrorIs(t, s.Read(ctx, id(4), make([]byte, 8)), core.ErrUnknownTensor)
			require.NoError(t, ps.Undefine(prog))
			require.NoError(t, s.Free([]op.TensorID{id(2), id(5), id(6)}))
			require.NoError(t, s.Sync(ctx), "nothing was freed twice")
			m, ok := core.As[core.MemoryStats](s)
			require.True(t, ok)
			require.Zero(t, m.Memory().Tensors)
			if at >= 0 {
				require.EqualValues(t, 1, b.Restarts())
			}
		})
	}
}

// TestStale forgets commands by a small journal: their tensors, and what is computed from them, are stale after a loss,
// and the rest goes on.
func TestStale(t *testing.T) {
	ctx := context.Background()
	b := plugin(t, restore.Options{Journal: 100}, nil)
	s := stream(t, b)
	require.NoError(t, s.Write(ctx, desc(1, 1), f32(1)))
	const last = 1001
	for i := uint64(2); i <= last; i++ { // a chain of which each needs all before it
		n := node(t, "neg", i, desc(i-1, 1))
		if i > 2 {
			n.Drop = 1
		}
		require.NoError(t, s.Submit([]op.Node{n}))
	}
	require.Equal(t, f32(1), read(t, s, desc(last, 1)))
	kill(t, b)
	require.ErrorIs(t, s.Read(ctx, id(last), make([]byte, 4)), core.ErrStale)
	require.Equal(t, f32(1), read(t, s, desc(1, 1)))
	bad, good := node(t, "add", last+1, desc(last, 1), desc(1, 1)), node(t, "neg", last+2, desc(1, 1))
	require.NoError(t, s.Submit([]op.Node{bad, good}))
	require.ErrorIs(t, s.Read(ctx, id(last+1), make([]byte, 4)), core.ErrStale)
	require.Equal(t, f32(-1), read(t, s, desc(last+2, 1)))
	require.ErrorIs(t, s.Sync(ctx), core.ErrStale)
	require.NoError(t, s.Free([]op.TensorID{id(last), id(last + 1)}))
	require.NoError(t, s.Sync(ctx), "once")
}

// TestFatal has a node that ends every process: it is given up, and another stream is served.
func TestFatal(t *testing.T) {
	b := plugin(t, restore.Options{Attempts: 3, Backoff: time.Millisecond}, map[string]string{"crash": "3"})
	s := stream(t, b)
	ctx := context.Background()
	require.NoError(t, s.Write(ctx, desc(1, 1), f32(1)))
	for i := uint64(2); i < 5; i++ {
		require.NoError(t, s.Submit([]op.Node{node(t, "neg", i, desc(1, 1))}))
	}
	err := s.Sync(ctx)
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.Contains(t, err.Error(), "exit status 7")
}

// TestLent keeps memory that was lent as its own copy, and gives it back.
func TestLent(t *testing.T) {
	ctx := context.Background()
	b := plugin(t, restore.Options{}, nil)
	s := stream(t, b)
	d, ok := core.As[core.DirectIO](s)
	require.True(t, ok)
	released := 0
	require.NoError(t, d.Adopt(ctx, desc(1, 2), f32(1, 2), func() { released++ }))
	kill(t, b)
	require.Equal(t, f32(1, 2), read(t, s, desc(1, 2)))
	require.Zero(t, released)
	require.NoError(t, s.Free([]op.TensorID{id(1)}))
	require.NoError(t, s.Close())
	require.Equal(t, 1, released)
	require.ErrorIs(t, s.Sync(ctx), core.ErrClosed)
}

func TestCanceledRecovery(t *testing.T) {
	b := plugin(t, restore.Options{}, nil)
	s := stream(t, b)
	require.NoError(t, s.Write(context.Background(), desc(1, 1), f32(3)))
	kill(t, b)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	require.Error(t, s.Read(ctx, id(1), make([]byte, 4)))
	require.Equal(t, f32(3), read(t, s, desc(1, 1)))
}

// left is what a test process holds of the system.
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

// TestSoak kills the process at random moments while clients compute, until it was started again BURN_SOAK_KILLS times, 15
// without that: some are killed while they are still being filled. Every answer
// is right, and no process, socket, descriptor or memory is left behind.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
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
	const seed = 20
	var pids []int
	var heap [2]runtime.MemStats
	t.Run("run", func(t *testing.T) {
		b := plugin(t, restore.Options{Attempts: 50, Backoff: time.Millisecond}, nil)
		pids = append(pids, pid(t, b))
		var stop atomic.Bool
		var rounds atomic.Int64
		var wg sync.WaitGroup
		for c := range 4 {
			wg.Go(func() { soakClient(t, b, c, &stop, &rounds) })
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		for b.Restarts() < int64(kills) && !stop.Load() {
			time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
			p := pid(t, b)
			if p != pids[len(pids)-1] {
				pids = append(pids, p)
			}
			_ = syscall.Kill(p, syscall.SIGKILL)
			if len(pids) == 3 {
				runtime.GC()
				runtime.ReadMemStats(&heap[0])
			}
		}
		stop.Store(true)
		wg.Wait()
		pids = append(pids, pid(t, b))
		t.Logf("%d restarts, %d rounds", b.Restarts(), rounds.Load())
	})
	runtime.GC()
	runtime.ReadMemStats(&heap[1])
	require.Less(t, int64(heap[1].HeapInuse), int64(heap[0].HeapInuse)+64<<20, "memory does not grow with the kills")
	for _, p := range pids {
		require.Eventually(t, func() bool { return syscall.Kill(p, 0) == syscall.ESRCH }, 5*time.Second, time.Millisecond, "process %d", p)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "sockets and folders")
	require.Eventually(t, func() bool {
		files, maps := left(t)
		return files <= filesBefore+4 && maps == 0 && runtime.NumGoroutine() <= goroutines+8 // the runtime keeps some for itself
	}, 5*time.Second, 5*time.Millisecond)
}

// soakClient computes with constants, programs, small and large tensors, and checks every answer.
func soakClient(t *testing.T, b core.Backend, c int, stop *atomic.Bool, rounds *atomic.Int64) {
	ctx := context.Background()
	s, err := b.OpenStream(ctx, c%2)
	if err != nil {
		t.Errorf("client %d: %v", c, err)
		return
	}
	defer s.Close()
	n := 8
	if c%2 == 1 {
		n = 40_000 // through shared memory
	}
	next := uint64(0)
	fresh := func() uint64 { next++; return next }
	fill := func(v float32) []byte {
		out := make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v+float32(i%7)))
		}
		return out
	}
	check := func(what string, err error) bool {
		if err != nil {
			t.Errorf("client %d: %s: %v", c, what, err)
			stop.Store(true)
		}
		return err == nil
	}
	weight := fresh()
	if !check("write", s.Write(ctx, desc(weight, n), fill(100))) {
		return
	}
	ps, _ := core.As[core.Programs](s)
	prog, err := ps.Define(ctx, addProgram(t, n), []op.TensorID{id(weight)})
	if !check("define", err) {
		return
	}
	got := make([]byte, 4*n)
	for k := 0; !stop.Load(); k++ {
		x, y, z := fresh(), fresh(), fresh()
		v := float32(k % 1000)
		neg := node(t, "neg", y, desc(x, n))
		neg.Drop = 1
		if !check("write", s.Write(ctx, desc(x, n), fill(v))) || !check("submit", s.Submit([]op.Node{neg})) ||
			!check("run", ps.Run(prog, []op.TensorID{id(y)}, []op.TensorID{id(z)})) || !check("read", s.Read(ctx, id(z), got)) {
			return
		}
		for i := range n {
			if a := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); a != v-100 { // -(100+j - (v+j))
				t.Errorf("client %d: round %d: element %d is %v, want %v", c, k, i, a, v-100)
				stop.Store(true)
				return
			}
		}
		if !check("free", s.Free([]op.TensorID{id(y), id(z)})) || k%16 == 0 && !check("sync", s.Sync(ctx)) {
			return
		}
		rounds.Add(1)
	}
	check("sync", s.Sync(ctx))
	m, _ := core.As[core.MemoryStats](s)
	if live := m.Memory().Tensors; live != 1 {
		t.Errorf("client %d: %d tensors are live, want the weight", c, live)
	}
}
