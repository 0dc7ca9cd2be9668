package tensor_test

import (
	"context"
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

func TestItems(t *testing.T) {
	d := open(t)
	v, err := tensor.Item[float32](ctx, d.Full(dtype.F32, 2.5, 1, 1))
	require.NoError(t, err)
	require.Equal(t, float32(2.5), v)
	f, err := d.Full(dtype.I8, -3).Float64(ctx)
	require.NoError(t, err)
	require.Equal(t, -3.0, f)
	is, err := tensor.DataAs[int32](ctx, tensor.From(d, []float64{1.9, -2.9}))
	require.NoError(t, err)
	require.Equal(t, []int32{1, -2}, is)
	for _, f := range []func(){
		func() { _, _ = tensor.Item[float32](ctx, d.Zeros(dtype.F32, 2)) },
		func() { _, _ = d.Zeros(dtype.F32, 0).Float64(ctx) },
	} {
		require.ErrorIs(t, tensor.Try(f), core.ErrShape)
	}
	require.ErrorIs(t, tensor.Try(func() { _, _ = tensor.Item[int64](ctx, d.Zeros(dtype.F32)) }), core.ErrDType)
}

func TestReading(t *testing.T) {
	d, other := open(t), open(t)
	x := tensor.From(d, []float32{1, 2, 3})
	b := make([]byte, 12)
	require.NoError(t, x.ReadInto(ctx, b))
	require.Equal(t, []float32{1, 2, 3}, dtype.Slice[float32](b))
	require.ErrorIs(t, x.ReadInto(ctx, b[:4]), core.ErrShape)
	y, err := x.To(ctx, other)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3}, data[float32](t, y))
	same, err := x.To(ctx, d)
	require.NoError(t, err)
	require.Same(t, x, same)
}

func TestAllCloseAndAllEqual(t *testing.T) {
	d := open(t)
	a := tensor.From(d, []float64{1, math.Inf(1)})
	b := tensor.From(d, []float64{1 + 1e-7, math.Inf(1)})
	for want, f := range map[bool]func() (bool, error){
		true:  func() (bool, error) { return a.AllClose(ctx, b, 1e-5, 1e-8) },
		false: func() (bool, error) { return a.AllEqual(ctx, b) },
	} {
		got, err := f()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := a.AllClose(ctx, b, 1e-9, 0)
	require.NoError(t, err)
	require.False(t, got)
	got, err = a.AllEqual(ctx, a.Unsqueeze(0))
	require.NoError(t, err)
	require.False(t, got, "another shape")
	got, err = a.AllEqual(ctx, a)
	require.NoError(t, err)
	require.True(t, got)
}

func TestTransaction(t *testing.T) {
	d, other := open(t), open(t)
	var tx tensor.Transaction
	var f []float32
	var n []int64
	var b []bool
	require.NoError(t, tx.Execute(ctx), "an empty one")
	x := d.Ones(dtype.F32, 2)
	tensor.Fetch(&tx, x.AddScalar(1), &f)
	tensor.Fetch(&tx, other.Iota(dtype.I64, 3), &n)
	tensor.Fetch(&tx, x.GreaterScalar(0), &b)
	require.Equal(t, 3, tx.Len())
	require.Nil(t, f, "nothing is read before Execute")
	require.NoError(t, tx.Execute(ctx))
	require.Equal(t, []float32{2, 2}, f)
	require.Equal(t, []int64{0, 1, 2}, n)
	require.Equal(t, []bool{true, true}, b)
	require.Zero(t, tx.Len())
	require.ErrorIs(t, tensor.Try(func() { tensor.Fetch(&tx, x, &n) }), core.ErrDType)
	tensor.Fetch(&tx, x, &f)
	tensor.Fetch(&tx, x.IndexSelect(0, tensor.From(d, []int64{9})), &f)
	require.ErrorIs(t, tx.Execute(ctx), core.ErrIndex)
	require.Equal(t, []float32{2, 2}, f, "kept after an error")
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	tensor.Fetch(&tx, x, &f)
	if err := tx.Execute(canceled); err != nil {
		require.ErrorIs(t, err, core.ErrCanceled)
	}
}

func TestDependentShapesWithoutResults(t *testing.T) {
	d := open(t)
	x := d.Zeros(dtype.F32, 2, 3)
	at, err := x.ArgWhere(ctx)
	require.NoError(t, err)
	require.Equal(t, "[0,2]", at.Shape().String())
	u, err := d.Zeros(dtype.F32, 0).Unique(ctx, true)
	require.NoError(t, err)
	require.Zero(t, u.Values.Size())
	u, err = tensor.From(d, []float64{3, math.NaN(), 1, math.NaN(), 3}).Unique(ctx, false)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2}, data[int64](t, u.First))
	require.Equal(t, []int64{2, 2, 1}, data[int64](t, u.Counts))
	_, err = x.IndexSelect(0, tensor.From(d, []int64{5})).ArgWhere(ctx)
	require.ErrorIs(t, err, core.ErrIndex)
}

// Three boxes: the second overlaps the best by 81/119, the third not at all.
func TestNMS(t *testing.T) {
	d := open(t)
	boxes := tensor.From(d, []float32{0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30}, 3, 4)
	scores := tensor.From(d, []float32{0.9, 0.8, 0.7})
	least := 0.75
	for _, c := range []struct {
		o    tensor.NMSOptions
		want []int64
	}{
		{tensor.NMSOptions{IoU: 0.5}, []int64{0, 2}},
		{tensor.NMSOptions{IoU: 0.7}, []int64{0, 1, 2}},
		{tensor.NMSOptions{IoU: 0.7, MaxOutput: 1}, []int64{0}},
		{tensor.NMSOptions{IoU: 0.7, ScoreThreshold: &least}, []int64{0, 1}},
	} {
		got, err := boxes.NMS(ctx, scores, c.o)
		require.NoError(t, err)
		require.Equal(t, c.want, data[int64](t, got))
	}
}

// The range -1 to 1.55 in 255 steps of 0.01: zero is at 100.
func TestQuantizeDynamic(t *testing.T) {
	d := open(t)
	y, scale, zero := tensor.From(d, []float32{-1, 0, 1.55, 0.5}).QuantizeDynamic()
	require.InDelta(t, 0.01, data[float32](t, scale)[0], 1e-8)
	require.Equal(t, []uint8{100}, data[uint8](t, zero))
	require.Equal(t, []uint8{0, 100, 255, 150}, data[uint8](t, y))
}

// Methods that consist of several ops release intermediate results at once, not at the next garbage collection.
func TestMethodsReleaseWhatTheyMake(t *testing.T) {
	d := open(t)
	gc := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(gc)
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	img := d.Ones(dtype.F32, 1, 2, 4, 4)
	n := tensor.From(d, []int64{1, 0}, 2)
	tensors := func() int {
		require.NoError(t, d.Sync(ctx))
		m, ok := d.Memory()
		require.True(t, ok)
		return int(m.Tensors)
	}
	for name, f := range map[string]func() ts{
		"scalars": func() ts {
			return ts{x.AddScalar(1), x.RSubScalar(1), x.EqualScalar(2), n.ShlScalar(2), x.MaskFill(x.Cast(dtype.Bool), 1)}
		},
		"hypot":   func() ts { return ts{x.Hypot(x)} },
		"shrink":  func() ts { return ts{x.Shrink(1, 1), x.Threshold(1, 1), x.QuietSoftmax(1), x.Softplus(2)} },
		"close":   func() ts { return ts{x.IsClose(x, 1, 1), x.Any(), x.All(0), x.CountNonZero(), x.MaxAbs()} },
		"indices": func() ts { v, i := x.MaxWithIndices(1); w, j := x.MedianWithIndices(0); return ts{v, i, w, j} },
		"conv":    func() ts { return ts{img.Conv2d(img, d.Ones(dtype.F32, 1), tensor.ConvOptions{})} },
		"norm":    func() ts { return ts{img.LocalResponseNorm(2, 1, 1, 1)} },
		"affine": func() ts {
			y, mean, variance := img.BatchNormTrain(nil, nil, 1)
			return ts{y, mean, variance, img.GroupNorm(1, nil, nil, 1), img.InstanceNorm(nil, nil, 1), x.BatchNorm(nil, nil, x.Mean(0), x.Mean(0), 1)}
		},
		"window": func() ts {
			y := x.STFT(tensor.STFTOptions{N: 2})
			return ts{y, y.ISTFT(tensor.STFTOptions{N: 2})}
		},
		"selection": func() ts {
			at, err := x.ArgWhere(ctx)
			require.NoError(t, err)
			one, err := x.NonZero(ctx)
			require.NoError(t, err)
			some, err := x.MaskSelect(ctx, x.GreaterScalar(2))
			require.NoError(t, err)
			u, err := x.Unique(ctx, true)
			require.NoError(t, err)
			best, err := d.Ones(dtype.F32, 3, 4).NMS(ctx, d.Ones(dtype.F32, 3), tensor.NMSOptions{})
			require.NoError(t, err)
			return append(one, at, some, u.Values, u.First, u.Counts, u.Inverse, best)
		},
		"slice": func() ts {
			return ts{x.SliceFill(1, tensor.Range{}, tensor.Range{Step: 2}), x.Select(0, 1), x.Unfold(1, 2, 1)}
		},
		"one hot":  func() ts { return ts{n.OneHotFill(dtype.F32, 3, -1, 1, 0), x.MatVec(d.Ones(dtype.F32, 3))} },
		"creation": func() ts { return ts{d.Arange(dtype.I32, 0, 5, 1), d.DiagMask(0, 2, 2), d.CartesianGrid(2, 2)} },
		"random": func() ts {
			return ts{d.RandomInt(dtype.I32, 0, 5, 4), d.Permutation(4), x.Multinomial(2, false), x.Dropout(0.5)}
		},
		"lu":        func() ts { p, l, u := x.LUDecomposition(); return ts{p, l, u} },
		"entropy":   func() ts { return ts{x.CrossEntropyWithProbabilities(x)} },
		"same type": func() ts { return ts{x.Cast(dtype.F32).AddScalar(0)} },
	} {
		before := tensors()
		results := f()
		extra := map[string]int{"scalars": 1, "conv": 1, "one hot": 1, "affine": 2, "selection": 3}[name] // operands made by the case itself
		require.Equal(t, before+len(results)+extra, tensors(), name)
	}
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, data[float32](t, x), "operands stay")
	require.NoError(t, d.Sync(ctx))
}
