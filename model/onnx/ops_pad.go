package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Pad", 1, func(t *tracer, n *node) []value {
		t.need(n, 0)
		pads := n.ints("pads")
		if !n.has("pads") {
			pads = n.ints("paddings") // opset 1
		}
		return padNode(t, n, pads, nil, op.ScalarFloat("value", n.float("value", 0)), value{})
	})
	register("Pad", 11, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		fill, live := op.ScalarInt("value", 0), value{}
		if v := n.input(2); v.present() && n.str("mode", "constant") == "constant" {
			switch {
			case !v.isTensor() || v.shape().Size() != 1:
				t.fail("constant_value is %v, want a scalar", v.shape())
			case v.constant():
				fill = t.scalarAttr("value", v)
			default:
				live = v
			}
		}
		return padNode(t, n, t.hostDims(n.input(1)), t.optionalInts(n, 3), fill, live)
	})
}

// padNode pads in the mode of the node. In the mode constant, the padding is the scalar live if it is present, and otherwise fill.
func padNode(t *tracer, n *node, pads, axes []int, fill op.Attr, live value) []value {
	x := n.input(0)
	if axes == nil {
		axes = span(0, x.rank())
	}
	if axes = t.axes(axes, x.rank()); len(pads) != 2*len(axes) {
		t.fail("pads has %d entries for %d axes", len(pads), len(axes))
	}
	lo, hi := make([]int, x.rank()), make([]int, x.rank())
	for i, a := range axes {
		lo[a], hi[a] = pads[i], pads[len(axes)+i]
		if least, most := min(lo[a], hi[a]), max(lo[a], hi[a]); least < -1<<31 || most > 1<<31-1 {
			t.fail("pads of axis %d are %d and %d", a, lo[a], hi[a])
		}
		if x.shape()[a]+lo[a]+hi[a] < 0 {
			t.fail("axis %d: %d%+d%+d is negative", a, x.shape()[a], lo[a], hi[a])
		}
	}
	mode := n.str("mode", "constant")
	if mode == "constant" {
		y := t.pad(x, lo, hi, fill)
		if live.present() {
			inside := t.pad(t.do(op.Full, nil, op.ScalarInt("value", 1), op.Type("dtype", dtype.Bool), op.Dims("shape", x.shape())),
				lo, hi, op.ScalarInt("value", 0))
			y = t.do(op.Where, []value{inside, y, t.reshape(live)})
		}
		return []value{y}
	}
	source, ok := map[string]func(i, d int) int{"reflect": reflected, "edge": nearest, "wrap": wrapped}[mode]
	if !ok {
		t.fail("mode is %q, want constant, reflect, edge or wrap", mode)
	}
	for a := range lo {
		x = padAxis(t, x, a, lo[a], hi[a], source)
	}
	return []value{x}
}

// padAxis removes elements at the ends for which lo or hi is negative, and then treats these numbers as 0. Of the d remaining elements, it
// selects element source(i, d) for each i in [-lo, d+hi).
func padAxis(t *tracer, x value, axis, lo, hi int, source func(i, d int) int) value {
	d := x.shape()[axis] + min(lo, 0) + min(hi, 0)
	if d < 0 {
		t.fail("axis %d: %d%+d%+d removes more than there is", axis, x.shape()[axis], min(lo, 0), min(hi, 0))
	}
	x = t.narrow(x, axis, max(-lo, 0), d)
	if lo, hi = max(lo, 0), max(hi, 0); lo+hi == 0 {
		return x
	}
	if d == 0 {
		t.fail("axis %d is empty, nothing to pad it with", axis)
	}
	t.reserve(dtype.I64, d+lo+hi)
	index := make([]int, d+lo+hi)
	for i := range index {
		index[i] = source(i-lo, d)
	}
	return t.do(op.Gather, []value{x, t.constInts(dtype.I64, shape.Of(len(index)), index)}, op.Int("axis", axis))
}

// reflected mirrors i at the first and last of d elements, as often as needed.
func reflected(i, d int) int {
	if d == 1 {
		return 0
	}
	i = wrapped(i, 2*(d-1))
	return min(i, 2*(d-1)-i)
}

func nearest(i, d int) int { return min(max(i, 0), d-1) }

func wrapped(i, d int) int { return ((i % d) + d) % d }
