package onnx

import (
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

// This file contains the converters of opsets 1 to 6 that differ from later ones. The attribute consumed_inputs is ignored.
func init() {
	for _, b := range binaryOps {
		if b.since == 7 && b.code != op.PRelu {
			register(b.name, 1, func(t *tracer, n *node) []value {
				x, y := t.onto(n)
				return []value{t.do(b.code, []value{x, y})}
			})
		}
	}
	register("Pow", 1, func(t *tracer, n *node) []value {
		x, y := t.onto(n)
		return []value{t.power(x, y)}
	})
	register("PRelu", 1, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		x, slope := n.input(0), n.input(1)
		if x.rank() > 1 && slope.shape().Size() > 1 { // one per channel
			slope = calc{t}.channels(slope, x.rank())
		}
		return []value{t.do(op.PRelu, []value{x, slope})}
	})
	register("Selu", 1, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return []value{t.do(op.Selu, []value{n.input(0)}, op.Float("alpha", n.float("alpha", 1.6732)), op.Float("gamma", n.float("gamma", 1.0507)))}
	})
	register("Clip", 1, func(t *tracer, n *node) []value { return clipAttrs(t, n, nil) })
	register("Concat", 1, func(t *tracer, n *node) []value { return concatNode(t, n, 1) })
	register("Split", 1, earlySplit)
	register("Reshape", 1, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return reshapeTo(t, n, n.ints("shape"))
	})
	register("Tile", 1, earlyTile)
	register("Cast", 1, earlyCast)
	register("Dropout", 1, earlyDropout)
}

// onto returns the operands of a binary operator with the limited broadcasting of opsets before 7. With the attribute broadcast,
// the second operand is one element, or its dimensions equal the dimensions of the first operand from axis on, by default the last ones.
// Dimensions of 1 in the second operand are broadcast too, because exporters rely on that.
func (t *tracer) onto(n *node) (x, y value) {
	t.need(n, 0, 1)
	x, y = n.input(0), n.input(1)
	if x.shape().Equal(y.shape()) {
		return x, y
	}
	if n.int("broadcast", 0) == 0 {
		t.fail("operands are %v and %v, want equal shapes, or the attribute broadcast", x.shape(), y.shape())
	}
	if y.shape().Size() == 1 {
		return x, t.reshape(y)
	}
	axis := x.rank() - y.rank()
	if n.has("axis") {
		if axis = n.int("axis", 0); axis < 0 {
			axis += x.rank()
		}
	}
	if axis < 0 || axis+y.rank() > x.rank() {
		t.fail("%v from axis %d of %v on, want one that fits", y.shape(), axis, x.shape())
	}
	dims := append(y.shape().Clone(), ones(x.rank()-axis-y.rank())...)
	if err := shape.CanExpand(dims, x.shape()); err != nil {
		t.fail("%v does not fit axis %d of %v: %v", y.shape(), axis, x.shape(), err)
	}
	return x, t.reshape(y, dims...)
}

// earlySplit reads the lengths from an attribute or from an input.
func earlySplit(t *tracer, n *node) []value {
	lengths := n.ints("split")
	if n.input(1).present() {
		lengths = t.optionalInts(n, 1)
	}
	return splitNode(t, n, lengths)
}

func earlyTile(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x := n.input(0)
	reps := ones(x.rank())
	reps[t.axis(t.hostInt(n.input(2)), x.rank())] = t.hostInt(n.input(1))
	return tileBy(t, x, reps)
}

// earlyCast reads the type from a string attribute.
func earlyCast(t *tracer, n *node) []value {
	t.need(n, 0)
	name := strings.ToUpper(n.str("to", ""))
	for p := pb.Float; p <= pb.Uint64; p++ {
		if p.String() == name {
			return []value{t.castNode(n, t.elementType(int(p)))}
		}
	}
	t.fail("to is %q, want the name of an element type", name)
	return nil
}

// earlyDropout drops elements unless is_test is set. The mask has the type of the data.
func earlyDropout(t *tracer, n *node) []value {
	t.need(n, 0)
	x, ratio := n.input(0), n.float("ratio", 0.5)
	if n.int("is_test", 0) != 0 {
		return dropped(t, n, x, x.dtype())
	}
	if !(ratio >= 0 && ratio < 1) {
		t.fail("ratio is %v, want one in [0, 1)", ratio)
	}
	y, mask := t.drop(x, t.scalar(dtype.F32, ratio), 0, false)
	return []value{y, t.cast(mask, x.dtype())}
}
