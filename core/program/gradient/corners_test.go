package gradient_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/gradient"
)

var inf, nan = math.Inf(1), math.NaN()

func vector(v ...float64) ref.Tensor { return numbers(v, len(v)) }

func ones(_ int, d op.Desc) ref.Tensor {
	x := ref.Zeros(d)
	for i := range x.F {
		x.F[i] = 1
	}
	return x
}

// Where there is no derivative, or where a naive formula overflows, the gradients equal PyTorch's in f64 for a dy of ones. One differs on
// purpose: the gradient of equal elements of a running maximum goes to the first one.
func TestCorners(t *testing.T) {
	alpha := op.Float("alpha", 0.3)
	for _, c := range []struct {
		example
		want [][]float64
	}{
		{example{op.Abs, tensors(vector(0, math.Copysign(0, -1))), nil}, [][]float64{{0, 0}}},
		{example{op.Frac, tensors(vector(1)), nil}, [][]float64{{1}}},
		{example{op.Sqrt, tensors(vector(0, 4)), nil}, [][]float64{{inf, 0.25}}},
		{example{op.Log, tensors(vector(0, -1)), nil}, [][]float64{{inf, -1}}},
		{example{op.Asin, tensors(vector(0, 1)), nil}, [][]float64{{1, inf}}},
		{example{op.Acosh, tensors(vector(1)), nil}, [][]float64{{inf}}},
		{example{op.Tanh, tensors(vector(0, 1000, -1000)), nil}, [][]float64{{1, 0, 0}}},
		{example{op.Relu, tensors(vector(0, math.Copysign(0, -1), 1e-300)), nil}, [][]float64{{0, 0, 1}}},
		{example{op.Relu6, tensors(vector(0, 6, 3)), nil}, [][]float64{{0, 0, 1}}},
		{example{op.Elu, tensors(vector(0, math.Copysign(0, -1))), with(alpha)}, [][]float64{{0.3, 0.3}}},
		{example{op.Celu, tensors(vector(0)), with(alpha)}, [][]float64{{1}}},
		{example{op.Selu, tensors(vector(0)), with(op.Float("alpha", 1.6732632423543772), op.Float("gamma", 1.0507009873554805))}, [][]float64{{1.7580993408473766}}},
		{example{op.LeakyRelu, tensors(vector(0)), with(alpha)}, [][]float64{{0.3}}},
		{example{op.PRelu, tensors(vector(0, -2), vector(0.3)), nil}, [][]float64{{0.3, 0.3}, {-2}}},
		{example{op.HardTanh, tensors(vector(-1, 1)), nil}, [][]float64{{0, 0}}},
		{example{op.HardSigmoid, tensors(vector(-3, 3)), with(op.Float("alpha", 1.0/6), op.Float("beta", 0.5))}, [][]float64{{0, 0}}},
		{example{op.HardSwish, tensors(vector(-3, 3)), nil}, [][]float64{{0, 1}}},
		{example{op.HardShrink, tensors(vector(-0.5, 0.5)), nil}, [][]float64{{0, 0}}},
		{example{op.SoftShrink, tensors(vector(-0.5, 0.5)), nil}, [][]float64{{0, 0}}},
		{example{op.ThresholdedRelu, tensors(vector(1)), nil}, [][]float64{{0}}},
		{example{op.Clamp, tensors(vector(-1, 1, 1.5)), with(op.ScalarFloat("min", -1), op.ScalarFloat("max", 1))}, [][]float64{{1, 1, 0}}},
		{example{op.Silu, tensors(vector(0, -1000, 1000)), nil}, [][]float64{{0.5, 0, 1}}},
		{example{op.Softplus, tensors(vector(0, -1000, 1000)), nil}, [][]float64{{0.5, 0, 1}}},
		{example{op.LogSigmoid, tensors(vector(0, -1000, 1000)), nil}, [][]float64{{0.5, 1, 0}}},
		{example{op.Softsign, tensors(vector(0)), nil}, [][]float64{{1}}},
		{example{op.Max, tensors(vector(2, 1, 3), vector(2, 3, 1)), nil}, [][]float64{{0.5, 0, 1}, {0.5, 1, 0}}},
		{example{op.Min, tensors(vector(2, 1, 3), vector(2, 3, 1)), nil}, [][]float64{{0.5, 1, 0}, {0.5, 0, 1}}},
		{example{op.Rem, tensors(vector(7, -7, 6), vector(2, 2, 2)), nil}, [][]float64{{1, 1, 1}, {-3, 3, -3}}},
		{example{op.FloorMod, tensors(vector(7, -7, 6), vector(2, 2, 2)), nil}, [][]float64{{1, 1, 1}, {-3, 4, -3}}},
		{example{op.Pow, tensors(vector(0, 0, 0, 2, -1), vector(0, 2, 0.5, 0, 0)), nil}, [][]float64{{0, 0, inf, 0, 0}, {0, 0, 0, 0.6931471805599453, nan}}},
		{example{op.LogAddExp, tensors(vector(1, 1000, 0), vector(1, 0, 1000)), nil}, [][]float64{{0.5, 1, 0}, {0.5, 0, 1}}},
		{example{op.LogAddExp, tensors(vector(inf, -inf), vector(inf, -inf)), nil}, [][]float64{{0.5, 0.5}, {0.5, 0.5}}},
		{example{op.ReduceMax, tensors(numbers([]float64{1, 3, 3, 2, 2, 2}, 2, 3)), with(axes(1))}, [][]float64{{0, 0.5, 0.5, 1. / 3, 1. / 3, 1. / 3}}},
		{example{op.ReduceMin, tensors(numbers([]float64{1, 1, 3, 2, 2, 2}, 2, 3)), with(axes(1))}, [][]float64{{0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3}}},
		{example{op.Prod, tensors(numbers([]float64{0, 2, 3, 0, 0, 3}, 2, 3)), with(axes(1))}, [][]float64{{6, 0, 0, 0, 0, 0}}},
		{example{op.CumProd, tensors(vector(2, 0, 3, 0)), with(axis(0))}, [][]float64{{1, 8, 0, 0}}},
		{example{op.CumMax, tensors(vector(1, 1, 0, 2)), with(axis(0))}, [][]float64{{3, 0, 0, 1}}},
		{example{op.CumMin, tensors(vector(1, 1, 2, 0)), with(axis(0))}, [][]float64{{3, 0, 0, 1}}},
		{example{op.Std, tensors(numbers([]float64{2, 2, 1, 3}, 2, 2)), with(axes(1))}, [][]float64{{0, 0, -0.5, 0.5}}},
		{example{op.LogSumExp, tensors(numbers([]float64{-inf, -inf, -inf, 1}, 2, 2)), with(axes(1))}, [][]float64{{0, 0, 0, 1}}},
		{example{op.Scatter, tensors(vector(1, 5, 7), indices([]int64{0, 0, 1}, 3), vector(1, 1, 5)), with(axis(0), op.Str("mode", "max"))},
			[][]float64{{1. / 3, 0.5, 1}, nil, {1. / 3, 1. / 3, 0.5}}},
		{example{op.Scatter, tensors(vector(3, 5), indices([]int64{0, 0, 1}, 3), vector(0, 2, 0)), with(axis(0), op.Str("mode", "mul"))}, [][]float64{{0, 0}, nil, {6, 0, 5}}},
		{example{op.MaxPool, tensors(numbers([]float64{1, 1, 1}, 1, 1, 3)), with(op.Ints("window", 2), op.Ints("strides", 1), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0),
			op.Ints("overhang", 0), op.Ints("dilation", 1))}, [][]float64{{1, 1, 0}}},
		// The gradient passes unchanged within the range of i8 around a zero point of 3, as in PyTorch's fake_quantize_per_tensor_affine.
		{example{op.FakeQuantize, tensors(vector(-100, -65.5, -65.7, 0.3, 62, 62.24, 62.3, 90), numbers([]float64{0.5}), ref.Tensor{Desc: op.DescOf(dtype.I8), I: []int64{3}}), nil},
			[][]float64{{0, 1, 1, 1, 1, 1, 0, 0}, nil, nil}},
	} {
		t.Run(c.String(), func(t *testing.T) {
			need := make([]bool, len(c.in))
			for i := range need {
				need[i] = c.want[i] != nil || c.op == op.FakeQuantize && i == 1
			}
			got := backward(t, c.example, need, ones)
			for i, want := range c.want {
				require.Len(t, got[i].F, len(want))
				for k, w := range want {
					if math.IsNaN(w) {
						require.True(t, math.IsNaN(got[i].F[k]), "element %d of gradient %d: %v", k, i, got[i].F)
						continue
					}
					if math.IsInf(w, 0) {
						require.Equal(t, w, got[i].F[k], "element %d of gradient %d: %v", k, i, got[i].F)
						continue
					}
					require.InDelta(t, w, got[i].F[k], 1e-12, "element %d of gradient %d: %v", k, i, got[i].F)
				}
			}
		})
	}
}

// Rules of narrow floats compute in f32 and round once: only casts, constants and ops that move elements have narrow results.
func TestNarrowRulesRoundOnce(t *testing.T) {
	movement := map[op.Code]bool{op.Cast: true, op.Reshape: true, op.Expand: true, op.Permute: true, op.Full: true}
	byChannel := map[op.Code]bool{op.LayerNorm: true, op.RMSNorm: true, op.GroupNorm: true, op.BatchNorm: true}
	for _, c := range []op.Code{
		op.Gelu, op.Silu, op.Mish, op.Selu, op.Elu, op.Celu, op.Sigmoid, op.HardSwish, op.Softsign, op.PRelu, op.TanhShrink, op.Reciprocal, op.Rsqrt, op.Square, op.Asinh, op.Acosh,
		op.Atanh, op.FloorMod, op.Log2, op.LogAddExp, op.LayerNorm, op.RMSNorm, op.GroupNorm, op.BatchNorm, op.Softmax, op.LogSoftmax, op.Variance, op.Std, op.LogSumExp,
	} {
		for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
			last := op.TensorID(0)
			next := func() op.TensorID { last++; return last }
			row := op.Lookup(c)
			x := gradient.Node{Has: map[op.TensorID]bool{}}
			for i := range row.Operands {
				dims := []int{4, 4}
				if i > 0 && byChannel[c] {
					dims = dims[1:]
				}
				x.X = append(x.X, op.Desc{ID: next(), DType: d, Shape: dims})
				x.Need, x.Has[last] = append(x.Need, true), true
			}
			var attrs []op.Attr
			for _, a := range row.Attrs {
				switch a.Name {
				case "axes":
					attrs = append(attrs, axes(1))
				case "axis":
					attrs = append(attrs, axis(1))
				case "groups":
					attrs = append(attrs, op.Int("groups", 2))
				}
			}
			n, err := op.New(c, x.X, attrs...)
			require.NoError(t, err)
			n.Outputs[0].ID = next()
			dy := n.Outputs[0]
			dy.ID = next()
			x.Attrs, x.Y, x.DY, x.Has[n.Outputs[0].ID], x.Has[dy.ID] = n.Attrs, n.Outputs, []op.Desc{dy}, true, true
			r, _ := gradient.Of(c)
			b := op.NewBuilder(next)
			for i, g := range r.Record(b, x) {
				require.Equal(t, d, g.DType, "%v: gradient %d", c, i)
			}
			require.NoError(t, b.Err())
			for _, m := range b.Nodes {
				require.True(t, m.Outputs[0].DType != d || movement[m.Op], "%v of %v: %v", c, d, &m)
			}
		}
	}
}
