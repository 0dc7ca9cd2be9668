package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("BatchNormalization", 1, batchNormNode)
	register("InstanceNormalization", 1, func(t *tracer, n *node) []value {
		t.need(n, 0, 1, 2)
		x := n.input(0)
		if x.rank() < 2 {
			t.fail("x is %v, want rank 2 or more", x.shape())
		}
		return []value{t.do(op.GroupNorm, []value{x, n.input(1), n.input(2)}, op.Int("groups", x.shape()[1]),
			op.Float("epsilon", n.float("epsilon", 1e-5)))}
	})
	register("GroupNormalization", 18, groupNormNode)
	register("LayerNormalization", 17, layerNormNode)
	register("RMSNormalization", 23, rmsNormNode)
	register("LRN", 1, lrnNode)
	register("LpNormalization", 1, lpNormNode)
	register("MeanVarianceNormalization", 9, meanVarianceNode)
}

// batchNormNode normalises by channel with the given statistics. In training it uses the statistics of x, and returns the running
// statistics updated by them. Statistics may have a wider type than x.
func batchNormNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2, 3, 4)
	x, c := n.input(0), calc{t}
	given := x.dtype()
	if n.input(3).dtype() != given || n.input(1).dtype() != given {
		x = c.wide(x)
	}
	if x.rank() == 0 {
		t.fail("x is a scalar")
	}
	scale, bias := t.cast(n.input(1), x.dtype()), t.cast(n.input(2), x.dtype())
	mean, variance := t.cast(n.input(3), x.dtype()), t.cast(n.input(4), x.dtype())
	s := x.shape()
	if x.rank() == 1 {
		x = t.reshape(x, s[0], 1)
	}
	epsilon := op.Float("epsilon", n.float("epsilon", 1e-5))
	if n.opset() < 9 && n.int("spatial", 1) == 0 {
		y := c.div(c.sub(x, mean), c.sqrt(c.addN(variance, n.float("epsilon", 1e-5))))
		return []value{c.add(c.mul(y, scale), bias)}
	}
	if !t.trains(n) {
		if y, ok := t.foldNorm(x, scale, bias, mean, variance, n.float("epsilon", 1e-5)); ok {
			return []value{t.cast(t.reshape(y, s...), given)}
		}
		y := t.do(op.BatchNorm, []value{x, scale, bias, mean, variance}, epsilon)
		return []value{t.cast(t.reshape(y, s...), given)}
	}
	axes := slices.Delete(span(0, x.rank()), 1, 2)
	now, spread := t.reduce(op.Mean, x, false, axes...), t.reduce(op.Variance, x, false, axes...)
	y := t.do(op.BatchNorm, []value{x, scale, bias, now, spread}, epsilon)
	momentum := n.float("momentum", 0.9)
	moved := func(old, now value, as dtype.DType) value {
		return t.cast(c.add(c.mulN(old, momentum), c.mulN(now, 1-momentum)), as)
	}
	return []value{t.cast(t.reshape(y, s...), given), moved(mean, now, n.input(3).dtype()), moved(variance, spread, n.input(4).dtype()),
		now, spread}
}

// trains reports whether a BatchNormalization uses the statistics of its input. Before opset 14 the number of outputs decides.
func (t *tracer) trains(n *node) bool {
	if n.opset() >= 14 {
		return n.int("training_mode", 0) != 0
	}
	return n.outputs() > 1 && (n.opset() >= 7 || n.int("is_test", 0) == 0)
}

func groupNormNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x, groups := n.input(0), n.int("num_groups", 0)
	if x.rank() < 2 || groups < 1 || x.shape()[1]%groups != 0 {
		t.fail("num_groups is %d for x %v", groups, x.shape())
	}
	channels := x.shape()[1]
	weight := func(v value) value {
		if n.opset() < 21 { // one per group
			v = t.reshape(t.expand(t.reshape(v, groups, 1), shape.Of(groups, channels/groups)), channels)
		}
		return v
	}
	return []value{t.do(op.GroupNorm, []value{x, weight(n.input(1)), weight(n.input(2))}, op.Int("groups", groups),
		op.Float("epsilon", n.float("epsilon", 1e-5)))}
}

// fitsTail reports whether a scale can be an operand of the contract's norms over x[axis:].
func fitsTail(v value, x shape.Shape, axis int) bool {
	return !v.present() || shape.CanExpand(v.shape(), x[axis:]) == nil
}

func layerNormNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, scale, bias := n.input(0), n.input(1), n.input(2)
	axis, c := t.axis(n.int("axis", -1), x.rank()), calc{t}
	epsilon := n.float("epsilon", 1e-5)
	attrs := []op.Attr{op.Int("axis", axis), op.Float("epsilon", epsilon)}
	var y value
	if fitsTail(scale, x.shape(), axis) && fitsTail(bias, x.shape(), axis) {
		y = t.do(op.LayerNorm, []value{x, scale, bias}, attrs...)
	} else {
		y = c.mul(t.do(op.LayerNorm, []value{x}, attrs...), scale)
		if bias.present() {
			y = c.add(y, bias)
		}
	}
	outs := []value{y, {}, {}}
	if n.wants(1) || n.wants(2) {
		stash := t.cast(x, t.elementType(n.int("stash_type", 1)))
		axes := span(axis, x.rank())
		outs[1] = t.reduce(op.Mean, stash, true, axes...)
		outs[2] = c.un(op.Rsqrt, c.addN(t.reduce(op.Variance, stash, true, axes...), epsilon))
	}
	return outs[:max(1, n.outputs())]
}

func rmsNormNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, scale := n.input(0), n.input(1)
	axis := t.axis(n.int("axis", -1), x.rank())
	attrs := []op.Attr{op.Int("axis", axis), op.Float("epsilon", n.float("epsilon", 1e-5))}
	c := calc{t}
	if scale.dtype() == x.dtype() && fitsTail(scale, x.shape(), axis) {
		return []value{t.do(op.RMSNorm, []value{x, scale}, attrs...)}
	}
	// The result has the type of the scale.
	return []value{c.mul(t.cast(t.do(op.RMSNorm, []value{x}, attrs...), scale.dtype()), scale)}
}

// lrnNode divides by a power of the sum of squares over neighbouring channels.
func lrnNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x, c, size := n.input(0), calc{t}, n.int("size", 0)
	if size < 1 || x.rank() < 2 {
		t.fail("size is %d for x %v, want size 1 or more and rank 2 or more", size, x.shape())
	}
	rank := x.rank() - 1
	w := window{kernel: ones(rank), strides: ones(rank), dilation: ones(rank), lo: make([]int, rank), hi: make([]int, rank)}
	w.lo[0], w.hi[0] = min((size-1)/2, x.shape()[1]), min(size/2, x.shape()[1])
	w.kernel[0] = w.lo[0] + w.hi[0] + 1
	v := c.wide(x)
	sum := c.windowReduce(c.mul(v, v), "sum", w, w.hi, false)[0]
	base := c.addN(c.mulN(sum, n.float("alpha", 1e-4)/float64(size)), n.float("bias", 1))
	return []value{t.cast(c.div(v, c.pow(base, n.float("beta", 0.75))), x.dtype())}
}

// lpNormNode divides by the norm along an axis; the result is 0 where the norm is 0.
func lpNormNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x, c := n.input(0), calc{t}
	axis := t.axis(n.int("axis", -1), x.rank())
	norm := t.powerNorm(x, float64(n.int("p", 2)), func(x value) value { return c.sum(x, true, axis) })
	zero := c.like(x, 0)
	return []value{c.where(c.equal(norm, zero), zero, c.div(x, norm))}
}

func meanVarianceNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x, c := n.input(0), calc{t}
	axes := n.ints("axes")
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	axes = t.axes(axes, x.rank())
	centred := c.sub(x, t.reduce(op.Mean, x, true, axes...))
	deviation := c.sqrt(t.reduce(op.Variance, x, true, axes...))
	return []value{c.div(centred, c.addN(deviation, 1e-9))}
}
