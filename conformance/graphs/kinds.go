package graphs

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// kinds lists functions that add nodes to a graph on x. If one does not apply, it records an error in the builder, or returns the zero
// Desc.
var kinds = []func(d *drawer, x op.Desc) op.Desc{
	func(d *drawer, x op.Desc) op.Desc { // a function of one operand that is well conditioned everywhere
		if !x.DType.IsFloat() {
			return d.b.Do([]op.Code{op.Neg, op.Abs, op.Square, op.Sign, op.Relu}[d.r.IntN(5)], x)
		}
		return d.b.Do([]op.Code{op.Neg, op.Abs, op.Tanh, op.Sigmoid, op.Relu, op.Sin, op.Cos, op.Erf, op.Silu, op.Gelu, op.Softplus,
			op.HardSwish, op.Softsign, op.Atan, op.Mish, op.Elu, op.LeakyRelu}[d.r.IntN(17)], x)
	},
	func(d *drawer, x op.Desc) op.Desc { return d.binary(x) },
	func(d *drawer, x op.Desc) op.Desc { return d.binary(x) },
	func(d *drawer, x op.Desc) op.Desc {
		return d.b.Un(op.Clamp, x, op.ScalarFloat("min", -1.5), op.ScalarFloat("max", 1))
	},
	func(d *drawer, x op.Desc) op.Desc { // where, by a comparison
		y := d.like(x)
		cond := d.b.Do([]op.Code{op.Less, op.LessEqual, op.Greater, op.NotEqual}[d.r.IntN(4)], x, y)
		return d.b.Do(op.Where, cond, x, y)
	},
	func(d *drawer, x op.Desc) op.Desc {
		return d.b.Permute(x, d.r.Perm(len(x.Shape))...)
	},
	func(d *drawer, x op.Desc) op.Desc { return d.b.Reshape(x, d.regrouped(x.Shape)) },
	func(d *drawer, x op.Desc) op.Desc { return d.strided(x) },
	func(d *drawer, x op.Desc) op.Desc {
		if len(x.Shape) == 0 {
			return op.Desc{}
		}
		return d.b.Un(op.Flip, x, op.Ints("axes", d.r.IntN(len(x.Shape))))
	},
	func(d *drawer, x op.Desc) op.Desc {
		return d.b.Expand(x, slices.Concat(shape.Of(1+d.r.IntN(3)), x.Shape))
	},
	func(d *drawer, x op.Desc) op.Desc { // pad, also by negative amounts
		lo, hi := make([]int, len(x.Shape)), make([]int, len(x.Shape))
		for i := range lo {
			lo[i], hi[i] = d.r.IntN(4)-1, d.r.IntN(4)-1
		}
		return d.b.Un(op.Pad, x, op.Ints("lo", lo...), op.Ints("hi", hi...), op.ScalarInt("value", 1))
	},
	func(d *drawer, x op.Desc) op.Desc {
		if len(x.Shape) == 0 {
			return op.Desc{}
		}
		return d.b.Concat(d.r.IntN(len(x.Shape)), x, d.b.Do(op.Neg, x), x)
	},
	func(d *drawer, x op.Desc) op.Desc { // reductions over some axes
		axes := d.axes(x)
		c := []op.Code{op.Sum, op.ReduceMax, op.ReduceMin, op.Mean, op.Variance, op.LogSumExp}[d.r.IntN(6)]
		return d.bounded(d.b.Reduce(c, x, d.r.IntN(2) == 0, axes...))
	},
	func(d *drawer, x op.Desc) op.Desc { // along one axis
		if len(x.Shape) == 0 {
			return op.Desc{}
		}
		axis := op.Int("axis", d.r.IntN(len(x.Shape)))
		c := []op.Code{op.Softmax, op.LogSoftmax, op.CumSum, op.CumMax, op.Sort, op.LayerNorm, op.RMSNorm}[d.r.IntN(7)]
		return d.bounded(d.b.Un(c, x, axis))
	},
	func(d *drawer, x op.Desc) op.Desc { return d.product(x) },
	func(d *drawer, x op.Desc) op.Desc { return d.product(x) },
	func(d *drawer, x op.Desc) op.Desc { return d.convolution(x) },
	func(d *drawer, x op.Desc) op.Desc {
		to := []dtype.DType{dtype.F32, dtype.F64, dtype.I32, dtype.I64}[d.r.IntN(4)]
		if x.DType.IsFloat() && !to.IsFloat() {
			x = d.b.Do(op.Round, x)
		}
		return d.b.Cast(x, to)
	},
	func(d *drawer, x op.Desc) op.Desc { // normalisation with parameters
		if len(x.Shape) < 2 || !x.DType.IsFloat() {
			return op.Desc{}
		}
		c := x.Shape[1:2]
		p := func() op.Desc { return d.source(x.DType, c) }
		variance := d.b.Do(op.Add, d.b.Do(op.Square, p()), d.b.Like(x, 0.5))
		return d.bounded(d.b.With(op.BatchNorm, []op.Desc{x, p(), p(), p(), variance}))
	},
}

// like returns a value that broadcasts with x and has its type.
func (d *drawer) like(x op.Desc) op.Desc {
	for range 4 {
		y := d.pool[d.r.IntN(len(d.pool))]
		if _, err := shape.Broadcast(x.Shape, y.Shape); err == nil && y.DType == x.DType {
			return y
		}
	}
	if len(x.Shape) > 0 && d.r.IntN(2) == 0 {
		return d.source(x.DType, d.related(x.Shape))
	}
	return d.b.Like(x, float64(d.r.IntN(5)-2))
}

func (d *drawer) binary(x op.Desc) op.Desc {
	y := d.like(x)
	if d.r.IntN(2) == 0 {
		x, y = y, x
	}
	return d.bounded(d.b.Do([]op.Code{op.Add, op.Add, op.Sub, op.Mul, op.Mul, op.Max, op.Min}[d.r.IntN(7)], x, y))
}

func (d *drawer) axes(x op.Desc) []int {
	var axes []int
	for i := range x.Shape {
		if d.r.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	return axes
}

// regrouped returns another shape of the same size.
func (d *drawer) regrouped(s shape.Shape) shape.Shape {
	t := s.Clone()
	switch {
	case len(t) >= 2 && d.r.IntN(2) == 0:
		i := d.r.IntN(len(t) - 1)
		return slices.Concat(t[:i], shape.Of(t[i]*t[i+1]), t[i+2:])
	case len(t) < shape.MaxRank-1:
		return slices.Insert(t, d.r.IntN(len(t)+1), 1)
	}
	return shape.Of(t.Size())
}

func (d *drawer) strided(x op.Desc) op.Desc {
	start, size, step := make([]int, len(x.Shape)), make(shape.Shape, len(x.Shape)), make([]int, len(x.Shape))
	for i, n := range x.Shape {
		step[i] = 1 + d.r.IntN(2)
		size[i] = (n + step[i] - 1) / step[i]
		if n > 2 && d.r.IntN(3) == 0 {
			size[i]--
		}
		if d.r.IntN(3) == 0 && size[i] > 0 {
			start[i], step[i] = (size[i]-1)*step[i], -step[i]
		}
	}
	return d.b.Un(op.Slice, x, op.Ints("start", start...), op.Dims("size", size), op.Ints("step", step...))
}

// product returns a matmul or linear with a new weight, usually followed by nodes that backends fuse with it.
func (d *drawer) product(x op.Desc) op.Desc {
	if len(x.Shape) < 2 || x.Shape.Size() == 0 {
		return op.Desc{}
	}
	k, n := x.Shape[len(x.Shape)-1], 1+d.r.IntN(20)
	var y op.Desc
	switch d.r.IntN(4) {
	case 0:
		y = d.b.With(op.Linear, []op.Desc{x, d.source(x.DType, shape.Of(n, k)), d.source(x.DType, shape.Of(n))}, op.Flag("transpose_w", true))
	case 1:
		y = d.b.With(op.MatMul, []op.Desc{x, d.source(x.DType, shape.Of(n, k))}, op.Flag("transpose_b", true))
	case 2:
		y = d.b.Do(op.MatMul, x, d.source(x.DType, shape.Of(k, n)))
	default: // adds another product of the same shape, so that either could be the bias of the other
		y = d.b.Do(op.Add, d.b.Do(op.MatMul, x, d.source(x.DType, shape.Of(k, n))), d.b.Do(op.MatMul, x, d.source(x.DType, shape.Of(k, n))))
	}
	if d.r.IntN(2) == 0 && d.b.Err() == nil {
		y = d.b.Do(op.Add, y, d.source(x.DType, shape.Of(n)))
	}
	if d.r.IntN(2) == 0 {
		y = d.b.Do(op.Relu, y)
	}
	return d.bounded(y)
}

func (d *drawer) convolution(x op.Desc) op.Desc {
	if len(x.Shape) < 3 || len(x.Shape) > 5 || !x.DType.IsFloat() {
		return op.Desc{}
	}
	spatial := len(x.Shape) - 2
	groups, per := 1, x.Shape[1]
	outs := 1 + d.r.IntN(6)
	if d.r.IntN(3) == 0 { // depthwise
		groups, per, outs = x.Shape[1], 1, x.Shape[1]
	}
	w := shape.Of(outs, per)
	var one, pad, stride []int
	for range spatial {
		w = append(w, 1+d.r.IntN(3))
		one, pad, stride = append(one, 1), append(pad, 1), append(stride, 1+d.r.IntN(2))
	}
	y := d.b.With(op.Conv, []op.Desc{x, d.source(x.DType, w)}, op.Ints("strides", stride...), op.Ints("pad_lo", pad...),
		op.Ints("pad_hi", pad...), op.Ints("kernel_dilation", one...), op.Ints("input_dilation", one...), op.Int("groups", groups))
	if d.b.Err() != nil {
		return op.Desc{}
	}
	channels := append(shape.Of(1, outs), one...)
	if d.r.IntN(2) == 0 {
		y = d.b.Do(op.Add, y, d.source(x.DType, channels))
	}
	if d.r.IntN(3) == 0 { // a residual
		y = d.b.Do(op.Add, y, d.source(x.DType, y.Shape))
	}
	if d.r.IntN(2) == 0 {
		y = d.b.Do([]op.Code{op.Relu, op.HardSwish, op.Sigmoid, op.Silu}[d.r.IntN(4)], y)
	}
	return d.bounded(y)
}
