package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// parameter is a float attribute that a contract op and an ONNX operator share: both names, and the ONNX default.
type parameter struct {
	onnx, contract string
	def            float64
}

// parameterOps lists the activations that correspond to one contract op with float attributes.
var parameterOps = []struct {
	name   string
	since  int
	code   op.Code
	params []parameter
}{
	{"LeakyRelu", 1, op.LeakyRelu, []parameter{{"alpha", "alpha", 0.01}}},
	{"Elu", 1, op.Elu, []parameter{{"alpha", "alpha", 1}}},
	{"Selu", 6, op.Selu, []parameter{{"alpha", "alpha", 1.67326319217681884765625}, {"gamma", "gamma", 1.05070102214813232421875}}},
	{"Celu", 12, op.Celu, []parameter{{"alpha", "alpha", 1}}},
	{"HardSigmoid", 1, op.HardSigmoid, []parameter{{"alpha", "alpha", 0.2}, {"beta", "beta", 0.5}}},
	{"ThresholdedRelu", 10, op.ThresholdedRelu, []parameter{{"alpha", "alpha", 1}}},
	{"Swish", 24, op.Silu, []parameter{{"alpha", "alpha", 1}}},
}

func init() {
	for _, p := range parameterOps {
		register(p.name, p.since, func(t *tracer, n *node) []value {
			t.need(n, 0)
			attrs := make([]op.Attr, len(p.params))
			for i, a := range p.params {
				attrs[i] = op.Float(a.contract, n.float(a.onnx, a.def))
			}
			return []value{t.do(p.code, []value{n.input(0)}, attrs...)}
		})
	}
	register("Gelu", 20, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return []value{t.do(op.Gelu, []value{n.input(0)}, op.Str("approximate", n.str("approximate", "none")))}
	})
	register("SwiGLU", 28, swiglu)
	register("Shrink", 9, shrink)
	register("Clip", 6, func(t *tracer, n *node) []value {
		return clipAttrs(t, n, map[string]float64{"min": -math.MaxFloat32, "max": math.MaxFloat32})
	})
	register("Clip", 11, clipInputs)
	register("Softmax", 1, flattened(1, softmaxOf(op.Softmax)))
	register("Softmax", 13, alongAxis(-1, softmaxOf(op.Softmax)))
	register("LogSoftmax", 1, flattened(1, softmaxOf(op.LogSoftmax)))
	register("LogSoftmax", 13, alongAxis(-1, softmaxOf(op.LogSoftmax)))
	register("Hardmax", 1, flattened(1, hardmax))
	register("Hardmax", 13, alongAxis(-1, hardmax))
}

func swiglu(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	a, b := n.input(0), n.input(1)
	if !a.shape().Equal(b.shape()) {
		t.fail("gate is %v and value is %v, want the same shape", a.shape(), b.shape())
	}
	return []value{t.do(op.Mul, []value{t.do(op.Silu, []value{a}, op.Float("alpha", n.float("alpha", 1))), b})}
}

// shrink computes integers in a float type that holds them exactly, and truncates the result.
func shrink(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	d := x.dtype()
	if d.IsInt() {
		w := dtype.F32
		if d.Size() >= 4 {
			w = dtype.F64
		}
		x = t.cast(x, w)
	}
	lambd, bias := t.scalar(x.dtype(), n.float("lambd", 0.5)), t.scalar(x.dtype(), n.float("bias", 0))
	low := t.do(op.Less, []value{x, t.do(op.Neg, []value{lambd})})
	high := t.do(op.Less, []value{lambd, x})
	y := t.do(op.Where, []value{high, t.do(op.Sub, []value{x, bias}), t.scalar(x.dtype(), 0)})
	y = t.do(op.Where, []value{low, t.do(op.Add, []value{x, bias}), y})
	return []value{t.cast(y, d)}
}

// clipAttrs clips to bounds in attributes; def contains the default bounds.
func clipAttrs(t *tracer, n *node, def map[string]float64) []value {
	t.need(n, 0)
	var attrs []op.Attr
	for _, bound := range []string{"min", "max"} {
		if fallback, ok := def[bound]; ok || n.has(bound) {
			attrs = append(attrs, op.ScalarFloat(bound, n.float(bound, fallback)))
		}
	}
	return []value{t.do(op.Clamp, []value{n.input(0)}, attrs...)}
}

func clipInputs(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	var attrs []op.Attr
	constant := true
	for i, name := range []string{"min", "max"} {
		v := n.input(1 + i)
		if !v.present() {
			continue
		}
		if !v.isTensor() || v.shape().Size() != 1 {
			t.fail("%s is %v, want a scalar", name, v.shape())
		}
		if !v.constant() {
			constant = false
			continue
		}
		attrs = append(attrs, t.scalarAttr(name, v))
	}
	if constant {
		if len(attrs) == 0 {
			return []value{x}
		}
		return []value{t.do(op.Clamp, []value{x}, attrs...)}
	}
	for i, c := range []op.Code{op.Max, op.Min} {
		if v := n.input(1 + i); v.present() {
			x = t.do(c, []value{x, t.reshape(v)})
		}
	}
	return []value{x}
}

// scalarAttr returns the only element of v as an attribute; integers keep all their bits.
func (t *tracer) scalarAttr(name string, v value) op.Attr {
	if dtype.AnyFloats.Has(v.dtype()) {
		return op.ScalarFloat(name, t.hostFloats(v)[0])
	}
	return op.ScalarInt(name, int64(t.hostInts(v)[0]))
}

// along computes a function along one axis of x. The result has the shape of x.
type along func(t *tracer, x value, axis int) value

func softmaxOf(c op.Code) along {
	return func(t *tracer, x value, axis int) value { return t.do(c, []value{x}, op.Int("axis", axis)) }
}

// hardmax returns 1 at the first greatest element, else 0.
func hardmax(t *tracer, x value, axis int) value {
	if x.shape().Size() == 0 {
		return x
	}
	at := t.do(op.ArgMax, []value{x}, op.Int("axis", axis))
	return t.do(op.OneHot, []value{at}, op.Int("depth", x.shape()[axis]), op.Int("axis", axis), op.Type("dtype", x.dtype()))
}

// alongAxis returns the converter for opset 13 and later.
func alongAxis(def int, f along) converter {
	return func(t *tracer, n *node) []value {
		t.need(n, 0)
		x := n.input(0)
		if x.rank() == 0 { // treated as one element along one axis
			return []value{t.reshape(f(t, t.reshape(x, 1), t.axis(n.int("axis", def), 1)))}
		}
		return []value{f(t, x, t.axis(n.int("axis", def), x.rank()))}
	}
}

// flattened returns the converter for opsets before 13: x is flattened to a matrix whose columns are the dimensions from axis on.
func flattened(def int, f along) converter {
	return func(t *tracer, n *node) []value {
		t.need(n, 0)
		x := n.input(0)
		axis := n.int("axis", def)
		if axis < 0 {
			axis += x.rank()
		}
		if axis < 0 || axis > x.rank() {
			t.fail("axis is %d, want one in [%d,%d]", n.int("axis", def), -x.rank(), x.rank())
		}
		if axis == x.rank()-1 {
			return []value{f(t, x, axis)}
		}
		rows, cols := matrixOf(x.shape(), axis)
		return []value{t.reshape(f(t, t.reshape(x, rows, cols), 1), x.shape()...)}
	}
}

// matrixOf returns the product of the dimensions before axis, and the product of the dimensions from axis on.
func matrixOf(s shape.Shape, axis int) (rows, cols int) { return s[:axis].Size(), s[axis:].Size() }
