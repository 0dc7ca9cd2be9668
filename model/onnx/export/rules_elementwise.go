package export

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx/pb"
)

func elementwiseRules() map[op.Code]rule {
	m := map[op.Code]rule{
		op.LeakyRelu: as("LeakyRelu", floatOf("alpha", "alpha")), op.Elu: as("Elu", floatOf("alpha", "alpha")),
		op.Celu: as("Celu", floatOf("alpha", "alpha")).when(f32), op.Selu: as("Selu", floatOf("alpha", "alpha"), floatOf("gamma", "gamma")),
		op.HardSigmoid:     as("HardSigmoid", floatOf("alpha", "alpha"), floatOf("beta", "beta")),
		op.ThresholdedRelu: as("ThresholdedRelu", floatOf("alpha", "alpha")).when(f32),
		op.Gelu:            as("Gelu", func(n *node) *pb.Attribute { return attrString("approximate", n.attrs.Str("approximate")) }),
		op.Rem:             as("Mod", func(*node) *pb.Attribute { return attrInt("fmod", 1) }),
		op.FloorMod:        as("Mod").when(func(_ *op.Node, in []op.Desc) bool { return in[0].DType.IsInt() }),
		op.IsInf: as("IsInf", func(n *node) *pb.Attribute { return attrBool("detect_positive", n.attrs.Bool("positive")) },
			func(n *node) *pb.Attribute { return attrBool("detect_negative", n.attrs.Bool("negative")) }),
		op.PRelu: as("PRelu").when(func(n *op.Node, in []op.Desc) bool { return n.Outputs[0].Shape.Equal(in[0].Shape) }),
		op.Cast: rule{emit: func(e *emitter, n *node) error {
			n.outputs[0].name = e.node("Cast", n.ins(), attrInt("to", int(elementType(n.outputs[0].dtype))))
			return nil
		}},
		op.Log1p: made(func(e *emitter, n *node, in []string) string {
			one := e.scalar(n.inputs[0].dtype, 1)
			u := e.node("Add", []string{in[0], one})
			y := e.node("Log", []string{u})
			return e.nearZero(n, u, y, e.node("Mul", []string{y, e.node("Div", []string{in[0], e.node("Sub", []string{u, one})})}))
		}),
		op.Expm1: made(func(e *emitter, n *node, in []string) string {
			u := e.node("Exp", in)
			y := e.node("Sub", []string{u, e.scalar(n.inputs[0].dtype, 1)})
			return e.nearZero(n, u, y, e.node("Mul", []string{y, e.node("Div", []string{in[0], e.node("Log", []string{u})})}))
		}),
		op.Square: made(func(e *emitter, _ *node, in []string) string { return e.node("Mul", []string{in[0], in[0]}) }),
		op.Silu: made(func(e *emitter, n *node, in []string) string {
			x := in[0]
			if a := n.attrs.Float("alpha"); a != 1 {
				x = e.node("Mul", []string{x, e.scalar(n.inputs[0].dtype, a)})
			}
			return e.node("Mul", []string{in[0], e.node("Sigmoid", []string{x})})
		}),
		op.NotEqual: made(func(e *emitter, _ *node, in []string) string { return e.node("Not", []string{e.node("Equal", in)}) }),
		op.Clamp: made(func(e *emitter, n *node, in []string) string {
			d := n.inputs[0].dtype
			lo, hi := n.attrs.Value("min"), n.attrs.Value("max")
			args := []string{in[0], "", ""}
			if !math.IsInf(lo.Float(), -1) {
				args[1] = e.constant(d, nil, element(d, lo))
			}
			if !math.IsInf(hi.Float(), 1) {
				args[2] = e.constant(d, nil, element(d, hi))
			}
			return e.node("Clip", args)
		}),
	}
	for c, kind := range map[op.Code]string{op.Copy: "Identity", op.Neg: "Neg", op.Abs: "Abs", op.Exp: "Exp", op.Log: "Log", op.Sqrt: "Sqrt",
		op.Floor: "Floor", op.Ceil: "Ceil", op.Round: "Round", op.Tanh: "Tanh", op.Sin: "Sin", op.Cos: "Cos", op.Tan: "Tan", op.Asin: "Asin",
		op.Acos: "Acos", op.Atan: "Atan", op.Sinh: "Sinh", op.Cosh: "Cosh", op.Asinh: "Asinh", op.Acosh: "Acosh", op.Atanh: "Atanh",
		op.Erf: "Erf", op.IsNaN: "IsNaN", op.Reciprocal: "Reciprocal", op.Sign: "Sign", op.Relu: "Relu", op.Sigmoid: "Sigmoid",
		op.HardSwish: "HardSwish", op.Mish: "Mish", op.Softplus: "Softplus", op.Softsign: "Softsign",
		op.Add: "Add", op.Sub: "Sub", op.Mul: "Mul", op.Div: "Div", op.Pow: "Pow", op.Max: "Max", op.Min: "Min", op.Equal: "Equal",
		op.Less: "Less", op.LessEqual: "LessOrEqual", op.Greater: "Greater", op.GreaterEqual: "GreaterOrEqual", op.Where: "Where"} {
		m[c] = as(kind)
	}
	for c, kind := range map[op.Code]string{op.Not: "Not", op.And: "And", op.Or: "Or", op.Xor: "Xor"} {
		m[c] = as(kind).when(bools)
	}
	for _, c := range []op.Code{op.HardSwish, op.Mish, op.Softplus, op.Softsign} {
		m[c] = m[c].when(floats)
	}
	return m
}

// nearZero completes log(1+x) and exp(x)-1 for the input x of n. It selects y where |x| is at least 0.5. For smaller |x| it selects x where
// u (1+x or exp(x), rounded) is 1, and corrected elsewhere. The quotient in corrected cancels the rounding of u (Kahan), which y contains.
func (e *emitter) nearZero(n *node, u, y, corrected string) string {
	x, d := n.inputs[0].name, n.inputs[0].dtype
	small := e.node("Less", []string{e.node("Abs", []string{x}), e.scalar(d, 0.5)})
	inner := e.node("Where", []string{e.node("Equal", []string{u, e.scalar(d, 1)}), x, corrected})
	return e.node("Where", []string{small, inner, y})
}

// f32 restricts a rule to f32, for operators that ONNX or its runtimes support in no other type.
func f32(_ *op.Node, in []op.Desc) bool { return in[0].DType == dtype.F32 }
