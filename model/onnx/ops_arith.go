package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// unaryOps lists the unary operators that correspond to one contract op without attributes.
var unaryOps = []struct {
	name  string
	since int
	code  op.Code
}{
	{"Abs", 1, op.Abs}, {"Acos", 7, op.Acos}, {"Acosh", 9, op.Acosh}, {"Asin", 7, op.Asin}, {"Asinh", 9, op.Asinh},
	{"Atan", 7, op.Atan}, {"Atanh", 9, op.Atanh}, {"Ceil", 1, op.Ceil}, {"Cos", 7, op.Cos}, {"Cosh", 9, op.Cosh},
	{"Erf", 9, op.Erf}, {"Exp", 1, op.Exp}, {"Floor", 1, op.Floor}, {"Log", 1, op.Log}, {"Neg", 1, op.Neg},
	{"Reciprocal", 1, op.Reciprocal}, {"Round", 11, op.Round}, {"Sign", 9, op.Sign}, {"Sin", 7, op.Sin}, {"Sinh", 9, op.Sinh},
	{"Sqrt", 1, op.Sqrt}, {"Tan", 7, op.Tan}, {"Tanh", 1, op.Tanh},
	{"Not", 1, op.Not}, {"BitwiseNot", 18, op.Not}, {"IsNaN", 9, op.IsNaN},
	{"Relu", 1, op.Relu}, {"Sigmoid", 1, op.Sigmoid}, {"HardSwish", 14, op.HardSwish}, {"Softplus", 1, op.Softplus},
	{"Softsign", 1, op.Softsign}, {"Mish", 18, op.Mish},
}

// binaryOps lists the binary operators that correspond to one contract op and broadcast like NumPy.
var binaryOps = []struct {
	name  string
	since int
	code  op.Code
}{
	{"Add", 7, op.Add}, {"Sub", 7, op.Sub}, {"Mul", 7, op.Mul}, {"Div", 7, op.Div},
	{"And", 7, op.And}, {"Or", 7, op.Or}, {"Xor", 7, op.Xor},
	{"BitwiseAnd", 18, op.And}, {"BitwiseOr", 18, op.Or}, {"BitwiseXor", 18, op.Xor},
	{"Equal", 7, op.Equal}, {"Less", 7, op.Less}, {"Greater", 7, op.Greater},
	{"LessOrEqual", 12, op.LessEqual}, {"GreaterOrEqual", 12, op.GreaterEqual},
	{"PRelu", 7, op.PRelu},
}

// variadicOps lists the operators with any number of operands that fold a binary contract op over them.
var variadicOps = []struct {
	name string
	code op.Code
	mean bool
}{
	{"Sum", op.Add, false}, {"Max", op.Max, false}, {"Min", op.Min, false}, {"Mean", op.Add, true},
}

func init() {
	for _, u := range unaryOps {
		register(u.name, u.since, func(t *tracer, n *node) []value {
			t.need(n, 0)
			return []value{t.do(u.code, []value{n.input(0)})}
		})
	}
	for _, b := range binaryOps {
		register(b.name, b.since, func(t *tracer, n *node) []value {
			t.need(n, 0, 1)
			return []value{t.do(b.code, []value{n.input(0), n.input(1)})}
		})
	}
	for _, v := range variadicOps {
		register(v.name, 1, func(t *tracer, n *node) []value { return []value{fold(t, n, v.code, v.mean)} })
	}
	register("IsInf", 10, isInf)
	register("Mod", 10, mod)
	register("Pow", 7, pow)
	register("BitShift", 11, bitShift)
}

func fold(t *tracer, n *node, c op.Code, mean bool) value {
	t.need(n, 0)
	y := n.input(0)
	for i := 1; i < len(n.in); i++ {
		t.need(n, i)
		y = t.do(c, []value{y, n.input(i)})
	}
	if mean && len(n.in) > 1 {
		y = t.do(op.Div, []value{y, t.scalar(y.dtype(), float64(len(n.in)))})
	}
	return y
}

func isInf(t *tracer, n *node) []value {
	t.need(n, 0)
	return []value{t.do(op.IsInf, []value{n.input(0)}, op.Flag("positive", n.int("detect_positive", 1) != 0),
		op.Flag("negative", n.int("detect_negative", 1) != 0))}
}

func mod(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	switch fmod := n.int("fmod", 0); {
	case fmod == 1:
		return []value{t.do(op.Rem, []value{n.input(0), n.input(1)})}
	case fmod != 0:
		t.fail("fmod is %d, want 0 or 1", fmod)
	case n.opset() < 28 && n.input(0).dtype().IsFloat():
		t.fail("fmod is 0 for %v, want 1 before opset 28", n.input(0).dtype())
	}
	return []value{t.do(op.FloorMod, []value{n.input(0), n.input(1)})}
}

func pow(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	return []value{t.power(n.input(0), n.input(1))}
}

// power returns x to the power y, in the type of x. It computes in the type that powType returns for both operands.
func (t *tracer) power(x, y value) value {
	if y.constant() && y.shape().Size() == 1 && y.rank() <= x.rank() {
		switch t.hostFloats(y)[0] { // at most two roundings, and much faster than pow
		case 2:
			return t.do(op.Square, []value{x})
		case 3:
			return t.do(op.Mul, []value{t.do(op.Square, []value{x}), x})
		}
	}
	d := powType(x.dtype(), y.dtype())
	return t.cast(t.do(op.Pow, []value{t.cast(x, d), t.cast(y, d)}), x.dtype())
}

func powType(base, exponent dtype.DType) dtype.DType {
	switch {
	case base == exponent:
		return base
	case base.IsFloat() && exponent.IsFloat():
		if exponent.Size() > base.Size() {
			return exponent
		}
		if exponent.Size() == base.Size() { // f16 and bf16
			return dtype.F32
		}
		return base
	case base.IsFloat():
		return base
	case exponent.IsFloat():
		return dtype.F64 // integers up to 2^53 are exact
	case base.Size() >= exponent.Size() && base.Class() == exponent.Class(), base.Size() > exponent.Size() && base.Class() == dtype.Signed:
		return base
	}
	return dtype.I64
}

func bitShift(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	c := op.Shl
	switch dir := n.str("direction", ""); dir {
	case "LEFT":
	case "RIGHT":
		c = op.Shr
	default:
		t.fail("direction is %q, want LEFT or RIGHT", dir)
	}
	return []value{t.do(c, []value{n.input(0), n.input(1)})}
}
