package tensor_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

var ctx = context.Background()

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func data[T dtype.Native](t *testing.T, x *tensor.Tensor) []T {
	t.Helper()
	v, err := tensor.Data[T](ctx, x)
	require.NoError(t, err)
	return v
}

func TestArithmetic(t *testing.T) {
	d := open(t)
	a := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	b := tensor.From(d, []float32{10, 20, 30})
	require.Equal(t, []float32{11, 22, 33, 14, 25, 36}, data[float32](t, a.Add(b)))
	require.Equal(t, []float32{9, 18, 27, 6, 15, 24}, data[float32](t, b.Sub(a)))
	require.Equal(t, []float32{2, 4, 6, 8, 10, 12}, data[float32](t, a.MulScalar(2)))
	require.Equal(t, []bool{false, false, true, true, true, true}, data[bool](t, a.Greater(tensor.Scalar[float32](d, 2))))
	require.Equal(t, []float32{6, 15}, data[float32](t, a.Sum(1)))
	require.Equal(t, []float32{3.5}, data[float32](t, a.Mean()))
	require.Equal(t, []int64{2, 2}, data[int64](t, a.ArgMax(-1)))
	require.Equal(t, []int64{-2}, data[int64](t, tensor.From(d, []int64{-7}).Div(tensor.From(d, []int64{3}))))
}

func TestMovement(t *testing.T) {
	d := open(t)
	a := d.Iota(dtype.I32, 6).Reshape(2, -1)
	require.Equal(t, "[2,3]", a.Shape().String())
	require.Equal(t, []int32{0, 3, 1, 4, 2, 5}, data[int32](t, a.Transpose(0, -1)))
	require.Equal(t, []int32{2, 0, 5, 3}, data[int32](t, a.Slice(1, -1, -4, -2)))
	require.Equal(t, []int32{5, 4, 3, 2, 1, 0}, data[int32](t, a.Flip()))
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, data[int32](t, tensor.Stack(0, a, a)))
	require.Equal(t, []int32{9, 0, 1, 9, 3, 4}, data[int32](t, a.Pad(1, 1, -1, 9)))
	require.Equal(t, []int32{3, 4, 5}, data[int32](t, a.IndexSelect(0, tensor.Scalar[int64](d, 1))))
}

// softmax, matmul and layer_norm are compared with values computed with NumPy in float64.
func TestLayers(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, -1, 0, 1}, 2, 3)
	require.InDeltaSlice(t, []float32{0.09003057, 0.24472847, 0.66524096, 0.09003057, 0.24472847, 0.66524096},
		data[float32](t, x.Softmax(-1)), 1e-6)
	w := tensor.From(d, []float32{1, 0, 0, 1, 1, 1}, 3, 2)
	bias := tensor.From(d, []float32{0.5, -0.5})
	require.Equal(t, []float32{4.5, 4.5, 0.5, 0.5}, data[float32](t, x.Linear(w, bias)))
	require.InDeltaSlice(t, []float32{-1.2247356, 0, 1.2247356, -1.2247356, 0, 1.2247356},
		data[float32](t, x.LayerNorm(-1, nil, nil, 1e-5)), 1e-5)
	img := d.Iota(dtype.F32, 16).Reshape(1, 1, 4, 4)
	k := d.Ones(dtype.F32, 1, 1, 2, 2)
	require.Equal(t, []float32{10, 18, 42, 50}, data[float32](t, img.Conv(k, tensor.ConvOptions{Strides: []int{2, 2}})))
}

func TestMistakesPanicWithTypedErrors(t *testing.T) {
	d := open(t)
	a, b := d.Zeros(dtype.F32, 2, 3), d.Zeros(dtype.F32, 4, 5)
	err := tensor.Try(func() { a.MatMul(b) })
	require.ErrorIs(t, err, core.ErrShape)
	var oe *op.Error
	require.ErrorAs(t, err, &oe)
	require.Equal(t, "C2", oe.Constraint)
	require.EqualError(t, err, "matmul: inner dimensions are 3 and 4 (f32[2,3], f32[4,5]) [C2]")
	require.ErrorIs(t, tensor.Try(func() { a.Add(d.Zeros(dtype.I32, 2, 3)) }), core.ErrDType)
	require.ErrorIs(t, tensor.Try(func() { a.Reshape(-1, -1) }), core.ErrShape)
	require.ErrorIs(t, tensor.Try(func() { a.Sum(2) }), core.ErrShape)
	require.ErrorIs(t, tensor.Try(func() { tensor.From(d, []int32{1, 2}, 3) }), core.ErrShape)
	require.Error(t, tensor.Try(func() { a.Add(open(t).Zeros(dtype.F32)) }), "another device")
	require.Panics(t, func() { _ = tensor.Try(func() { panic("not ours") }) })
	require.NoError(t, tensor.Try(func() { a.Add(a) }))
	a.Release()
	a.Release()
	require.Error(t, tensor.Try(func() { a.Neg() }))
	_, err = a.Bytes(ctx)
	require.ErrorIs(t, err, core.ErrUnknownTensor)
}

func TestRunTimeFaultsArriveWithTheData(t *testing.T) {
	d := open(t)
	x := d.Iota(dtype.F32, 3)
	bad := x.IndexSelect(0, tensor.From(d, []int64{1, 7})).AddScalar(1)
	_, err := bad.Bytes(ctx)
	require.ErrorIs(t, err, core.ErrIndex)
	var ne *core.NodeError
	require.ErrorAs(t, err, &ne)
	require.Equal(t, "gather", ne.Op)
	require.Equal(t, []float32{0, 1, 2}, data[float32](t, x), "others stay good")
}

func TestScopeFreesWhatItDoesNotReturn(t *testing.T) {
	d := open(t)
	outer := d.Ones(dtype.F32, 100)
	require.NoError(t, d.Sync(ctx))
	before, ok := d.Memory()
	require.True(t, ok)
	var inner *tensor.Tensor
	kept := tensor.Scope(d, func(d *tensor.Device) []*tensor.Tensor {
		inner = d.Ones(dtype.F32, 100)
		y := outer.Add(inner) // belongs to the scope through inner
		tensor.Scope(d, func(d *tensor.Device) []*tensor.Tensor { y.Mul(d.Ones(dtype.F32, 100)); return nil })
		return []*tensor.Tensor{y}
	})
	require.Error(t, tensor.Try(func() { inner.Neg() }))
	require.Equal(t, float32(2), data[float32](t, kept[0])[99])
	kept[0].Release()
	require.NoError(t, d.Sync(ctx))
	after, _ := d.Memory()
	require.Equal(t, before.Tensors, after.Tensors)
	require.Equal(t, before.InUse, after.InUse)
}

func TestGarbageIsCollected(t *testing.T) {
	d := open(t)
	func() {
		for range 10 {
			d.Ones(dtype.F32, 1000)
		}
	}()
	for range 50 {
		runtime.GC()
		require.NoError(t, d.Sync(ctx))
		if m, _ := d.Memory(); m.Tensors == 0 {
			return
		}
	}
	m, _ := d.Memory()
	t.Fatalf("%d tensors left", m.Tensors)
}

func TestConcurrentUse(t *testing.T) {
	d := open(t)
	x := d.Iota(dtype.F32, 1000)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 20 {
				tensor.Scope(d, func(d *tensor.Device) []*tensor.Tensor {
					y := x.Add(d.Full(dtype.F32, float64(g))).Sum()
					v, err := tensor.Data[float32](ctx, y)
					if err != nil || v[0] != float32(999*500+1000*g) {
						t.Errorf("goroutine %d: %v, %v", g, v, err)
					}
					return nil
				})
			}
		})
	}
	wg.Wait()
}

func TestExecutable(t *testing.T) {
	d := open(t)
	in, w := op.DescOf(dtype.F32, 2), op.DescOf(dtype.F32, 2)
	in.ID, w.ID = 1, 2
	next := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { next++; return next })
	y := b.Do(op.Mul, in, w)
	g := b.Un(op.Gelu, y)
	require.NoError(t, b.Err())
	p := &program.Program{Name: "test", Inputs: []op.Desc{in}, Consts: []op.Desc{w}, Nodes: b.Nodes, Outputs: []op.TensorID{g.ID, in.ID, g.ID, w.ID}}
	c := tensor.From(d, []float32{2, 3})
	e, err := d.Compile(ctx, p, []*tensor.Tensor{c})
	require.NoError(t, err)
	c.Release()
	for i := range 3 {
		x := tensor.From(d, []float32{float32(i), 1})
		outs, err := e.Run([]*tensor.Tensor{x})
		require.NoError(t, err)
		gelu := func(v float64) float32 { return float32(v / 2 * (1 + math.Erf(v/math.Sqrt2))) }
		want := []float32{gelu(2 * float64(i)), gelu(3)}
		require.InDeltaSlice(t, want, data[float32](t, outs[0]), 1e-5)
		require.Equal(t, []float32{float32(i), 1}, data[float32](t, outs[1]))
		require.InDeltaSlice(t, want, data[float32](t, outs[2]), 1e-5)
		require.Equal(t, []float32{2, 3}, data[float32](t, outs[3]))
	}
	_, err = e.Run(nil)
	require.ErrorIs(t, err, core.ErrShape)
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	_, err = e.Run([]*tensor.Tensor{tensor.From(d, []float32{1, 1})})
	require.ErrorIs(t, err, core.ErrClosed)
}

func TestPrinting(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		x    *tensor.Tensor
		want string
	}{
		{tensor.Scalar[float32](d, 2.5), "tensor(2.5000, shape=[], dtype=f32, device=builtin:cpu:0)"},
		{tensor.From(d, []float32{1, -2, 30}), "tensor([ 1., -2., 30.], shape=[3], dtype=f32, device=builtin:cpu:0)"},
		{tensor.From(d, []int64{1, 20, 3, 4}, 2, 2), "tensor([[ 1, 20],\n        [ 3,  4]], shape=[2,2], dtype=i64, device=builtin:cpu:0)"},
		{tensor.From(d, []bool{true, false}), "tensor([ true, false], shape=[2], dtype=bool, device=builtin:cpu:0)"},
		{tensor.From(d, []float64{math.NaN(), math.Inf(-1), 0.5}), "tensor([   nan,   -inf, 0.5000], shape=[3], dtype=f64, device=builtin:cpu:0)"},
		{tensor.From(d, []float32{1e-6, 1}), "tensor([1.0000e-06, 1.0000e+00], shape=[2], dtype=f32, device=builtin:cpu:0)"},
		{d.Iota(dtype.I32, 2000), "tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=[2000], dtype=i32, device=builtin:cpu:0)"},
		{d.Zeros(dtype.F32, 0, 3), "tensor([], shape=[0,3], dtype=f32, device=builtin:cpu:0)"},
	} {
		require.Equal(t, c.want, c.x.String())
	}
	d2, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	x := d2.Zeros(dtype.F32, 1)
	require.NoError(t, d2.Close())
	require.Contains(t, x.String(), "closed")
}

func TestOpenErrors(t *testing.T) {
	for _, spec := range []string{"", "nothing", "cpu:9", "cpu:x", "cpu:-1"} {
		_, err := tensor.Open(ctx, spec)
		require.ErrorIs(t, err, core.ErrNotFound, spec)
	}
}

// A loop that releases nothing relies on the garbage collector.
func TestUnreachableTensorsAreCollected(t *testing.T) {
	dev := open(t)
	x := tensor.From(dev, make([]float32, 4<<20), 4<<20) // 16 MiB
	most := int64(0)
	for i := range 250 { // 3.9 GiB in all
		x.AddScalar(float64(i))
		require.NoError(t, dev.Sync(ctx))
		m, ok := dev.Memory()
		require.True(t, ok)
		most = max(most, m.InUse)
	}
	require.Less(t, most, int64(2<<30))
}
