package export_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/tensor"
)

// trip is an op on operands of given types and shapes. If batch is set, the first dimension is symbolic in the first operand and in
// every operand with the same rank and first dimension.
type trip struct {
	op    op.Code
	in    []op.Desc
	attrs []op.Attr
	batch bool
}

func d32(dims ...int) op.Desc                   { return op.DescOf(dtype.F32, dims...) }
func dt(d dtype.DType, dims ...int) op.Desc     { return op.DescOf(d, dims...) }
func on(in ...op.Desc) []op.Desc                { return in }
func at(a ...op.Attr) []op.Attr                 { return a }
func along(axis int, more ...op.Attr) []op.Attr { return append(more, op.Int("axis", axis)) }

// trips returns ops that have an export rule and ops that are decomposed, with types and shapes for which ops and ONNX operators differ.
func trips() []trip {
	var all []trip
	for _, c := range []op.Code{op.Neg, op.Abs, op.Exp, op.Log, op.Log1p, op.Expm1, op.Sqrt, op.Sin, op.Cos, op.Tan, op.Asin, op.Acos, op.Atan, op.Sinh, op.Cosh, op.Tanh, op.Asinh, op.Acosh, op.Atanh, op.Erf, op.Floor, op.Ceil,
		op.Round, op.IsNaN, op.IsInf, op.IsFinite, op.Reciprocal, op.Rsqrt, op.Square, op.Sign, op.Trunc, op.Relu, op.LeakyRelu, op.Elu, op.Selu, op.Celu, op.Sigmoid, op.HardSigmoid, op.HardSwish, op.Silu, op.Gelu, op.Mish, op.Softplus,
		op.Softsign, op.ThresholdedRelu, op.LogSigmoid, op.HardShrink, op.SoftShrink, op.TanhShrink, op.QuickGelu, op.Relu6, op.HardTanh, op.Frac, op.RoundAway, op.Exp2, op.Log2, op.Log10} {
		all = append(all, trip{c, on(d32(4, 5)), nil, true}, trip{c, on(d32()), nil, false})
	}
	for _, c := range []op.Code{op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Pow, op.Max, op.Min, op.Equal, op.Less, op.LessEqual, op.Greater, op.GreaterEqual, op.NotEqual, op.FloorMod, op.FloorDiv, op.LogAddExp} {
		all = append(all, trip{c, on(d32(4, 5), d32(5)), nil, true}, trip{c, on(d32(4, 1), d32(1, 3)), nil, true})
		if c != op.LogAddExp && c != op.Pow {
			all = append(all, trip{c, on(dt(dtype.I64, 4, 3), dt(dtype.I64, 3)), nil, true}, trip{c, on(dt(dtype.I32, 4), dt(dtype.I32)), nil, true})
		}
	}
	for _, c := range []op.Code{op.And, op.Or, op.Xor} {
		all = append(all, trip{c, on(dt(dtype.Bool, 4, 3), dt(dtype.Bool, 3)), nil, true})
	}
	for _, c := range []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin, op.Mean, op.Variance, op.Std, op.LogSumExp, op.VectorNorm, op.Median} {
		for _, keep := range []bool{false, true} {
			all = append(all, trip{c, on(d32(4, 3, 2)), at(op.Ints("axes", 1, 2), op.Flag("keep_dims", keep)), true}, trip{c, on(d32(3, 4)), at(op.Ints("axes", 1), op.Flag("keep_dims", keep)), true})
		}
	}
	for _, c := range []op.Code{op.Softmax, op.LogSoftmax, op.Softmin, op.Hardmax, op.ArgMax, op.ArgMin, op.CumSum, op.LogCumSumExp} {
		all = append(all, trip{c, on(d32(4, 3, 2)), along(1), true}, trip{c, on(d32(4, 3)), along(1), true})
	}
	for _, descending := range []bool{false, true} {
		all = append(all, trip{op.Sort, on(d32(4, 5)), along(1, op.Flag("descending", descending)), true}, trip{op.Sort, on(dt(dtype.I64, 4, 5)), along(1, op.Flag("descending", descending)), true},
			trip{op.TopK, on(d32(4, 5)), along(1, op.Int("k", 3), op.Flag("largest", descending)), true}, trip{op.CumSum, on(d32(4, 3)), along(1, op.Flag("exclusive", true), op.Flag("reverse", descending)), true})
	}
	for _, to := range []dtype.DType{dtype.F64, dtype.I32, dtype.I64, dtype.Bool, dtype.F16} {
		all = append(all, trip{op.Cast, on(dt(dtype.I32, 4, 3)), at(op.Type("dtype", to)), true})
	}
	return append(all, []trip{
		{op.Where, on(dt(dtype.Bool, 4, 1), d32(3), d32(4, 3)), nil, true}, {op.Clamp, on(d32(4, 3)), at(op.ScalarFloat("min", -0.5), op.ScalarFloat("max", 0.5)), true},
		{op.Clamp, on(d32(4, 3)), at(op.ScalarFloat("min", 0.5), op.ScalarFloat("max", -0.5)), true}, {op.Clamp, on(dt(dtype.I64, 4, 3)), at(op.ScalarInt("min", -1)), true},
		{op.Reshape, on(d32(4, 6)), at(op.Ints("shape", 2, 3, 4)), false}, {op.Permute, on(d32(4, 3, 2)), at(op.Ints("axes", 2, 0, 1)), true}, {op.Expand, on(d32(3, 1)), at(op.Ints("shape", 2, 3, 4)), false},
		{op.Slice, on(d32(4, 5)), at(op.Ints("start", 3, 4), op.Ints("size", 2, 3), op.Ints("step", -2, -2)), false}, {op.Slice, on(d32(4, 5)), at(op.Ints("start", 0, 0), op.Ints("size", 4, 5), op.Ints("step", 1, 1)), false},
		{op.Slice, on(d32(4, 5)), at(op.Ints("start", 3, 4), op.Ints("size", 4, 5), op.Ints("step", -1, -1)), false}, {op.Slice, on(d32(4, 5)), at(op.Ints("start", 2, 1), op.Ints("size", 0, 1), op.Ints("step", 1, 3)), false},
		{op.Pad, on(d32(4, 5)), at(op.Ints("lo", 1, -2), op.Ints("hi", 0, 3), op.ScalarFloat("value", 2.5)), false}, {op.Pad, on(dt(dtype.I64, 4)), at(op.Ints("lo", -1), op.Ints("hi", -3), op.ScalarInt("value", 7)), false},
		{op.Flip, on(d32(4, 5)), at(op.Ints("axes", 1, 0)), true}, {op.Concat, on(d32(4, 5), d32(4, 0), d32(4, 2)), along(1), false}, {op.Gather, on(d32(4, 5), dt(dtype.I32, 2, 3)), along(1), true},
		{op.Gather, on(d32(4, 5, 2), dt(dtype.I64, 4, 3)), along(1, op.Int("batch", 1)), false}, {op.GatherElements, on(d32(4, 5), dt(dtype.I64, 4, 2)), along(1), true},
		{op.Scatter, on(d32(4, 5), dt(dtype.I64, 2), d32(2, 5)), along(0, op.Str("mode", "add")), false},
		{op.Tile, on(d32(4, 5)), at(op.Ints("repeats", 1, 2)), true}, {op.Roll, on(d32(4, 5)), at(op.Ints("shifts", 7), op.Ints("axes", 1)), true}, {op.RepeatInterleave, on(d32(4, 3)), along(1, op.Int("repeats", 2)), true},
		{op.Tril, on(d32(4, 5)), at(op.Int("offset", -1)), false}, {op.Triu, on(d32(2, 4, 5)), at(op.Int("offset", 1)), false}, {op.Diagonal, on(d32(4, 5)), at(op.Int("offset", -2)), false}, {op.OneHot, on(dt(dtype.I64, 4)), along(1, op.Int("depth", 3), op.Type("dtype", dtype.F32)), true},
		{op.MatMul, on(d32(4, 2, 3), d32(3, 5)), nil, true}, {op.MatMul, on(d32(4, 3, 2), d32(5, 3)), at(op.Flag("transpose_a", true), op.Flag("transpose_b", true)), true}, {op.MatMul, on(d32(2, 0), d32(0, 3)), nil, false},
		{op.Linear, on(d32(4, 3), d32(5, 3), d32(5)), at(op.Flag("transpose_w", true)), true}, {op.Linear, on(d32(3), d32(3, 5)), nil, false}, {op.Einsum, on(d32(4, 3), d32(3, 2)), at(op.Str("equation", "ij,jk->ki")), true},
		{op.LayerNorm, on(d32(4, 3, 2), d32(3, 2), d32(2)), along(1, op.Float("epsilon", 0.1)), true}, {op.LayerNorm, on(d32(4, 3)), along(1), true}, {op.RMSNorm, on(d32(4, 3), d32(3)), along(1), true}, {op.GroupNorm, on(d32(4, 6, 2), d32(6), d32(6)), at(op.Int("groups", 3)), true},
		{op.LpNormalize, on(d32(4, 3)), along(1), true}, {op.LocalResponseNorm, on(d32(4, 5, 2)), at(op.Int("size", 3)), true}, {op.CosineSimilarity, on(d32(4, 3), d32(4, 3)), along(1), false}, {op.GLU, on(d32(4, 6)), along(1), true},
		{op.Attention, on(d32(4, 2, 3, 4), d32(4, 2, 5, 4), d32(4, 2, 5, 4)), at(op.Flag("causal", true), op.Int("past", 2)), false}, {op.MSELoss, on(d32(4, 3), d32(4, 3)), nil, false},
		{op.DepthToSpace, on(d32(2, 8, 2, 3)), at(op.Ints("block", 2, 2)), true}, {op.SpaceToDepth, on(d32(2, 2, 4, 6)), at(op.Ints("block", 2, 2)), true}, {op.ChannelShuffle, on(d32(2, 6, 3)), at(op.Int("groups", 3)), true},
		{op.AdaptiveAvgPool, on(d32(2, 6, 5)), at(op.Ints("size", 3, 2)), false}, {op.Interpolate, on(d32(2, 2, 4, 3)), at(op.Ints("size", 6, 5), op.Str("mode", "linear")), false},
	}...)
}

// values returns numbers for operand k: 0 and 1 for indices and bools, whole numbers for integers, otherwise numbers around zero. If
// special is set, floats include infinities, NaN and -0.
func values(d op.Desc, k int, index, special bool) []float64 {
	out := make([]float64, d.Shape.Size())
	for i := range out {
		switch v := math.Sin(float64(3*i*i+7*i+5*k) * 0.7); {
		case index || d.DType == dtype.Bool:
			out[i] = float64((i + k) % 2)
		case d.DType.IsInt():
			if out[i] = math.Round(9 * v); k > 0 && out[i] == 0 {
				out[i] = 3 // avoids division by zero, which ONNX does not define
			}
		case special && i%7 == 3:
			out[i] = []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1e-9, -88, 30}[(i/7+k)%7]
		default:
			out[i] = math.Round(1000*v) / 700
		}
	}
	return out
}

// An op that is exported, imported and run returns the same as the op itself, also for special numbers if it is elementwise, and at a
// size of the symbolic dimension that was not traced.
func TestOpsRoundTrip(t *testing.T) {
	d := device(t)
	for i, c := range trips() {
		t.Run(fmt.Sprintf("%03d %v %v", i, c.op, c.in), func(t *testing.T) {
			row := op.Lookup(c.op)
			special := row.Traits.Has(op.Elementwise)
			var inputs []export.Input
			var operands ts
			feed := map[string]onnx.Value{}
			for k, desc := range c.in {
				index := k == 1 && row.Operands[min(k, len(row.Operands)-1)].Types == dtype.Indices || c.op == op.OneHot
				x := tensor.From(d, values(desc, k, index, special), desc.Shape.Size()).Reshape(desc.Shape...).Cast(desc.DType)
				shape := append([]int{}, desc.Shape...)
				if c.batch && len(shape) > 0 && shape[0] == c.in[0].Shape[0] && len(shape) == len(c.in[0].Shape) {
					shape[0] = export.Any
				}
				name := fmt.Sprint("x", k)
				inputs, operands = append(inputs, export.Input{Name: name, DType: desc.DType, Shape: shape}), append(operands, x)
				feed[name] = onnx.TensorValue(x)
			}
			type none struct{}
			m, err := export.Modules(ctx, &none{}, func(_ *none, in ts) ts { return tensor.Op(c.op, in, c.attrs...) }, inputs, export.Options{})
			require.NoError(t, err)
			want := tensor.Op(c.op, operands, c.attrs...)
			parsed, err := onnx.Parse(m.Append(nil), "", onnx.Options{})
			require.NoError(t, err)
			s, err := parsed.Open(d)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			got, err := s.Run(ctx, feed)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			for k, w := range want {
				g := got[parsed.Outputs()[k].Name].Tensor()
				require.Equal(t, w.Desc().String(), g.Desc().String(), "result %d", k)
				near(t, numbers(t, w), numbers(t, g), fmt.Sprint("result ", k))
			}
		})
	}
}

// The export of an op that ONNX has no operator for, or only for some axes and types, fails with an error that names the op.
func TestUnsupportedOps(t *testing.T) {
	for want, c := range map[string]trip{
		"scatter": {op.Scatter, on(d32(4, 5), dt(dtype.I32, 3), d32(4, 3)), along(1, op.Str("mode", "max")), false},
		"gather":  {op.GridSample, on(d32(2, 1, 3, 4), d32(2, 2, 2, 2)), nil, false}, // within batches, along another axis
		"atan2":   {op.Atan2, on(d32(4), d32(4)), nil, false},
		"cumprod": {op.CumProd, on(d32(4)), along(0), false},
		"cummax":  {op.CumMax, on(d32(4)), along(0), false},
		"shl":     {op.Shl, on(dt(dtype.I32, 4), dt(dtype.I32, 4)), nil, false},
	} {
		var inputs []export.Input
		for k, d := range c.in {
			inputs = append(inputs, export.Input{Name: fmt.Sprint("x", k), DType: d.DType, Shape: d.Shape})
		}
		type none struct{}
		_, err := export.Modules(ctx, &none{}, func(_ *none, in ts) ts { return tensor.Op(c.op, in, c.attrs...) }, inputs, export.Options{})
		require.ErrorIs(t, err, core.ErrUnsupported, want)
		require.ErrorContains(t, err, want+" has no kernel on onnx-export and no decomposition")
	}
}

// Exported log1p and expm1 keep the relative precision of small numbers, which log(1+x) and exp(x)-1 lose.
func TestSmallNumbersRoundTrip(t *testing.T) {
	d := device(t)
	x := []float32{0, 1e-30, -1e-30, 1e-9, -3e-9, 1e-7, 4e-6, -1e-3, 0.01, 0.3, -0.4, 0.49, 0.51, 1, -0.7, 20, float32(math.Inf(1)), float32(math.NaN())}
	for c, f := range map[op.Code]func(float64) float64{op.Log1p: math.Log1p, op.Expm1: math.Expm1} {
		type none struct{}
		m, err := export.Modules(ctx, &none{}, func(_ *none, in ts) ts { return tensor.Op(c, in) }, []export.Input{{Name: "x", DType: dtype.F32, Shape: []int{len(x)}}}, export.Options{})
		require.NoError(t, err)
		parsed, err := onnx.Parse(m.Append(nil), "", onnx.Options{})
		require.NoError(t, err)
		s, err := parsed.Open(d)
		require.NoError(t, err)
		out, err := s.Run(ctx, map[string]onnx.Value{"x": onnx.TensorValue(tensor.From(d, x))})
		require.NoError(t, err)
		for i, got := range numbers(t, out["output"].Tensor()) {
			want := f(float64(x[i]))
			if math.IsNaN(want) || math.IsInf(want, 0) || want == 0 {
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%v of %v", c, x[i])
			} else {
				require.InEpsilon(t, want, got, 1e-6, "%v of %v", c, x[i])
			}
		}
		require.NoError(t, s.Close())
	}
}
