package program_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Each pattern, used alone, rewrites its form to the expected op, and the rewritten program computes the same results.
func TestPatterns(t *testing.T) {
	x := func(s *sketch) op.Desc { return s.x(2, 5) }
	exp1 := func(s *sketch, x op.Desc) op.Desc { return s.Do(op.Add, s.Do(op.Exp, s.Do(op.Neg, x)), s.n(1)) }
	bytes := func(s *sketch, d dtype.DType, dims ...int) op.Desc {
		return s.Cast(s.random(s.input(d, dims...)), dtype.I32)
	}
	norm := func(s *sketch, c op.Code, in ...op.Desc) op.Desc { return s.With(c, in, op.Int("axis", 1)) }
	forms := map[string]struct {
		write func(s *sketch) op.Desc
		gives op.Code
	}{
		"sigmoid":       {func(s *sketch) op.Desc { return s.Do(op.Div, s.n(1), exp1(s, x(s))) }, op.Sigmoid},
		"gelu":          {func(s *sketch) op.Desc { y := x(s); return s.Do(op.Mul, s.Do(op.Mul, y, erf1(s, y)), s.n(0.5)) }, op.Gelu},
		"silu":          {func(s *sketch) op.Desc { y := x(s); return s.Do(op.Mul, y, s.Do(op.Sigmoid, y)) }, op.Silu},
		"silu_quotient": {func(s *sketch) op.Desc { y := x(s); return s.Do(op.Div, y, exp1(s, y)) }, op.Silu},
		"hard_swish": {func(s *sketch) op.Desc {
			y := x(s)
			c := s.With(op.Clamp, []op.Desc{s.Do(op.Add, y, s.n(3))}, op.ScalarFloat("min", 0), op.ScalarFloat("max", 6))
			return s.Do(op.Div, s.Do(op.Mul, y, c), s.n(6))
		}, op.HardSwish},
		"softmax": {func(s *sketch) op.Desc { return written(s, x(s), 1, 1) }, op.Softmax},
		"layer_norm": {func(s *sketch) op.Desc {
			d := centre(s, x(s))
			return s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, d))))
		}, op.LayerNorm},
		"rms_norm": {func(s *sketch) op.Desc {
			y := x(s)
			return s.Do(op.Div, y, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, y))))
		}, op.RMSNorm},
		"norm_scale": {func(s *sketch) op.Desc { return s.Do(op.Mul, norm(s, op.RMSNorm, x(s)), s.x(5)) }, op.RMSNorm},
		"norm_bias":  {func(s *sketch) op.Desc { return s.Do(op.Add, norm(s, op.LayerNorm, x(s), s.x(5)), s.x(5)) }, op.LayerNorm},
		"linear":     {func(s *sketch) op.Desc { return s.Do(op.Add, s.Do(op.MatMul, x(s), s.x(5, 3)), s.x(3)) }, op.Linear},
		"attention": {func(s *sketch) op.Desc {
			k := s.Permute(s.x(2, 4, 6, 5), 0, 1, 3, 2)
			return s.Do(op.MatMul, soft(s, s.Do(op.Mul, s.Do(op.MatMul, s.x(2, 4, 3, 5), k), s.n(0.5))), s.x(2, 4, 6, 2))
		}, op.Attention},
		"byte_product": {func(s *sketch) op.Desc { return s.Do(op.MatMul, bytes(s, dtype.U8, 3, 7), bytes(s, dtype.I8, 7, 5)) }, op.MatMulInteger},
		"byte_conv": {func(s *sketch) op.Desc {
			return s.conv(bytes(s, dtype.U8, 1, 3, 7, 6), bytes(s, dtype.I8, 5, 3, 3, 2), 1)
		}, op.ConvInteger},
		"integer_product": {func(s *sketch) op.Desc { return s.Do(op.MatMul, s.data(dtype.U8, 3, 7), s.weight(dtype.I8, 1, 7, 5)) }, op.MatMulInteger},
		"integer_conv": {func(s *sketch) op.Desc {
			return s.conv(s.data(dtype.U8, 2, 3, 7, 6), s.weight(dtype.I8, 0, 5, 3, 3, 2), 1)
		}, op.ConvInteger},
		"moved_bytes": {func(s *sketch) op.Desc {
			g := s.grid(dtype.U8)
			y := s.dequantize(s.random(s.input(dtype.U8, 2, 4)), g, -1)
			return s.quantize(s.Narrow(y, 1, 1, 2), g)
		}, op.Slice},
		"rounded_bytes": {func(s *sketch) op.Desc {
			y := s.Do(op.MatMulInteger, s.random(s.input(dtype.U8, 3, 7)), s.bytes(dtype.I8, 7, 5))
			y = s.Do(op.Round, s.Do(op.Mul, s.Cast(y, s.d), s.constant(nil, 0.01)))
			return s.Cast(s.Do(op.Add, y, s.constant(nil, 3)), dtype.U8)
		}, op.Quantize},
	}
	all := program.Patterns()
	require.Len(t, forms, len(all), "a form for each pattern, and names that differ")
	for i, f := range all {
		t.Run(f.Name, func(t *testing.T) {
			require.NotEmpty(t, f.Doc)
			s := newSketch(dtype.F32, 3)
			s.give(forms[f.Name].write(s))
			p := s.program(t)
			require.Contains(t, f.Ends, p.Nodes[len(p.Nodes)-1].Op)
			q := p.RewriteBy(all[i:i+1], s.known, nil)
			require.NotSame(t, p, q, "nothing was found")
			require.NoError(t, q.Check())
			require.Contains(t, ops(q), forms[f.Name].gives)
			want, got := s.run(t, p), s.run(t, q)
			require.InDeltaSlice(t, append(want[0].F, 0), append(got[0].F, 0), 1e-4)
			require.Equal(t, want[0].I, got[0].I)
		})
	}
}
