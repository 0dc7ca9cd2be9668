package export

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx/pb"
)

// rule describes how a node of the contract is written in ONNX operators.
type rule struct {
	// fits reports whether the rule applies to this node; nil applies to all. A node without a rule is decomposed.
	fits func(n *op.Node, in []op.Desc) bool
	// emit appends operators and names the outputs of the node.
	emit func(e *emitter, n *node) error
}

// rules is initialised by init, because the rules refer to it.
var rules map[op.Code]rule

func init() {
	rules = map[op.Code]rule{}
	for _, set := range []map[op.Code]rule{elementwiseRules(), movementRules(), reductionRules(), layerRules()} {
		for c, r := range set {
			rules[c] = r
		}
	}
}

// ins returns the names of the inputs.
func (n *node) ins() []string {
	names := make([]string, len(n.inputs))
	for i, v := range n.inputs {
		names[i] = v.name
	}
	return names
}

// as returns the rule for an operator with the same operands.
func as(kind string, attrs ...func(n *node) *pb.Attribute) rule {
	return rule{emit: func(e *emitter, n *node) error {
		var list []*pb.Attribute
		for _, a := range attrs {
			list = append(list, a(n))
		}
		n.outputs[0].name = e.node(kind, n.ins(), list...)
		return nil
	}}
}

// when returns the rule restricted to nodes for which fits returns true.
func (r rule) when(fits func(n *op.Node, in []op.Desc) bool) rule {
	r.fits = fits
	return r
}

// floatOf and intOf copy an attribute under its ONNX name.
func floatOf(name, to string) func(*node) *pb.Attribute {
	return func(n *node) *pb.Attribute { return attrFloat(to, n.attrs.Float(name)) }
}

func intOf(name, to string) func(*node) *pb.Attribute {
	return func(n *node) *pb.Attribute { return attrInt(to, n.attrs.Int(name)) }
}

// made returns a rule whose f emits operators and returns the name of the result.
func made(f func(e *emitter, n *node, in []string) string) rule {
	return rule{emit: func(e *emitter, n *node) error {
		n.outputs[0].name = f(e, n, n.ins())
		return nil
	}}
}

func floats(_ *op.Node, in []op.Desc) bool { return in[0].DType.IsFloat() }
func bools(_ *op.Node, in []op.Desc) bool  { return in[0].DType == dtype.Bool }

// none reports whether all numbers equal v.
func none(l []int, v int) bool { return !slices.ContainsFunc(l, func(x int) bool { return x != v }) }

func negative(l []int) bool { return slices.ContainsFunc(l, func(x int) bool { return x < 0 }) }
