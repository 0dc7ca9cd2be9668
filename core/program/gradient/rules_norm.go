package gradient

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// normalisationRules recompute the statistics from x, in f32 for narrow floats. This takes one pass over memory, and the statistics need
// not be kept.
var normalisationRules = map[op.Code]Rule{
	op.LayerNorm: {readScale, func(g *grad) []op.Desc {
		x, dy := g.wide(g.x[0]), g.wide(g.dy[0])
		axes := from(g.Int("axis"), len(x.Shape))
		hat, r := normalised(g, x, axes)
		return g.affine(dy, hat, func(v op.Desc) op.Desc { return normGrad(g, v, hat, r, axes, true) })
	}},
	op.RMSNorm: {readScale, func(g *grad) []op.Desc {
		x, dy := g.wide(g.x[0]), g.wide(g.dy[0])
		axes := from(g.Int("axis"), len(x.Shape))
		r := g.Do(op.Rsqrt, g.plus(g.Reduce(op.Mean, g.mul(x, x), true, axes...), g.Float("epsilon")))
		hat := g.mul(x, r)
		return g.affine(dy, hat, func(v op.Desc) op.Desc { return normGrad(g, v, hat, r, axes, false) })
	}},
	op.GroupNorm: {readIn(3), func(g *grad) []op.Desc {
		x, dy := g.wide(g.x[0]), g.wide(g.dy[0])
		s, groups := x.Shape, g.Int("groups")
		grouped := shape.Of(s[0], groups, s[1:].Size()/groups)
		hat, r := normalised(g, g.Reshape(x, grouped), []int{2})
		flat := g.Reshape(hat, s)
		d := make([]op.Desc, 3)
		if g.need[0] {
			v := g.Reshape(g.mul(dy, g.Reshape(g.wide(g.x[1]), channels(s))), grouped)
			d[0] = g.narrow(g.Reshape(normGrad(g, v, hat, r, []int{2}, true), s))
		}
		if g.need[1] {
			d[1] = g.narrow(g.Reduce(op.Sum, g.mul(dy, flat), false, others(len(s))...))
		}
		if g.need[2] {
			d[2] = g.narrow(g.Reduce(op.Sum, dy, false, others(len(s))...))
		}
		return d
	}},
	op.BatchNorm: {func(need []bool) (in, out uint64) { return 1 | 2 | 8 | 16, 0 }, func(g *grad) []op.Desc {
		x, dy := g.wide(g.x[0]), g.wide(g.dy[0])
		s := x.Shape
		scale, mean, variance := g.wide(g.x[1]), g.wide(g.x[3]), g.wide(g.x[4])
		r := g.Do(op.Rsqrt, g.plus(variance, g.Float("epsilon")))
		gain := g.mul(scale, r)
		d := make([]op.Desc, 5)
		if g.need[0] {
			d[0] = g.narrow(g.mul(dy, g.Reshape(gain, channels(s))))
		}
		var total, along op.Desc // sums over each channel of dy, and of dy·(x-mean)/deviation
		if g.need[2] || g.need[3] {
			total = g.Reduce(op.Sum, dy, false, others(len(s))...)
		}
		if g.need[1] || g.need[4] {
			away := g.sub(x, g.Reshape(mean, channels(s)))
			along = g.mul(g.Reduce(op.Sum, g.mul(dy, away), false, others(len(s))...), r)
		}
		if g.need[1] {
			d[1] = g.narrow(along)
		}
		if g.need[2] {
			d[2] = g.narrow(total)
		}
		if g.need[3] {
			d[3] = g.narrow(g.Do(op.Neg, g.mul(total, gain)))
		}
		if g.need[4] {
			d[4] = g.narrow(g.times(g.mul(g.mul(along, gain), r), -0.5))
		}
		return d
	}},
}

// readScale reads x and, for the gradient of x, the scale.
func readScale(need []bool) (in, out uint64) {
	if in = 1; need[0] && len(need) > 1 {
		in |= 2
	}
	return in, 0
}

// wide returns x, cast to f32 if it is narrower. narrow casts back to the type of the first operand.
func (g *grad) wide(x op.Desc) op.Desc {
	if x.DType == dtype.F16 || x.DType == dtype.BF16 {
		return g.Cast(x, dtype.F32)
	}
	return x
}

func (g *grad) narrow(x op.Desc) op.Desc { return g.Cast(x, g.x[0].DType) }

// normalised returns (x-mean)·r and r = 1/sqrt(variance+epsilon) over axes.
func normalised(g *grad, x op.Desc, axes []int) (hat, r op.Desc) {
	away := g.sub(x, g.Reduce(op.Mean, x, true, axes...))
	r = g.Do(op.Rsqrt, g.plus(g.Reduce(op.Mean, g.mul(away, away), true, axes...), g.Float("epsilon")))
	return g.mul(away, r), r
}

// normGrad returns r·(v - mean(v) - hat·mean(v·hat)): the gradient of x, given the gradient v of hat. If centred is false, the term mean(v)
// is left out.
func normGrad(g *grad, v, hat, r op.Desc, axes []int, centred bool) op.Desc {
	d := g.sub(v, g.mul(hat, g.Reduce(op.Mean, g.mul(v, hat), true, axes...)))
	if centred {
		d = g.sub(d, g.Reduce(op.Mean, v, true, axes...))
	}
	return g.mul(d, r)
}

// affine returns the gradients of a layer or RMS norm with optional scale and bias. through returns the gradient of x, given the gradient
// of the normalised x.
func (g *grad) affine(dy, hat op.Desc, through func(v op.Desc) op.Desc) []op.Desc {
	d := make([]op.Desc, len(g.x))
	if g.need[0] {
		v := dy
		if len(g.x) > 1 {
			v = g.mul(v, g.wide(g.x[1]))
		}
		d[0] = g.narrow(through(v))
	}
	if len(d) > 1 && g.need[1] {
		d[1] = g.narrow(g.fold(g.mul(dy, hat), g.x[1].Shape))
	}
	if len(d) > 2 && g.need[2] {
		d[2] = g.narrow(g.fold(dy, g.x[2].Shape))
	}
	return d
}

func from(axis, rank int) []int { return each(rank)[axis:] }

// channels returns the shape of a vector with one element per channel that broadcasts to s.
func channels(s shape.Shape) shape.Shape {
	c := make(shape.Shape, len(s))
	for i := range c {
		c[i] = 1
	}
	c[1] = s[1]
	return c
}

// others returns all axes except the channel axis.
func others(rank int) []int {
	axes := []int{0}
	for i := 2; i < rank; i++ {
		axes = append(axes, i)
	}
	return axes
}
