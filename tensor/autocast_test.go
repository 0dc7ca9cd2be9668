package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/tensor"
)

// halfway lies midway between two numbers of bf16, which has 8 bits of precision. It rounds to the even one: 1.
const halfway = 1 + 1.0/256

func TestAutocast(t *testing.T) {
	d := open(t)
	w := tensor.From(d, []float32{halfway, 2, 3, 4}, 2, 2)
	x := tensor.From(d, []float32{1, 0}, 1, 2)
	types := func(ts ...*tensor.Tensor) (l []dtype.DType) {
		for _, x := range ts {
			l = append(l, x.DType())
		}
		return l
	}
	bf16, f32 := dtype.BF16, dtype.F32
	out := tensor.Autocast(d, bf16, func(d *tensor.Device) []*tensor.Tensor {
		x := x.In(d)
		y := x.MatMul(w)
		require.Equal(t, bf16, y.DType(), "a product")
		require.Equal(t, []dtype.DType{f32, f32, f32, f32}, types(y.Exp(), y.Sum(), y.Softmax(1), y.Mean()), "need range or precision")
		require.Equal(t, []dtype.DType{bf16, bf16, bf16}, types(y.Relu(), y.Add(y), y.T()), "compute in what they are given")
		require.Equal(t, []dtype.DType{f32, f32}, types(y.Add(x), x.Mul(y)), "mixed operands are widened")
		require.Equal(t, f32, x.Add(x).DType())
		require.Equal(t, dtype.I32, tensor.From(d, []int32{1}).Add(tensor.From(d, []int32{1})).DType())
		inner := tensor.Autocast(d, f32, func(d *tensor.Device) []*tensor.Tensor {
			require.Equal(t, f32, x.In(d).MatMul(w).DType(), "ended within")
			return nil
		})
		require.Empty(t, inner)
		tensor.NoGrad(d, func(d *tensor.Device) []*tensor.Tensor {
			require.Equal(t, bf16, x.In(d).MatMul(w).DType(), "goes on in scopes within")
			return nil
		})
		return []*tensor.Tensor{y.Cast(f32)}
	})
	require.Equal(t, []float32{1, 2}, data[float32](t, out[0]))
	require.Equal(t, []float32{halfway, 2}, data[float32](t, x.MatMul(w)), "and nowhere else")
	require.Error(t, tensor.Try(func() { tensor.Autocast(d, dtype.F64, nil) }))
}

// TestAutocastGradients checks that the gradients of f32 parameters are f32, and belong to the rounded product.
func TestAutocastGradients(t *testing.T) {
	inner, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, inner.Close()) }()
	d, err := tensor.On(ctx, autodiff.Device(inner))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	w := tensor.From(d, []float32{2, 3}, 2, 1).RequireGrad()
	var got []float32
	loss := tensor.Autocast(d, dtype.BF16, func(d *tensor.Device) []*tensor.Tensor {
		x := tensor.From(d, []float32{halfway, 1.5}, 1, 2)
		loss := x.MatMul(w).Sum()
		g, err := loss.Backward()
		require.NoError(t, err)
		require.Equal(t, dtype.F32, g.Of(w).DType())
		got = data[float32](t, g.Of(w))
		return []*tensor.Tensor{loss}
	})
	require.Equal(t, dtype.F32, loss[0].DType())
	require.Equal(t, []float32{6.5}, data[float32](t, loss[0]), "1·2 + 1.5·3")
	require.Equal(t, []float32{1, 1.5}, got)
}

// A function with a custom gradient receives f32 operands, and computes in f32.
func TestAutocastFunction(t *testing.T) {
	inner, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, inner.Close()) }()
	d, err := tensor.On(ctx, autodiff.Device(inner))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	w := tensor.From(d, []float32{2}, 1, 1).RequireGrad()
	square := tensor.Function{Name: "square",
		Forward: func(x []*tensor.Tensor) (y, saved []*tensor.Tensor) {
			require.Equal(t, dtype.F32, x[0].DType())
			y = []*tensor.Tensor{x[0].MatMul(x[0])}
			require.Equal(t, dtype.F32, y[0].DType())
			return y, x
		},
		Backward: func(saved, grads []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{saved[0].Mul(grads[0]).MulScalar(2)}
		}}
	out := tensor.Autocast(d, dtype.BF16, func(d *tensor.Device) []*tensor.Tensor {
		h := tensor.From(d, []float32{3}, 1, 1).MatMul(w)
		require.Equal(t, dtype.BF16, h.Hook(func(g *tensor.Tensor) *tensor.Tensor { return g }).DType())
		y := square.Apply(h)[0]
		g, err := y.Backward()
		require.NoError(t, err)
		require.Equal(t, []float32{36}, data[float32](t, g.Of(w)), "2·(3·2)·3")
		return []*tensor.Tensor{y}
	})
	require.Equal(t, []float32{36}, data[float32](t, out[0]))
}

// The casts of operands live for one op, not for the scope.
func TestCastsAreReleased(t *testing.T) {
	d := open(t)
	w, x := tensor.From(d, []float32{halfway, 2, 3, 4}, 2, 2), tensor.From(d, []float32{1, 0}, 1, 2)
	tensors := func() int64 {
		require.NoError(t, d.Sync(ctx))
		m, ok := d.Memory()
		require.True(t, ok)
		return m.Tensors
	}
	tensor.Autocast(d, dtype.BF16, func(d *tensor.Device) []*tensor.Tensor {
		x := x.In(d)
		before := tensors()
		y := x.MatMul(w)
		require.Equal(t, before+1, tensors(), "two operands were cast")
		y.Exp()
		require.Equal(t, before+2, tensors(), "one was")
		y.Add(x)
		x.Add(x)
		require.Equal(t, before+4, tensors(), "one was, and none")
		require.Equal(t, []float32{1, 0}, data[float32](t, x.Mul(x.Add(y.MulScalar(0)))), "operands stay")
		return nil
	})
	require.Equal(t, []float32{halfway, 2, 3, 4}, data[float32](t, w))
}
