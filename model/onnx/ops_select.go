package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
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

// topK gives its results sorted, whether the node asks for it or not.
func topK(t *tracer, n *node, k int) []value {
	t.need(n, 0)
	x := n.input(0)
	axis := t.axis(n.int("axis", -1), x.rank())
	return t.all(op.TopK, []value{x}, op.Int("k", k), op.Int("axis", axis), op.Flag("largest", n.int("largest", 1) != 0))
}

// compress turns the condition into indices on the host, and gathers.
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
	if c := condition.shape()[0]; c > x.shape()[axis] { // the entries beyond select nothing
		condition = t.narrow(condition, 0, 0, x.shape()[axis])
	}
	index := t.hostOp([]value{condition}, func(in []hostTensor) ([]hostTensor, error) {
		var data []byte
		for i, b := range in[0].Data {
			if b != 0 {
				data = appendInt(data, dtype.I64, int64(i))
			}
		}
		return []hostTensor{{DType: dtype.I64, Shape: shape.Of(len(data) / 8), Data: data}}, nil
	})
	return []value{t.do(op.Gather, []value{x, index[0]}, op.Int("axis", axis))}
}

func nonZero(t *tracer, n *node) []value {
	t.need(n, 0)
	return t.hostOp([]value{n.input(0)}, func(in []hostTensor) ([]hostTensor, error) {
		return []hostTensor{nonZeroOf(in[0])}, nil
	})
}

// nonZeroOf lists the positions of the elements that are not zero: a row for each axis, none for a scalar.
func nonZeroOf(x hostTensor) hostTensor {
	var flat []int
	size := x.DType.Size()
	for i := range x.Shape.Size() {
		if isNonZero(x.DType, x.Data[i*size:(i+1)*size]) {
			flat = append(flat, i)
		}
	}
	data := make([]byte, 0, 8*len(flat)*len(x.Shape))
	for a, stride := range x.Shape.Strides() {
		for _, i := range flat {
			data = appendInt(data, dtype.I64, int64(i/stride%x.Shape[a]))
		}
	}
	return hostTensor{DType: dtype.I64, Shape: shape.Of(len(x.Shape), len(flat)), Data: data}
}

// isNonZero looks at the bits of one element; the sign of a float does not count.
func isNonZero(d dtype.DType, e []byte) bool {
	last := e[len(e)-1]
	if d.IsFloat() {
		last &= 0x7f
	}
	if last != 0 {
		return true
	}
	for _, b := range e[:len(e)-1] {
		if b != 0 {
			return true
		}
	}
	return false
}
