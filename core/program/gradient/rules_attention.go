package gradient

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// attentionRules expresses the gradient of attention as one op, which recomputes the attention weights.
var attentionRules = map[op.Code]Rule{
	op.Attention: {func(need []bool) (in, out uint64) { return 1<<len(need) - 1, 1 }, func(g *grad) []op.Desc {
		in := append(append([]op.Desc{}, g.x[:3]...), g.y[0], g.dy[0])
		return append(g.All(op.AttentionGradient, append(in, g.x[3:]...), g.Attrs...), make([]op.Desc, len(g.x)-3)...)
	}},
}

// Holds reports whether the rule of a node's op applies to the node. need reports which operands need a gradient. If the rule does not
// apply, the op is differentiated through its decomposition.
func Holds(below program.Target, n *op.Node, in []op.Desc, need func(i int) bool) bool {
	holds := conditions[n.Op]
	return holds == nil || holds(below, n, in, need)
}

// Conditional reports whether Holds reports false for some nodes of an op.
func Conditional(c op.Code) bool { return conditions[c] != nil }

// conditions contains the function of Holds for ops whose rules do not apply to all nodes.
var conditions = map[op.Code]func(below program.Target, n *op.Node, in []op.Desc, need func(i int) bool) bool{
	// If the device does not support the gradient op, the gradient of the decomposition takes fewer products. Only the decomposition has a
	// gradient for a bias.
	op.Attention: func(below program.Target, n *op.Node, in []op.Desc, need func(i int) bool) bool {
		if len(in) > 3 && need(3) {
			return false
		}
		operands := append(append([]op.Desc{}, in[:3]...), n.Outputs[0], n.Outputs[0])
		operands = append(operands, in[3:]...)
		back, err := op.New(op.AttentionGradient, operands, n.Attrs...)
		return err == nil && (below.Supports == nil || below.Supports(&back, operands) == nil)
	},
}
