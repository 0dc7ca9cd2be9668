package tensor_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/tensor"
)

// constant maps cases without a gradient to the reason.
var constant = map[string]string{"RoundAway": "its inputs are where it jumps", "VectorNorm/zero": "it counts"}

// symmetric lists cases with gradients with respect to symmetric matrices.
var symmetric = map[string]bool{"Cholesky": true, "Cholesky/upper": true, "Eigh": true}

// TestEveryMethodHasAGradient compares, for every case of fixtures.json in f64, the gradient along a random direction with
// central differences: methods consist of device ops that have derivatives, and releasing intermediate tensors does not break the
// gradient.
func TestEveryMethodHasAGradient(t *testing.T) {
	inner, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, inner.Close()) }()
	d, err := tensor.On(ctx, autodiff.Device(inner))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	all, file, checked := calls(t), load(t), 0
	for _, f := range file.Cases {
		in := make([]value, len(f.In))
		smooth := false
		for i, k := range f.In {
			in[i] = file.Values[k]
			smooth = smooth || in[i].DType == "f64" && len(in[i].Data) > 0
			for _, v := range in[i].floats() {
				smooth = smooth && !math.IsNaN(v) && !math.IsInf(v, 0) && math.Abs(v) < 1e6
			}
		}
		if !smooth || constant[f.Name] != "" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			if slope(t, d, all[f.Name], in, symmetric[f.Name]) {
				checked++
			}
		})
	}
	require.Greater(t, checked, 200)
}

// slope compares one case, and reports whether it has a float result.
func slope(t *testing.T, d *tensor.Device, c call, in []value, symmetric bool) bool {
	const h = 1e-6
	r := rand.New(rand.NewPCG(1, 2))
	var along [][]float64 // the direction, by input
	for _, v := range in {
		dir := make([]float64, len(v.Data))
		for i := range dir {
			dir[i] = r.NormFloat64()
		}
		if n := v.Shape[max(0, len(v.Shape)-1):].Size(); symmetric {
			for i := range dir {
				row, column := i/n%n, i%n
				dir[i] = dir[i-row*n-column+max(row, column)*n+min(row, column)]
			}
		}
		along = append(along, dir)
	}
	weights := map[int]*tensor.Tensor{}
	eval := func(step float64, track bool) (sum *tensor.Tensor, xs ts) {
		for i, v := range in {
			f := v.floats()
			if v.DType == "f64" {
				for k := range f {
					f[k] += step * along[i][k]
				}
			}
			dt, err := dtype.Parse(v.DType)
			require.NoError(t, err)
			x := tensor.From(d, f, append([]int{}, v.Shape...)...).Cast(dt)
			if track && v.DType == "f64" {
				x.RequireGrad()
			}
			xs = append(xs, x)
		}
		for i, o := range c(t, d, xs) {
			if o.DType() != dtype.F64 || o.Size() == 0 {
				continue
			}
			if weights[i] == nil {
				w := make([]float64, o.Size())
				for k := range w {
					w[k] = r.NormFloat64()
				}
				weights[i] = tensor.From(d, w, append([]int{}, o.Shape()...)...)
			}
			part := o.Mul(weights[i]).Sum()
			if sum == nil {
				sum = part
			} else {
				sum = sum.Add(part)
			}
		}
		return sum, xs
	}
	root, xs := eval(0, true)
	if root == nil {
		return false
	}
	grads, err := root.Backward()
	if err != nil && errors.Is(err, core.ErrUnsupported) {
		t.Fatalf("no gradient: %v", err)
	}
	require.NoError(t, err)
	got := 0.0
	for i, x := range xs {
		g := grads.Of(x)
		if g == nil {
			continue
		}
		for k, v := range data[float64](t, g) {
			got += v * along[i][k]
		}
	}
	up, _ := eval(h, false)
	down, _ := eval(-h, false)
	a, err := up.Float64(ctx)
	require.NoError(t, err)
	b, err := down.Float64(ctx)
	require.NoError(t, err)
	want := (a - b) / (2 * h)
	require.InDelta(t, want, got, 1e-5*(1+math.Abs(want)))
	return true
}

// For an input of ones, the gradient of the sum of dropout's result equals that result.
func TestDropoutHasTheGradientOfItsMask(t *testing.T) {
	inner, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, inner.Close()) }()
	d, err := tensor.On(ctx, autodiff.Device(inner))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	d.Seed(1)
	x := d.Ones(dtype.F64, 100).RequireGrad()
	y := x.Dropout(0.3)
	grads, err := y.Sum().Backward()
	require.NoError(t, err)
	require.Equal(t, data[float64](t, y), data[float64](t, grads.Of(x)))
}

// TestGradientsAcrossQueues computes with parameters on one queue, data on another, and a loss on a third: the backward pass is ordered
// after all of them. The expected values are by hand: loss = Σ (w·x)², with the gradient 2·w·x².
func TestGradientsAcrossQueues(t *testing.T) {
	place, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, place.Close()) }()
	d, err := tensor.On(ctx, autodiff.Device(place))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	second, third := stream(t, d), stream(t, d)
	square := tensor.Function{
		Name:    "square",
		Forward: func(x []*tensor.Tensor) (y, saved []*tensor.Tensor) { return []*tensor.Tensor{x[0].Square()}, x },
		Backward: func(saved, grads []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{saved[0].Mul(grads[0]).MulScalar(2)}
		},
	}
	for i := range 30 {
		w := tensor.From(d, []float64{1, 2, float64(i)}).RequireGrad()
		x := tensor.From(second, []float64{3, 1, 2})
		y := x.Mul(w) // on second
		require.True(t, y.Tracked())
		var z *tensor.Tensor
		if i%2 == 0 {
			z = y.On(third).Square()
		} else {
			z = square.Apply(y.On(third))[0]
		}
		y.Release()
		loss := z.Sum()
		grads, err := tensor.Backward([]*tensor.Tensor{loss}, nil, w)
		require.NoError(t, err)
		loss.Release()
		next := w.Sub(grads.Of(w)) // on d
		require.Equal(t, []float64{-17, -2, -7 * float64(i)}, data[float64](t, next))
	}
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
}

// A seed of another device is refused, and what Backward made of the other seeds is released.
func TestBackwardOfTwoDevices(t *testing.T) {
	on := func() *tensor.Device {
		inner, err := core.OpenPlace("cpu", core.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, inner.Close()) })
		d, err := tensor.On(ctx, autodiff.Device(inner))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		return d
	}
	d, other := on(), on()
	gc := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(gc)
	tensors := func() int64 {
		require.NoError(t, d.Sync(ctx))
		m, ok := d.Memory()
		require.True(t, ok)
		return m.Tensors
	}
	x, z := d.Ones(dtype.F32, 2).RequireGrad(), other.Ones(dtype.F32, 2)
	y := x.MulScalar(2)
	before := tensors()
	_, err := tensor.Backward([]*tensor.Tensor{y, y}, []*tensor.Tensor{nil, z})
	require.ErrorIs(t, err, core.ErrAttr)
	require.ErrorContains(t, err, "a root or seed is on another opening of")
	require.Equal(t, before, tensors())
}
