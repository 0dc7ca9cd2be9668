package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	register("Where", 9, func(t *tracer, n *node) []value {
		t.need(n, 0, 1, 2)
		return []value{t.do(op.Where, []value{n.input(0), n.input(1), n.input(2)})}
	})
	register("TopK", 1, func(t *tracer, n *node) []value { return topK(t, n, n.int("k", -1)) })
	register("TopK", 10, func(t *tracer, n *node) []value {
		t.need(n, 1)
		return topK(t, n, t.hostInt(n.input(1)))
	})
	register("Compress", 9, compress)
	register("NonZero", 9, nonZero)
}

// topK returns sorted results, even if the node does not ask for them.
func topK(t *tracer, n *node, k int) []value {
	t.need(n, 0)
	x := n.input(0)
	axis := t.axis(n.int("axis", -1), x.rank())
	return t.all(op.TopK, []value{x}, op.Int("k", k), op.Int("axis", axis), op.Flag("largest", n.int("largest", 1) != 0))
}

// compress reads from the device only the number of slices that the condition selects.
func compress(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, condition := n.input(0), n.input(1)
	axis := 0
	if n.has("axis") {
		axis = t.axis(n.int("axis", 0), x.rank())
	} else {
		x = t.reshape(x, x.shape().Size())
	}
	if condition.rank() != 1 || condition.dtype() != dtype.Bool {
		t.fail("condition is %v%v, want a vector of bools", condition.dtype(), condition.shape())
	}
	size := x.shape()[axis]
	if c := condition.shape()[0]; c > size { // entries beyond the dimension select nothing
		condition = t.narrow(condition, 0, 0, size)
	} else if c < size { // missing entries select nothing
		condition = t.do(op.Pad, []value{condition}, op.Ints("lo", 0), op.Ints("hi", size-c))
	}
	r := t.all(op.Compress, []value{x, condition}, op.Int("axis", axis))
	return []value{t.narrow(r[0], axis, 0, t.hostInt(r[1]))}
}

// nonZero returns a row for each axis, none for a scalar.
func nonZero(t *tracer, n *node) []value {
	t.need(n, 0)
	r := t.all(op.NonZero, []value{n.input(0)})
	return []value{t.do(op.Permute, []value{t.narrow(r[0], 0, 0, t.hostInt(r[1]))}, op.Ints("axes", 1, 0))}
}
