package op

import "github.com/goburn/burn/core/dtype"

var quantizedRules = map[Code]Decomposition{
	DynamicQuantize: func(b *Builder, in []Desc, _ Attrs) []Desc {
		c, d, x := sums{b}, in[0].DType, wide(b, in[0])
		all := make([]int, len(x.Shape))
		for i := range all {
			all[i] = i
		}
		lo, hi := c.minN(b.Reduce(ReduceMin, x, false, all...), 0), c.maxN(b.Reduce(ReduceMax, x, false, all...), 0)
		scale := b.Cast(c.divN(c.sub(hi, lo), 255), d)
		scale = c.where(b.Do(Equal, scale, c.n(scale, 0)), c.n(scale, 1), scale)
		zero := b.Cast(c.clampN(b.Do(Round, c.div(b.Do(Neg, lo), wide(b, scale))), 0, 255), dtype.U8)
		return []Desc{b.Do(Quantize, in[0], scale, zero), scale, zero}
	},
	FakeQuantize: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		axis, block := Int("axis", a.Int("axis")), Int("block", a.Int("block"))
		q := b.With(Quantize, x, axis, block, Int("bits", a.Int("bits")))
		return b.With(Dequantize, []Desc{q, x[1], x[2]}, axis, block)
	}),
	Requantize: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		scale := wide(b, x[1])
		v := b.Do(Round, b.Do(Mul, b.Cast(x[0], scale.DType), along(b, scale, x[0], a)))
		v = b.Do(Where, b.Do(IsNaN, v), b.Like(v, 0), v)
		return saturated(b, v, along(b, x[2], x[0], a), a.Int("bits"))
	}),
	MatMulInteger: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		u, v := b.Cast(x[0], dtype.I32), b.Cast(x[1], dtype.I32)
		if len(x) > 2 {
			u = b.Do(Sub, u, b.Cast(x[2], dtype.I32))
		}
		if len(x) > 3 {
			v = b.Do(Sub, v, b.Cast(x[3], dtype.I32))
		}
		return b.Do(MatMul, u, v)
	}),
	ConvInteger: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		u, v := b.Cast(x[0], dtype.I32), b.Cast(x[1], dtype.I32)
		if len(x) > 2 {
			u = b.Do(Sub, u, b.Cast(x[2], dtype.I32))
		}
		if len(x) > 3 {
			v = b.Do(Sub, v, channels(b, b.Cast(x[3], dtype.I32), len(x[1].Shape), 0))
		}
		return b.With(Conv, []Desc{u, v}, a...)
	}),
	QLinearMatMul: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		y := b.Do(MatMulInteger, x[0], x[3], x[2], x[5])
		return requantized(b, y, b.Do(Mul, wide(b, x[1]), wide(b, x[4])), wide(b, x[6]), x[7])
	}),
	QLinearConv: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		rank := len(x[0].Shape)
		y := b.With(ConvInteger, []Desc{x[0], x[3], x[2], x[5]}, a...)
		if len(x) > 8 {
			y = b.Do(Add, y, channels(b, x[8], rank, 1))
		}
		return requantized(b, y, b.Do(Mul, wide(b, x[1]), channels(b, wide(b, x[4]), rank, 1)), wide(b, x[6]), x[7])
	}),
}

// requantized returns sums y times product/over, rounded, plus zero, saturated to the type of zero.
func requantized(b *Builder, y, product, over, zero Desc) Desc {
	factor := b.Do(Div, product, over)
	v := b.Do(Round, b.Do(Mul, b.Cast(y, factor.DType), factor))
	v = b.Do(Where, b.Do(IsNaN, v), b.Like(v, 0), v)
	return saturated(b, v, zero, 0)
}

// channels reshapes a vector so that it varies along one axis of a tensor of the given rank. It returns a scalar unchanged.
func channels(b *Builder, v Desc, rank, axis int) Desc {
	if len(v.Shape) == 0 || b.Err() != nil {
		return v
	}
	dims := make([]int, rank-axis)
	for i := range dims {
		dims[i] = 1
	}
	dims[0] = v.Shape[0]
	return b.Reshape(v, dims)
}
