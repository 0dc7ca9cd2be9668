package commands

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// host implements Calls on the host: commands run when they are committed, or never if held is set. Command buffer number fails, counted from 1,
// ends with a fault. alive counts the objects that are not released.
type host struct {
	mu     sync.Mutex
	alive  int
	number int
	fails  int
	held   bool
}

func (h *host) add(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive += n
}

func (h *host) Allocated() int64 { return int64(h.alive) }

func (h *host) NewBuffer(bytes int64) (Buffer, error) {
	h.add(1)
	return &hostBuffer{h, make([]byte, bytes)}, nil
}

func (h *host) NewQueue(int) (Queue, error) { h.add(1); return hostQueue{h}, nil }
func (h *host) NewEvent() (Event, error)    { h.add(1); return &hostEvent{h: h}, nil }

type hostBuffer struct {
	h    *host
	data []byte
}

func (b *hostBuffer) Contents() []byte { return b.data }
func (b *hostBuffer) Release()         { b.h.add(-1) }

type hostQueue struct{ h *host }

func (q hostQueue) Release() { q.h.add(-1) }

func (q hostQueue) NewCommands() (Commands, error) {
	q.h.add(1)
	return &hostCommands{h: q.h}, nil
}

type hostEvent struct {
	h     *host
	mu    sync.Mutex
	value uint64
}

func (e *hostEvent) Wait(value uint64, _ time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.value >= value
}
func (e *hostEvent) Release() { e.h.add(-1) }

// hostPipeline computes a launch from its arguments: memory from the offset on, or bytes.
type hostPipeline struct {
	h   *host
	run func(groups int, args [][]byte)
}

func (p *hostPipeline) Threads() int { return 1024 }
func (p *hostPipeline) Width() int   { return 32 }
func (p *hostPipeline) Release()     { p.h.add(-1) }

type hostCommands struct {
	h        *host
	pipeline *hostPipeline
	args     [][]byte
	steps    []func()
	done     bool
	err      error
}

func (c *hostCommands) set(i int, b []byte) {
	for len(c.args) <= i {
		c.args = append(c.args, nil)
	}
	c.args[i] = b
}
func (c *hostCommands) SetPipeline(p Pipeline)                  { c.pipeline = p.(*hostPipeline) }
func (c *hostCommands) SetBuffer(i int, b Buffer, offset int64) { c.set(i, b.Contents()[offset:]) }
func (c *hostCommands) SetBytes(i int, data []byte)             { c.set(i, append([]byte{}, data...)) }
func (c *hostCommands) Await(Event, uint64)                     {}
func (c *hostCommands) Ended() float64                          { return 0 }
func (c *hostCommands) Release()                                { c.h.add(-1) }
func (c *hostCommands) Done() (bool, error)                     { return c.done, c.err }

func (c *hostCommands) Dispatch(groups [3]int, _ int) {
	p, args := c.pipeline, append([][]byte{}, c.args...)
	c.steps = append(c.steps, func() { p.run(groups[0], args) })
}

func (c *hostCommands) Commit(e Event, value uint64) {
	c.h.number++
	switch {
	case c.h.number == c.h.fails:
		c.done, c.err = true, errors.New("planted")
	case !c.h.held:
		for _, s := range c.steps {
			s()
		}
		c.done = true
	}
	if x := e.(*hostEvent); c.done {
		x.mu.Lock()
		x.value = value
		x.mu.Unlock()
	}
}

// open returns a device with moves that run on the host.
func open(h *host, patience time.Duration) *Device {
	count := func(args [][]byte, size int) int { return int(binary.LittleEndian.Uint64(args[2])) * size }
	fill := func(size int) func(int, [][]byte) {
		return func(_ int, args [][]byte) {
			for i := range count(args, size) {
				args[0][i] = args[1][i%4]
			}
		}
	}
	move := func(size int) func(int, [][]byte) {
		return func(_ int, args [][]byte) { copy(args[0][:count(args, size)], args[1]) }
	}
	var m Moves
	for i, run := range []func(int, [][]byte){CopyBytes: move(1), CopyPieces: move(16), FillBytes: fill(1), FillWords: fill(4)} {
		h.add(1)
		m[i] = &hostPipeline{h, run}
	}
	return New(Options{Calls: h, Backend: "host", Memory: 1 << 20, Largest: 1 << 16, Moves: m, Patience: patience})
}

func TestDevice(t *testing.T) {
	h := &host{}
	d := open(h, time.Minute)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	m, err := d.Alloc(1000)
	require.NoError(t, err)
	_, err = d.Alloc(1<<16 + 1)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	at := func(offset int64) gpu.Ref { return gpu.Ref{Memory: m, Offset: offset} }
	require.NoError(t, q.Upload(at(0), []byte{1, 2, 3, 4, 5})) // at once: the queue is idle
	require.NoError(t, q.Fill(at(16), 32, 7, 4))
	require.NoError(t, q.Fill(at(50), 3, 9, 1))
	require.NoError(t, q.Copy(at(101), at(0), 5))
	require.NoError(t, q.Copy(at(512), at(16), 32))
	require.NoError(t, q.Upload(at(200), []byte{6, 7})) // behind the rest
	pinned, err := d.HostAlloc(8)
	require.NoError(t, err)
	got := make([]byte, 1000)
	require.NoError(t, q.Download(got, at(0)))
	require.NoError(t, q.Download(pinned, at(101)))
	require.NoError(t, q.Synchronize())
	want := make([]byte, 1000)
	copy(want, []byte{1, 2, 3, 4, 5})
	for _, from := range []int{16, 512} {
		for i := 0; i < 32; i += 4 {
			want[from+i] = 7
		}
	}
	copy(want[50:], []byte{9, 9, 9})
	copy(want[101:], []byte{1, 2, 3, 4, 5})
	copy(want[200:], []byte{6, 7})
	require.Equal(t, want, got)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 0, 0, 0}, pinned)
	require.ErrorIs(t, q.Copy(at(999), at(0), 2), core.ErrKernel)
	d.HostFree(pinned)
	d.Free(m)
	require.ErrorIs(t, q.Fill(at(0), 4, 0, 4), core.ErrKernel, "memory that was freed")
	q.Close()
	d.Close()
	require.Zero(t, h.alive)
}

// TestFunction checks that scalars are passed as one argument after the buffers, each aligned to its size.
func TestFunction(t *testing.T) {
	h := &host{}
	d := open(h, time.Minute)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	b := ir.New("k", 64)
	b.Buffer("x", dtype.F32, ir.Read|ir.Write)
	b.Scalar("n", dtype.I32)
	b.Scalar("wide", dtype.I64)
	b.Buffer("y", dtype.F32, ir.Read)
	b.Scalar("last", dtype.I32)
	k := b.Kernel()
	var seen [][]byte
	f, err := d.NewFunction(k, func() (Pipeline, error) {
		h.add(1)
		return &hostPipeline{h, func(groups int, args [][]byte) { seen = args[:3] }}, nil
	})
	require.NoError(t, err)
	m, err := d.Alloc(64)
	require.NoError(t, err)
	args := []gpu.Arg{{Ref: gpu.Ref{Memory: m}}, {Bits: 1}, {Bits: 2}, {Ref: gpu.Ref{Memory: m, Offset: 32}}, {Bits: 3}}
	require.NoError(t, q.Launch(&gpu.Launch{Function: f, Grid: [3]int{1, 1, 1}, Args: args}))
	require.NoError(t, q.Synchronize())
	require.Len(t, seen[0], 64)
	require.Len(t, seen[1], 32)
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}, seen[2])
	require.ErrorIs(t, q.Launch(&gpu.Launch{Function: f, Grid: [3]int{1, 1, 1}, Args: args[:4]}), core.ErrKernel)
	b = ir.New("many", 64)
	for range MostArguments {
		b.Buffer("x", dtype.F32, ir.Read)
	}
	_, err = d.NewFunction(b.Kernel(), nil)
	require.ErrorIs(t, err, core.ErrUnsupported)
}

// TestFault checks that the first fault ends the device, and that other queues report it too.
func TestFault(t *testing.T) {
	d := open(&host{fails: 2}, time.Minute)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	m, err := d.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
	require.NoError(t, q.Synchronize())
	require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
	for range 2 {
		err = q.Synchronize()
		require.ErrorIs(t, err, core.ErrBackendLost)
		require.ErrorContains(t, err, "planted")
	}
	other, err := d.OpenQueue()
	require.NoError(t, err)
	require.ErrorContains(t, other.Fill(gpu.Ref{Memory: m}, 64, 1, 4), "planted")
	d.Close()
}

// TestPatience checks that the device is lost if no command ends within its patience.
func TestPatience(t *testing.T) {
	t.Parallel()
	d := open(&host{held: true}, 50*time.Millisecond)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	m, err := d.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
	e, err := q.Record(false)
	require.NoError(t, err)
	require.ErrorIs(t, e.Wait(), core.ErrBackendLost)
	require.ErrorContains(t, e.Wait(), "nothing was done in 50ms")
}

func TestWord(t *testing.T) {
	require.Equal(t, []uint32{0x12121212, 0x34123412, 0x78563412}, []uint32{Word(0x78563412, 1), Word(0x78563412, 2), Word(0x78563412, 4)})
}

func TestSpare(t *testing.T) {
	s := Spare[*int]{}
	made := 0
	take := func(n int64) (*int, int64) {
		b, size, err := s.Take(n, func(int64) (*int, error) { made++; return new(int), nil })
		require.NoError(t, err)
		require.GreaterOrEqual(t, size, n)
		return b, size
	}
	a, size := take(5000)
	require.EqualValues(t, 8192, size)
	s.Give(size, a)
	_, small := take(1)
	require.EqualValues(t, 4096, small)
	b, _ := take(8192)
	require.Same(t, a, b)
	require.Equal(t, 2, made)
	s.Give(size, b)
	released := 0
	s.Release(func(*int) { released++ })
	require.Equal(t, 1, released)
}
