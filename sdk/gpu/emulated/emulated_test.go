package emulated_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// scale returns a kernel that computes x[i] = a·x[i] for n elements.
func scale() *ir.Kernel {
	b := ir.New("scale", 64)
	x := b.Buffer("x", dtype.F32, ir.Read|ir.Write)
	n, a := b.Scalar("n", dtype.I32), b.Scalar("a", dtype.F32)
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() { b.Store(x, i, b.Mul(a, b.Load(x, i))) })
	return b.Kernel()
}

type rig struct {
	gpu.Device
	gpu.Queue
	t testing.TB
}

func open(t testing.TB, o emulated.Options) rig {
	d, err := emulated.New(o).Open(context.Background(), 0)
	require.NoError(t, err)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	t.Cleanup(q.Close)
	return rig{d, q, t}
}

func (r rig) upload(data ...float32) gpu.Ref {
	m, err := r.Alloc(int64(4 * len(data)))
	require.NoError(r.t, err)
	require.NoError(r.t, r.Upload(gpu.Ref{Memory: m}, dtype.Bytes(data)))
	return gpu.Ref{Memory: m}
}

func (r rig) read(x gpu.Ref, n int) []float32 {
	data := make([]float32, n)
	require.NoError(r.t, r.Download(dtype.Bytes(data), x))
	require.NoError(r.t, r.Synchronize())
	return data
}

func (r rig) load(k *ir.Kernel) gpu.Function {
	fs, err := r.Load(nil, []*ir.Kernel{k, nil})
	require.NoError(r.t, err)
	require.Nil(r.t, fs[1])
	return fs[0]
}

func launch(f gpu.Function, x gpu.Ref, n int, a float32) *gpu.Launch {
	bits := dtype.Bytes([]float32{a})
	return &gpu.Launch{Function: f, Grid: [3]int{(n + 63) / 64, 1, 1}, Args: []gpu.Arg{{Ref: x}, {Bits: uint64(n)},
		{Bits: uint64(bits[0]) | uint64(bits[1])<<8 | uint64(bits[2])<<16 | uint64(bits[3])<<24}}}
}

func TestLaunch(t *testing.T) {
	for _, background := range []bool{false, true} {
		r := open(t, emulated.Options{Background: background, Races: true})
		f := r.load(scale())
		x := r.upload(1, 2, 3)
		start, err := r.Record(true)
		require.NoError(t, err)
		require.NoError(t, r.Queue.Launch(launch(f, x, 3, 2)))
		require.NoError(t, r.Copy(gpu.Ref{Memory: x.Memory, Offset: 8}, x, 4))
		require.Equal(t, []float32{2, 4, 2}, r.read(x, 3))
		require.NoError(t, r.Fill(x, 8, 0x3f800000, 4))
		require.Equal(t, []float32{1, 1, 2}, r.read(x, 3))
		end, err := r.Record(true)
		require.NoError(t, err)
		require.NoError(t, end.Wait())
		d, err := end.Since(start)
		require.NoError(t, err)
		require.GreaterOrEqual(t, d.Nanoseconds(), int64(0))
		start.Release()
		_, err = start.Done()
		require.Error(t, err)
		require.Error(t, r.Await(start))
	}
}

func TestMemory(t *testing.T) {
	r := open(t, emulated.Options{Memory: 1000})
	a, err := r.Alloc(600)
	require.NoError(t, err)
	_, err = r.Alloc(401)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	b, err := r.Alloc(400)
	require.NoError(t, err)
	free, total := r.MemoryInfo()
	require.Equal(t, []int64{0, 1000}, []int64{free, total})

	ref := func(m gpu.Memory, offset int64) gpu.Ref { return gpu.Ref{Memory: m, Offset: offset} }
	require.NoError(t, r.Copy(ref(a, 200), ref(b, 0), 400))
	require.ErrorContains(t, r.Copy(ref(a, 201), ref(b, 0), 400), "400 bytes from 201 on, of 600")
	require.ErrorContains(t, r.Copy(ref(a, 0), ref(a, 100), 101), "same memory")
	require.NoError(t, r.Copy(ref(a, 0), ref(a, 100), 100))
	r.Free(a)
	require.ErrorContains(t, r.Copy(ref(a, 0), ref(b, 0), 4), "freed")
	require.Panics(t, func() { r.Free(a) })
	got := make([]byte, 4)
	require.NoError(t, r.Download(got, ref(b, 0)))
	require.Equal(t, []byte{0xfe, 0xfe, 0xfe, 0xfe}, got)

	f := r.load(scale())
	require.ErrorContains(t, r.Queue.Launch(launch(f, ref(a, 0), 1, 1)), "freed")
	require.ErrorContains(t, r.Queue.Launch(launch(f, ref(b, 0), 101, 1)), "x has 100 elements")
	require.NoError(t, r.Queue.Launch(launch(f, ref(b, 0), 100, 1)))
}

// TestFault checks that a fault of a kernel ends the queue.
func TestFault(t *testing.T) {
	b := ir.New("divide", 1)
	x := b.Buffer("x", dtype.I32, ir.Read|ir.Write)
	b.Store(x, b.Int(0), b.Div(b.Int(1), b.Load(x, b.Int(0))))
	for _, background := range []bool{false, true} {
		r := open(t, emulated.Options{Background: background})
		m := r.upload(0)
		l := &gpu.Launch{Function: r.load(b.Kernel()), Grid: [3]int{1, 1, 1}, Args: []gpu.Arg{{Ref: m}}}
		_ = r.Queue.Launch(l)
		err := r.Synchronize()
		require.ErrorIs(t, err, core.ErrBackendLost)
		require.ErrorContains(t, err, "division by zero")
		require.ErrorIs(t, r.Fill(m, 4, 0, 1), core.ErrBackendLost)
	}
}

// TestGraph checks that steps of a graph without dependencies run in the order of the option, and that Update changes a step.
func TestGraph(t *testing.T) {
	for order, want := range map[interp.Order][]float32{interp.Forward: {4, 4}, interp.Backward: {2, 1}} {
		r := open(t, emulated.Options{Order: order})
		f := r.load(scale())
		x, y := r.upload(2, 0), r.upload(1, 1)
		next := gpu.Ref{Memory: x.Memory, Offset: 4}
		grapher, ok := r.Device.(gpu.Grapher)
		require.True(t, ok)
		g, err := grapher.NewGraph([]gpu.Step{
			{Launch: launch(f, x, 1, 2)},
			{Copy: &gpu.Copy{Dst: next, Src: y, Bytes: 4}, After: []int{}},
			{Copy: &gpu.Copy{Dst: next, Src: x, Bytes: 4}, After: []int{}},
		})
		require.NoError(t, err)
		require.NoError(t, g.Launch(r.Queue))
		got := r.read(x, 2)
		require.Equal(t, float32(4), got[0])
		require.Equal(t, want[1], got[1], "order %d", order)
		require.NoError(t, g.Update(0, gpu.Step{Launch: launch(f, y, 1, 5)}))
		require.NoError(t, g.Launch(r.Queue))
		require.Equal(t, float32(5), r.read(y, 1)[0])
		require.Error(t, g.Update(0, gpu.Step{Fill: &gpu.Fill{}}))
		require.Error(t, g.Update(3, gpu.Step{Launch: launch(f, y, 1, 5)}))
		g.Close()
		require.Error(t, g.Launch(r.Queue))
		_, err = grapher.NewGraph([]gpu.Step{{}})
		require.Error(t, err)
		_, err = grapher.NewGraph([]gpu.Step{{Fill: &gpu.Fill{}, After: []int{0}}})
		require.Error(t, err)
	}
}

func TestTargets(t *testing.T) {
	b := ir.New("wide", 64)
	x := b.Buffer("x", dtype.F64, ir.Read|ir.Write)
	b.Store(x, b.Thread(), b.Float(dtype.F64, 1))
	l := &gpu.Launch{Grid: [3]int{1, 1, 1}}
	for name, target := range emulated.Targets() {
		r := open(t, emulated.Options{Target: target})
		require.Equal(t, target, r.Target())
		m, err := r.Alloc(512)
		require.NoError(t, err)
		l.Function, l.Args = r.load(b.Kernel()), []gpu.Arg{{Ref: gpu.Ref{Memory: m}}}
		err = r.Queue.Launch(l)
		require.Equal(t, target.Types.Has(dtype.F64), err == nil, "%s: %v", name, err)
	}
	_, err := emulated.New(emulated.Options{}).Open(context.Background(), 1)
	require.ErrorIs(t, err, core.ErrNotFound)
}

func Example() {
	driver := emulated.New(emulated.Options{Races: true})
	device, _ := driver.Open(context.Background(), 0)
	queue, _ := device.OpenQueue()
	memory, _ := device.Alloc(8)
	functions, _ := device.Load(nil, []*ir.Kernel{scale()})

	x := []float32{1, 2}
	_ = queue.Upload(gpu.Ref{Memory: memory}, dtype.Bytes(x))
	_ = queue.Launch(launch(functions[0], gpu.Ref{Memory: memory}, 2, 10))
	_ = queue.Download(dtype.Bytes(x), gpu.Ref{Memory: memory})
	fmt.Println(x, queue.Synchronize())
	// Output: [10 20] <nil>
}

// TestLazy checks that a lazy queue executes its commands only when the host or another queue waits for them.
func TestLazy(t *testing.T) {
	r := open(t, emulated.Options{Background: true, Lazy: true})
	m, err := r.Alloc(8)
	require.NoError(t, err)
	x, data := gpu.Ref{Memory: m}, []float32{1, 2}
	require.NoError(t, r.Upload(x, dtype.Bytes(data)))
	data[0] = 5
	e, err := r.Record(false)
	require.NoError(t, err)
	other, err := r.OpenQueue()
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Await(e))
	got := make([]float32, 2)
	require.NoError(t, other.Download(dtype.Bytes(got), x))
	require.Equal(t, []float32{0, 0}, got, "nobody has waited")
	require.NoError(t, other.Synchronize())
	require.Equal(t, []float32{5, 2}, got)
	e.Release()
	e, err = r.Record(false)
	require.NoError(t, err)
	require.Eventually(t, func() bool { done, err := e.Done(); return done && err == nil }, time.Second, time.Millisecond)
}

// TestDry checks that a dry device allocates memory that the machine does not have, computes nothing, and detects the use of freed memory.
func TestDry(t *testing.T) {
	const size = 1 << 40
	r := open(t, emulated.Options{Dry: true, Memory: 2 * size})
	m, err := r.Alloc(size)
	require.NoError(t, err)
	_, err = r.Alloc(size + 1)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	free, total := r.MemoryInfo()
	require.Equal(t, []int64{size, 2 * size}, []int64{free, total})
	f, x := r.load(scale()), gpu.Ref{Memory: m, Offset: size - 4}
	launch := &gpu.Launch{Function: f, Grid: [3]int{1, 1, 1}, Args: []gpu.Arg{{Ref: x}, {Bits: 1}, {Bits: 0}}}
	require.NoError(t, r.Upload(x, dtype.Bytes([]float32{3})))
	require.NoError(t, r.Fill(x, 4, 1, 1))
	require.NoError(t, r.Launch(launch))
	got := []float32{7}
	require.NoError(t, r.Download(dtype.Bytes(got), x))
	require.Equal(t, []float32{0}, got)
	cs, err := r.Libraries()[0].Product(gpu.Product{})
	require.NoError(t, err)
	w, err := r.Alloc(cs[0].Workspace())
	require.NoError(t, err)
	require.NoError(t, cs[0].Call(r.Queue, []gpu.Ref{x}, gpu.Ref{Memory: w}))
	require.Error(t, r.Upload(gpu.Ref{Memory: m, Offset: size - 3}, make([]byte, 4)), "beyond the end")
	r.Free(m)
	require.Error(t, r.Launch(launch))
	require.Error(t, cs[0].Call(r.Queue, []gpu.Ref{x}, gpu.Ref{Memory: w}))
	require.Error(t, r.Upload(x, make([]byte, 4)))
	require.Panics(t, func() { r.Free(m) })
}
