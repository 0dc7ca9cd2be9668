package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

func full(t testing.TB, out uint64, v float64, dims ...int) op.Node {
	return node(t, "full", out, nil, op.ScalarFloat("value", v), op.Type("dtype", dtype.F32), op.Dims("shape", dims))
}

func TestInfo(t *testing.T) {
	b := inProcess(t, nil)
	require.Equal(t, core.Info{Name: "fake", Version: "0.9.1", Vendor: "test", Devices: []core.DeviceInfo{
		{Index: 0, Name: "fake 0", Kind: "npu", Memory: 1 << 30, Detail: "threads 3"}, {Index: 1, Name: "fake 1", Kind: "npu"}}}, b.Info())
	c := open(t, b).dev.Capabilities()
	require.Equal(t, dtype.SetOf(dtype.F32), c.Types)
	require.Len(t, c.Ops, 4)
	sets := []dtype.Set{dtype.SetOf(dtype.F32)}
	require.Equal(t, sets[0], c.Ops["add"].Operands[0])
	require.Equal(t, core.OpCapability{Version: 1, Results: sets}, c.Ops["full"])
	require.Equal(t, []string{"programs", "memory_stats"}, c.Features)
	require.True(t, c.Deterministic)
	require.Equal(t, core.Limits{Rank: 8, Bytes: 1 << 30}, c.Limits)
}

func TestSupports(t *testing.T) {
	_, ok := core.Extension[core.Selective](open(t, inProcess(t, nil)).dev)
	require.False(t, ok, "the document says all")
	d := open(t, inProcess(t, map[string]string{"selective": "1"})).dev
	x, ok := core.Extension[core.Selective](d)
	require.True(t, ok)
	five := op.DescOf(dtype.F32, 1, 1, 1, 1, 1)
	neg5 := node(t, "neg", 1, []op.Desc{five})
	for range 2 { // the second answer comes from memory
		require.NoError(t, x.Supports(ptr(node(t, "neg", 1, []op.Desc{op.DescOf(dtype.F32, 2)})), []op.Desc{op.DescOf(dtype.F32, 2)}))
		err := x.Supports(&neg5, []op.Desc{five})
		require.ErrorIs(t, err, core.ErrUnsupported)
		require.ErrorContains(t, err, "rank 5")
	}
	i := op.DescOf(dtype.I32, 2)
	require.ErrorIs(t, x.Supports(ptr(node(t, "neg", 1, []op.Desc{i})), []op.Desc{i}), core.ErrUnsupported)
	_, ok = core.Extension[core.Programs](d)
	require.True(t, ok)
}

func ptr[T any](v T) *T { return &v }

func TestData(t *testing.T) {
	s := open(t, inProcess(t, nil))
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	var next uint64
	for _, n := range []int{0, 1, 3, 16 << 10, 16<<10 + 1, 1 << 18, 1<<18 + 1, 700001, 5 << 20} {
		next++
		data := make([]byte, 4*n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		d := desc(next, n)
		buf := append([]byte(nil), data...)
		require.NoError(t, s.Write(ctx, d, buf), "%d elements", n)
		clear(buf) // the buffer is the caller's again
		require.Equal(t, data, read(t, s, d), "%d elements", n)
	}
	scalar := desc(next + 1)
	require.NoError(t, s.Write(ctx, scalar, f32(5)))
	require.Equal(t, f32(5), read(t, s, scalar))
	require.NoError(t, core.Sync(ctx, s))
	require.ErrorIs(t, s.Write(ctx, desc(next+2, 3), f32(1)), core.ErrShape)
	require.ErrorIs(t, core.Read(ctx, s, scalar.ID, make([]byte, 8)), core.ErrShape)
	require.ErrorIs(t, core.Read(ctx, s, id(9999), make([]byte, 8)), core.ErrUnknownTensor)
}

func TestManyNodes(t *testing.T) {
	for range 2 {
		s := open(t, inProcess(t, nil))
		// y = 1 + 1 + ... : 20,000 additions in submissions of different sizes, inputs dropped as they go
		require.NoError(t, s.Submit([]op.Node{full(t, 1, 0, 2), full(t, 2, 1, 2)}, nil))
		last, n := uint64(1), 20000
		var batch []op.Node
		for i := range n {
			add := node(t, "add", uint64(3+i), []op.Desc{desc(last, 2), desc(2, 2)})
			add.Drop = 1
			batch = append(batch, add)
			last = uint64(3 + i)
			if len(batch) > i%97 {
				require.NoError(t, s.Submit(batch, nil))
				clear(batch)
				batch = batch[:0]
			}
		}
		require.NoError(t, s.Submit(batch, nil))
		require.Equal(t, f32(20000, 20000), read(t, s, desc(last, 2)))
		require.NoError(t, core.Sync(context.Background(), s))
		m, ok := core.Extension[core.MemoryStats](s.dev)
		require.True(t, ok)
		require.Equal(t, core.Memory{InUse: 16, Reserved: 16, Tensors: 2}, m.Memory())
	}
}

func TestWorkStartsByItself(t *testing.T) {
	s := open(t, inProcess(t, nil))
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 4, 8)}, nil))
	m, _ := core.Extension[core.MemoryStats](s.dev)
	require.Eventually(t, func() bool { return m.Memory().Tensors == 1 }, patience, time.Millisecond,
		"a node runs although nobody reads or syncs")
}

func TestSticky(t *testing.T) {
	s, ctx := open(t, inProcess(t, map[string]string{"panic": "2"})), context.Background()
	n2 := node(t, "neg", 2, []op.Desc{desc(1, 2)})
	n3 := node(t, "add", 3, []op.Desc{desc(1, 2), desc(2, 2)})
	n4 := node(t, "neg", 4, []op.Desc{desc(1, 2)})
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 7, 2), n2, n3, n4}, nil))
	for _, i := range []uint64{2, 3, 2} {
		err := core.Read(ctx, s, id(i), make([]byte, 8))
		require.ErrorIs(t, err, core.ErrKernel)
		require.ErrorContains(t, err, "kernel fell over")
		var ne *core.NodeError
		require.ErrorAs(t, err, &ne)
		require.Equal(t, "neg", ne.Op)
		require.Equal(t, []op.Desc{desc(2, 2)}, ne.Outputs, "the first failing node is named")
	}
	require.Equal(t, f32(-7, -7), read(t, s, desc(4, 2)), "other tensors stay good")
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrKernel)
	require.NoError(t, core.Sync(ctx, s), "a failure is reported once")
	require.ErrorIs(t, core.Read(ctx, s, id(3), make([]byte, 8)), core.ErrKernel, "poison stays")
	require.NoError(t, s.Submit(nil, []op.TensorID{id(2), id(3)}))
	require.NoError(t, core.Sync(ctx, s), "poisoned tensors can be freed")
	require.ErrorIs(t, core.Read(ctx, s, id(3), make([]byte, 8)), core.ErrUnknownTensor)
}

func TestRefused(t *testing.T) {
	ctx := context.Background()
	bad := func(name string, change func(*op.Node), want error) {
		t.Run(name, func(t *testing.T) {
			s := open(t, inProcess(t, nil))
			require.NoError(t, s.Submit([]op.Node{full(t, 1, 7, 2)}, nil))
			n := node(t, "add", 2, []op.Desc{desc(1, 2), desc(1, 2)})
			change(&n)
			require.NoError(t, s.Submit([]op.Node{n}, nil))
			dst := make([]byte, 8)
			require.ErrorIs(t, core.Read(ctx, s, id(2), dst), want)
			var ne *core.NodeError
			require.ErrorAs(t, core.Sync(ctx, s), &ne)
			require.NoError(t, core.Sync(ctx, s))
			require.Equal(t, f32(7, 7), read(t, s, desc(1, 2)))
		})
	}
	bad("unknown input", func(n *op.Node) { n.Inputs[1] = id(77) }, core.ErrUnknownTensor)
	bad("wrong output", func(n *op.Node) { n.Outputs[0].Shape = []int{1, 2} }, core.ErrShape)
	bad("too few inputs", func(n *op.Node) { n.Inputs = n.Inputs[:1] }, core.ErrShape)
	bad("unknown attribute", func(n *op.Node) { n.Attrs = op.Attrs{op.Int("x", 1)} }, core.ErrAttr)
	bad("unknown op", func(n *op.Node) { n.Op = 60000 }, core.ErrUnsupported)
	bad("unknown version", func(n *op.Node) { n.Version = 99 }, core.ErrUnsupported)

	s := open(t, inProcess(t, nil))
	require.NoError(t, s.Submit(nil, []op.TensorID{id(5)}))
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrUnknownTensor)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 7, 2), full(t, 1, 8, 2)}, nil))
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrProtocol, "an id is used twice")
	require.Equal(t, f32(7, 7), read(t, s, desc(1, 2)), "the first keeps it")

	full := open(t, inProcessOver(t, "socket", map[string]string{"write": "fail"}))
	require.NoError(t, full.Write(ctx, desc(1, 1), f32(1)))
	require.ErrorIs(t, core.Sync(ctx, full), core.ErrOutOfMemory)
	require.ErrorIs(t, core.Read(ctx, full, id(1), make([]byte, 4)), core.ErrOutOfMemory)
	require.ErrorIs(t, full.Write(ctx, desc(2, 1<<20), make([]byte, 4<<20)), core.ErrOutOfMemory, "who waits is told")
	require.NoError(t, core.Sync(ctx, full))
}

func TestStale(t *testing.T) {
	s, ctx := open(t, inProcess(t, nil)), context.Background()
	old := op.NewTensorID(4, 1)
	n := full(t, 1, 1)
	n.Outputs[0].ID = old
	require.ErrorIs(t, s.Submit([]op.Node{n}, nil), core.ErrStale)
	require.ErrorIs(t, core.Read(ctx, s, old, make([]byte, 4)), core.ErrStale)
	require.ErrorIs(t, s.Write(ctx, op.Desc{ID: old, DType: dtype.F32}, f32(1)), core.ErrStale)
	require.ErrorIs(t, s.Submit(nil, []op.TensorID{old}), core.ErrStale)
	require.NoError(t, core.Sync(ctx, s))
}

func TestCancel(t *testing.T) {
	g := fake.NewGate()
	s := open(t, inProcess(t, map[string]string{"gate": g.Name()}))
	defer g.Open()
	var nodes []op.Node
	for i := range uint64(6) {
		nodes = append(nodes, full(t, i+1, float64(i), 2))
	}
	require.NoError(t, s.Submit(nodes, nil))
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	dst := make([]byte, 8)
	err := core.Read(ctx, s, id(6), dst)
	require.ErrorIs(t, err, core.ErrCanceled)
	require.ErrorIs(t, err, why)
	deadline, cancel2 := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel2()
	err = core.Sync(deadline, s)
	require.ErrorIs(t, err, core.ErrCanceled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	g.Open()
	require.Equal(t, f32(5, 5), read(t, s, desc(6, 2)), "the stream is usable")
	require.NoError(t, core.Sync(context.Background(), s))

	ended, cancel3 := context.WithCancel(context.Background())
	cancel3()
	require.ErrorIs(t, s.Write(ended, desc(50, 1<<20), make([]byte, 4<<20)), core.ErrCanceled)
	_, err = inProcess(t, nil).Open(ended, 0)
	require.ErrorIs(t, err, core.ErrCanceled)
}

func TestClosed(t *testing.T) {
	b, ctx := inProcess(t, nil), context.Background()
	d, err := b.Open(ctx, 1)
	require.NoError(t, err)
	_, err = b.Open(ctx, 2)
	require.ErrorIs(t, err, core.ErrNotFound)
	s, other := stream(t, d), stream(t, d)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 1)}, nil))
	require.NoError(t, core.Sync(ctx, s))
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), core.ErrClosed)
	require.ErrorIs(t, s.Submit([]op.Node{full(t, 2, 1)}, nil), core.ErrClosed)
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrClosed)
	require.ErrorIs(t, core.Read(ctx, s, id(1), make([]byte, 4)), core.ErrClosed)
	require.Equal(t, f32(1), read(t, other, desc(1)), "tensors outlive the stream")
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Close(), core.ErrClosed)
	require.ErrorIs(t, core.Sync(ctx, other), core.ErrClosed)
	_, err = d.OpenStream(ctx)
	require.ErrorIs(t, err, core.ErrClosed)
	s2 := open(t, b)
	require.NoError(t, b.Close())
	require.ErrorIs(t, core.Sync(ctx, s2), core.ErrClosed)
	_, err = b.Open(ctx, 0)
	require.ErrorIs(t, err, core.ErrClosed)
}

// twice returns y = (x + c) + x.
func twice(t testing.TB, dims ...int) *program.Program {
	x, c := desc(1, dims...), desc(2, dims...)
	a := node(t, "add", 3, []op.Desc{x, c})
	y := node(t, "add", 4, []op.Desc{a.Outputs[0], x})
	return &program.Program{Name: "twice", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: []op.Node{a, y}, Outputs: []op.TensorID{id(4)}}
}

func TestPrograms(t *testing.T) {
	s, ctx := open(t, inProcess(t, nil)), context.Background()
	p, ok := core.Extension[core.Programs](s.dev)
	require.True(t, ok)
	require.NoError(t, s.Write(ctx, desc(100, 2), f32(1, 2)))
	pid, err := p.Define(ctx, s.Stream, twice(t, 2), []op.TensorID{id(100)})
	require.NoError(t, err)
	require.NoError(t, s.Submit(nil, []op.TensorID{id(100)}))
	for i := range uint64(3) {
		in, out := 200+i, 300+i
		require.NoError(t, s.Write(ctx, desc(in, 2), f32(float32(i), 10)))
		require.NoError(t, p.Run(s.Stream, core.Run{Program: pid, Inputs: []op.TensorID{id(in)}, Outputs: []op.TensorID{id(out)}}))
		require.Equal(t, f32(2*float32(i)+1, 22), read(t, s, desc(out, 2)))
	}
	require.NoError(t, s.Write(ctx, desc(400, 3), f32(1, 2, 3)))
	require.NoError(t, p.Run(s.Stream, core.Run{Program: pid, Inputs: []op.TensorID{id(400)}, Outputs: []op.TensorID{id(401)}}))
	require.ErrorIs(t, core.Read(ctx, s, id(401), make([]byte, 8)), core.ErrShape)
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrShape)
	require.NoError(t, p.Run(s.Stream, core.Run{Program: pid, Inputs: []op.TensorID{id(401)}, Outputs: []op.TensorID{id(402)}}))
	require.ErrorIs(t, core.Read(ctx, s, id(402), make([]byte, 8)), core.ErrShape, "poison goes through programs")
	require.NoError(t, core.Sync(ctx, s))
	require.NoError(t, p.Undefine(pid))
	require.ErrorIs(t, p.Run(s.Stream, core.Run{Program: pid, Inputs: []op.TensorID{id(200)}, Outputs: []op.TensorID{id(403)}}), core.ErrNotFound)
	require.ErrorIs(t, p.Run(s.Stream, core.Run{Program: 99}), core.ErrNotFound)
	require.ErrorIs(t, p.Undefine(pid), core.ErrNotFound)

	broken := twice(t, 2)
	broken.Outputs[0] = id(9)
	_, err = p.Define(ctx, s.Stream, broken, []op.TensorID{id(200)})
	require.ErrorIs(t, err, core.ErrAttr)
	_, err = p.Define(ctx, s.Stream, twice(t, 5), []op.TensorID{id(200)})
	require.ErrorIs(t, err, core.ErrShape)

	_, ok = core.Extension[core.Programs](open(t, inProcess(t, map[string]string{"plain": "1"})).dev)
	require.False(t, ok, "a backend without programs has none over the wire")
}

// TestStreams runs 8 streams at once, with all kinds of calls.
func TestStreams(t *testing.T) {
	b := inProcess(t, nil)
	var wg sync.WaitGroup
	fail := make(chan error, 8)
	for k := range 8 {
		wg.Go(func() { fail <- busy(t, b, k) })
	}
	wg.Wait()
	for range 8 {
		require.NoError(t, <-fail)
	}
}

func busy(t testing.TB, b *client.Backend, k int) error {
	ctx := context.Background()
	d, err := b.Open(ctx, k%2)
	if err != nil {
		return err
	}
	defer d.Close()
	s, err := d.OpenStream(ctx)
	if err != nil {
		return err
	}
	big := make([]float32, 300000)
	for i := range big {
		big[i] = float32(k)
	}
	var next uint64
	for round := range 5 {
		next++
		if err := s.Write(ctx, desc(next, len(big)), f32(big...)); err != nil {
			return err
		}
		for range 3 { // x, 2x, 4x, 8x
			n := node(t, "add", next+1, []op.Desc{desc(next, len(big)), desc(next, len(big))})
			n.Drop = 3
			if err := s.Submit([]op.Node{n}, nil); err != nil {
				return err
			}
			next++
		}
		got := make([]byte, 4*len(big))
		if err := core.Read(ctx, s, id(next), got); err != nil {
			return err
		}
		want := string(f32(8 * float32(k)))
		if string(got[:4]) != want || string(got[len(got)-4:]) != want {
			return fmt.Errorf("stream %d round %d: got %x, want %x", k, round, got[:4], want)
		}
		if err := s.Submit(nil, []op.TensorID{id(next)}); err != nil {
			return err
		}
	}
	return core.Sync(ctx, s)
}
