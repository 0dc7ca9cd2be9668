package program_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// random fills the integers of d with random values of the type or, half of the time, with its bounds alone. It returns d.
func (s *sketch) random(d op.Desc) op.Desc {
	lo, n := int64(0), int64(256)
	if d.DType == dtype.I8 {
		lo = -128
	}
	extremes := s.r.IntN(2) == 0
	for i := range s.values[d.ID].I {
		v := s.r.Int64N(n)
		if extremes {
			v = (n - 1) * (v % 2)
		}
		s.values[d.ID].I[i] = lo + v
	}
	return d
}

// bytes returns a constant of random bytes.
func (s *sketch) bytes(d dtype.DType, dims ...int) op.Desc {
	s.last++
	t := ref.Zeros(op.Desc{ID: s.last, DType: d, Shape: dims})
	s.values[s.last] = t
	s.p.Consts = append(s.p.Consts, t.Desc)
	return s.random(t.Desc)
}

// grid is a scale and a zero point, or as many of each as a channel axis is long.
type grid struct{ scale, zero op.Desc }

func (s *sketch) grid(d dtype.DType, dims ...int) grid {
	v := make([]float64, 1)
	if len(dims) > 0 {
		v = make([]float64, dims[0])
	}
	for i := range v {
		v[i] = 0.001 + 0.02*s.r.Float64()
	}
	return grid{s.constant(dims, v...), s.bytes(d, dims...)}
}

func (s *sketch) dequantize(x op.Desc, g grid, axis int) op.Desc {
	return s.With(op.Dequantize, []op.Desc{x, g.scale, g.zero}, op.Int("axis", axis))
}

func (s *sketch) quantize(x op.Desc, g grid) op.Desc { return s.Do(op.Quantize, x, g.scale, g.zero) }

// data returns floats that were dequantized from an input.
func (s *sketch) data(d dtype.DType, dims ...int) op.Desc {
	return s.dequantize(s.random(s.input(d, dims...)), s.grid(d), -1)
}

// weight returns floats that were dequantized from a constant, by one scale or along axis.
func (s *sketch) weight(d dtype.DType, axis int, dims ...int) op.Desc {
	w := s.bytes(d, dims...)
	if axis < 0 {
		return s.dequantize(w, s.grid(d), axis)
	}
	return s.dequantize(w, s.grid(d, dims[axis]), axis)
}

func (s *sketch) conv(x, w op.Desc, groups int) op.Desc {
	return s.With(op.Conv, []op.Desc{x, w}, op.Ints("strides", 2, 1), op.Ints("pad_lo", 1, 0), op.Ints("pad_hi", 2, 1),
		op.Ints("kernel_dilation", 1, 2), op.Ints("input_dilation", 1, 1), op.Int("groups", groups))
}

func TestRewriteIntegerProduct(t *testing.T) {
	flag := func(name string) op.Attr { return op.Flag(name, true) }
	found(t, []form{
		{"by column", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, s.data(dtype.U8, 2, 3, 7), s.weight(dtype.I8, 1, 7, 5))
		}},
		{"one scale", func(s *sketch) op.Desc { return s.Do(op.MatMul, s.data(dtype.I8, 3, 7), s.weight(dtype.U8, -1, 7, 5)) }},
		{"transposed", func(s *sketch) op.Desc {
			return s.With(op.MatMul, []op.Desc{s.data(dtype.U8, 7, 3), s.weight(dtype.I8, 0, 5, 7)}, flag("transpose_a"), flag("transpose_b"))
		}},
		{"permuted before", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, s.data(dtype.U8, 3, 7), s.Permute(s.weight(dtype.I8, 0, 5, 7), 1, 0))
		}},
		{"both from outside", func(s *sketch) op.Desc { return s.Do(op.MatMul, s.data(dtype.U8, 2, 3, 7), s.data(dtype.U8, 2, 7, 5)) }},
	}, op.MatMulInteger, op.Mul, op.Dequantize)
	found(t, []form{
		{"linear", func(s *sketch) op.Desc {
			return s.Do(op.Linear, s.data(dtype.U8, 3, 7), s.weight(dtype.I8, 1, 7, 5), s.x(5))
		}},
		{"linear, transposed", func(s *sketch) op.Desc {
			return s.With(op.Linear, []op.Desc{s.data(dtype.U8, 2, 3, 7), s.weight(dtype.I8, 0, 5, 7), s.x(5)}, flag("transpose_w"))
		}},
	}, op.MatMulInteger, op.Mul, op.Dequantize, op.Add)
	missed(t, []form{
		{"by row", func(s *sketch) op.Desc { return s.Do(op.MatMul, s.data(dtype.U8, 3, 7), s.weight(dtype.I8, 0, 7, 5)) }},
		{"data by column", func(s *sketch) op.Desc {
			x := s.dequantize(s.random(s.input(dtype.U8, 3, 7)), s.grid(dtype.U8, 7), 1)
			return s.Do(op.MatMul, x, s.weight(dtype.I8, -1, 7, 5))
		}},
		{"scale from outside", func(s *sketch) op.Desc {
			x := s.With(op.Dequantize, []op.Desc{s.input(dtype.U8, 3, 7), s.x(), s.bytes(dtype.U8)}, op.Int("axis", -1))
			return s.Do(op.MatMul, x, s.weight(dtype.I8, -1, 7, 5))
		}},
		{"zero point from outside", func(s *sketch) op.Desc {
			x := s.With(op.Dequantize, []op.Desc{s.input(dtype.U8, 3, 7), s.constant(nil, 0.5), s.input(dtype.U8)}, op.Int("axis", -1))
			return s.Do(op.MatMul, x, s.weight(dtype.I8, -1, 7, 5))
		}},
		{"scale that a product of two loses", func(s *sketch) op.Desc {
			g := grid{s.constant(nil, 0x1p-70), s.bytes(dtype.U8)}
			return s.Do(op.MatMul, s.dequantize(s.input(dtype.U8, 3, 7), g, -1), s.weight(dtype.I8, -1, 7, 5))
		}},
		{"words", func(s *sketch) op.Desc {
			x := s.With(op.Dequantize, []op.Desc{s.input(dtype.I16, 3, 7), s.constant(nil, 0.5), s.FullInt(dtype.I16, 0, nil)}, op.Int("axis", -1))
			return s.Do(op.MatMul, x, s.weight(dtype.I8, -1, 7, 5))
		}},
		{"sums that may not fit", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, s.data(dtype.U8, 1, 33026), s.weight(dtype.U8, -1, 33026, 1))
		}},
	}, op.MatMulInteger)
}

func TestRewriteIntegerConv(t *testing.T) {
	found(t, []form{
		{"by channel", func(s *sketch) op.Desc {
			return s.conv(s.data(dtype.U8, 2, 3, 7, 6), s.weight(dtype.I8, 0, 5, 3, 3, 2), 1)
		}},
		{"one scale", func(s *sketch) op.Desc {
			return s.conv(s.data(dtype.I8, 2, 3, 7, 6), s.weight(dtype.U8, -1, 5, 3, 3, 2), 1)
		}},
		{"groups", func(s *sketch) op.Desc {
			return s.conv(s.data(dtype.U8, 1, 4, 7, 6), s.weight(dtype.I8, 0, 8, 2, 3, 2), 2)
		}},
	}, op.ConvInteger, op.Mul, op.Dequantize)
	missed(t, []form{
		{"one output for each channel", func(s *sketch) op.Desc {
			return s.conv(s.data(dtype.U8, 2, 3, 7, 6), s.weight(dtype.I8, 0, 3, 1, 3, 2), 3)
		}},
		{"by tap", func(s *sketch) op.Desc {
			return s.conv(s.data(dtype.U8, 2, 3, 7, 6), s.weight(dtype.I8, 3, 5, 3, 3, 2), 1)
		}},
		{"floats", func(s *sketch) op.Desc { return s.conv(s.x(2, 3, 7, 6), s.weight(dtype.I8, 0, 5, 3, 3, 2), 1) }},
	}, op.ConvInteger)
}

// Dequantized floats that another node needs stay beside the integer product.
func TestRewriteQuantizedShared(t *testing.T) {
	s := newSketch(dtype.F64, 3)
	x := s.data(dtype.U8, 3, 7)
	s.give(s.Do(op.MatMul, x, s.weight(dtype.I8, 1, 7, 5)))
	s.give(s.Do(op.Exp, x))
	require.Equal(t, map[op.Code]int{op.MatMulInteger: 1, op.Mul: 1, op.Dequantize: 2, op.Exp: 1}, ops(s.rewrite(t, nil)))
	without := func(n *op.Node, _ []op.Desc) bool { return n.Op != op.MatMulInteger }
	require.Zero(t, ops(s.rewrite(t, without))[op.MatMulInteger])
}

func centre32(s *sketch, x, zero op.Desc) op.Desc {
	return s.Do(op.Sub, s.Cast(x, dtype.I32), s.Cast(zero, dtype.I32))
}

func TestRewriteBytes(t *testing.T) {
	in := func(s *sketch, d dtype.DType, dims ...int) op.Desc { return s.random(s.input(d, dims...)) }
	found(t, []form{
		{"zero points from outside", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, centre32(s, in(s, dtype.U8, 3, 7), in(s, dtype.U8)), centre32(s, in(s, dtype.I8, 7, 5), in(s, dtype.I8, 5)))
		}},
		{"one zero point", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, centre32(s, in(s, dtype.U8, 2, 3, 7), in(s, dtype.U8)), s.Cast(in(s, dtype.I8, 7, 5), dtype.I32))
		}},
		{"none", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, s.Cast(in(s, dtype.U8, 3, 7), dtype.I32), s.Cast(in(s, dtype.I8, 7, 5), dtype.I32))
		}},
	}, op.MatMulInteger)
	found(t, []form{
		{"by channel", func(s *sketch) op.Desc {
			return s.conv(centre32(s, in(s, dtype.U8, 1, 3, 7, 6), in(s, dtype.U8)), centre32(s, in(s, dtype.I8, 5, 3, 3, 2), in(s, dtype.I8, 5, 1, 1, 1)), 1)
		}},
		{"no zero point of the input", func(s *sketch) op.Desc {
			return s.conv(s.Cast(in(s, dtype.U8, 1, 3, 7, 6), dtype.I32), centre32(s, in(s, dtype.I8, 5, 3, 3, 2), in(s, dtype.I8)), 1)
		}},
	}, op.ConvInteger)
	missed(t, []form{
		{"i64", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, s.Cast(in(s, dtype.U8, 3, 7), dtype.I64), s.Cast(in(s, dtype.I8, 7, 5), dtype.I64))
		}},
		{"a zero point that grows the operand", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, centre32(s, in(s, dtype.U8, 1, 7), in(s, dtype.U8, 3, 1)), s.Cast(in(s, dtype.I8, 7, 5), dtype.I32))
		}},
		{"zero points by tap", func(s *sketch) op.Desc {
			return s.conv(s.Cast(in(s, dtype.U8, 1, 3, 7, 6), dtype.I32), centre32(s, in(s, dtype.I8, 5, 3, 3, 2), in(s, dtype.I8, 1, 1, 3, 2)), 1)
		}},
	}, op.MatMulInteger, op.ConvInteger)
}

func TestRewriteRoundedBytes(t *testing.T) {
	sums := func(s *sketch, factor op.Desc) op.Desc {
		y := s.Do(op.MatMul, s.Cast(s.random(s.input(dtype.U8, 3, 7)), dtype.I32), s.Cast(s.bytes(dtype.I8, 7, 5), dtype.I32))
		return s.Do(op.Round, s.Do(op.Mul, s.Cast(y, s.d), factor))
	}
	found(t, []form{
		{"u8", func(s *sketch) op.Desc {
			return s.Cast(s.Do(op.Add, sums(s, s.constant([]int{5}, 0.001, 0.03)), s.constant(nil, 200)), dtype.U8)
		}},
		{"i8", func(s *sketch) op.Desc {
			return s.Cast(s.Do(op.Add, sums(s, s.constant(nil, 0.01)), s.constant(nil, -3)), dtype.I8)
		}},
	}, op.MatMulInteger, op.Cast, op.Mul, op.Quantize)
	missed(t, []form{
		{"a zero point that is no byte", func(s *sketch) op.Desc {
			return s.Cast(s.Do(op.Add, sums(s, s.constant(nil, 0.01)), s.constant(nil, 300)), dtype.U8)
		}},
		{"a factor from outside", func(s *sketch) op.Desc {
			return s.Cast(s.Do(op.Add, sums(s, s.x()), s.constant(nil, 3)), dtype.U8)
		}},
	}, op.Quantize)
}

// quantizedLayers returns random layers between bytes.
func quantizedLayers(seed uint64) *sketch {
	s := newSketch(dtype.F64, seed)
	types := []dtype.DType{dtype.U8, dtype.I8}
	d := types[s.r.IntN(2)]
	g := s.grid(d)
	x := s.random(s.input(d, 1+s.r.IntN(2), 4, 6, 5))
	for range 1 + s.r.IntN(5) {
		f := s.dequantize(x, g, -1)
		if s.r.IntN(3) > 0 {
			d = types[s.r.IntN(2)]
			g = s.grid(d)
		}
		axes := []int{0, 2, 3, 1}
		switch s.r.IntN(9) {
		case 0, 1:
			axis := s.r.IntN(2) - 1
			f = s.With(op.Conv, []op.Desc{f, s.weight(types[s.r.IntN(2)], axis, 4+s.r.IntN(2), f.Shape[1], 1, 2)}, op.Ints("strides", 1, 1),
				op.Ints("pad_lo", 0, 1), op.Ints("pad_hi", 0, 0), op.Ints("kernel_dilation", 1, 1), op.Ints("input_dilation", 1, 1))
		case 2:
			f = s.Do(op.MatMul, f, s.weight(dtype.I8, 1, f.Shape[3], 5))
		case 3:
			f = s.Permute(f, axes...)
		case 4:
			f = s.Concat(1, f, f)
		case 5:
			f = s.Un(op.WindowReduce, f, op.Str("reduce", "max"), op.Ints("window", 2, 2), op.Ints("strides", 1, 1), op.Ints("pad_lo", 1, 2),
				op.Ints("pad_hi", 0, 0), op.Ints("dilation", 1, 1))
		case 6:
			f = s.Un(op.Pad, f, op.Ints("lo", 0, 0, 1, 0), op.Ints("hi", 0, 1, 0, 0), op.ScalarFloat("value", s.r.Float64()-0.5))
		case 7:
			f = s.Do(op.Relu, f)
		case 8:
			f = s.Narrow(f, 1, 0, f.Shape[1]-f.Shape[1]/3)
		}
		x = s.quantize(f, g)
		if s.r.IntN(8) == 0 {
			s.give(x)
		}
	}
	s.give(x)
	return s
}

// Rewritten layers compute equal bytes. In f64 no value is so close to the middle between two steps that it is rounded otherwise.
func TestRewriteQuantizedLayers(t *testing.T) {
	total := map[op.Code]int{}
	for seed := range uint64(400) {
		s := quantizedLayers(seed)
		p := s.program(t)
		q := p.Rewrite(s.known, nil)
		require.NoError(t, q.Check())
		want, got := s.run(t, p), s.run(t, q)
		for i := range want {
			require.Equal(t, want[i].I, got[i].I, "seed %d\n%v\n%v", seed, p, q)
		}
		for c, n := range ops(q) {
			total[c] += n
		}
	}
	require.NotZero(t, total[op.ConvInteger])
	require.NotZero(t, total[op.MatMulInteger])
}

func TestRewriteMovedBytes(t *testing.T) {
	x := func(s *sketch) (op.Desc, op.Desc, grid) {
		g, x := s.grid(dtype.U8), s.random(s.input(dtype.U8, 1, 2, 4, 4))
		return x, s.dequantize(x, g, -1), g
	}
	one := func(f func(s *sketch, x op.Desc) op.Desc) func(s *sketch) op.Desc {
		return func(s *sketch) op.Desc { _, y, g := x(s); return s.quantize(f(s, y), g) }
	}
	found(t, []form{
		{"reshaped and permuted", one(func(s *sketch, x op.Desc) op.Desc { return s.Permute(s.Reshape(x, []int{8, 4}), 1, 0) })},
		{"nothing between", one(func(s *sketch, x op.Desc) op.Desc { return x })},
	})
	found(t, []form{{"sliced", one(func(s *sketch, x op.Desc) op.Desc { return s.Narrow(x, 2, 1, 2) })}}, op.Slice)
	found(t, []form{{"padded", one(func(s *sketch, x op.Desc) op.Desc {
		return s.Un(op.Pad, x, op.Ints("lo", 0, 0, 1, 1), op.Ints("hi", 0, 0, 1, 0), op.ScalarFloat("value", 0.3))
	})}}, op.Pad)
	found(t, []form{{"joint with another scale", func(s *sketch) op.Desc {
		_, a, g := x(s)
		_, b, _ := x(s)
		return s.quantize(s.Concat(1, a, b), g)
	}}}, op.Dequantize, op.Quantize, op.Concat)
	missed(t, []form{
		{"another scale", func(s *sketch) op.Desc { _, y, _ := x(s); return s.quantize(s.Narrow(y, 2, 1, 2), s.grid(dtype.U8)) }},
		{"another type", func(s *sketch) op.Desc {
			_, y, g := x(s)
			return s.quantize(s.Narrow(y, 2, 1, 2), grid{g.scale, s.bytes(dtype.I8)})
		}},
		{"fewer bits", func(s *sketch) op.Desc {
			_, y, g := x(s)
			q := s.With(op.Quantize, []op.Desc{s.Narrow(y, 2, 1, 2), g.scale, g.zero}, op.Int("bits", 4))
			return s.Cast(s.Cast(q, dtype.I32), s.d)
		}},
	}, op.Reshape)
	s := newSketch(dtype.F32, 1)
	_, y, g := x(s)
	z := s.Narrow(y, 2, 1, 2)
	s.give(z)
	s.give(s.quantize(z, g))
	require.Equal(t, map[op.Code]int{op.Dequantize: 1, op.Slice: 1, op.Quantize: 1}, ops(s.rewrite(t, nil)), "the floats are given too")
}
