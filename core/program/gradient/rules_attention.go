package gradient

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Attention has an op for its gradient, which computes the weights again.
var attentionRules = map[op.Code]Rule{
	op.Attention: {func(need []bool) (in, out uint64) { return 1<<len(need) - 1, 1 }, func(g *grad) []op.Desc {
		in := append(append([]op.Desc{}, g.x[:3]...), g.y[0], g.dy[0])
		return append(g.All(op.AttentionGradient, append(in, g.x[3:]...), g.Attrs...), make([]op.Desc, len(g.x)-3)...)
	}},
}

// Holds reports whether the rule of a node's op may be used for the node on the device below, where some operands need a gradient.
// Where it may not, the op is differentiated through its decomposition.
func Holds(below program.Target, n *op.Node, in []op.Desc, need func(i int) bool) bool {
	holds := conditions[n.Op]
	return holds == nil || holds(below, n, in, need)
}

// Conditional reports whether there are nodes of an op that Holds refuses.
func Conditional(c op.Code) bool { return conditions[c] != nil }

// conditions say, of ops whose rules do not always hold, whether they do for a node on the device below, where some operands need a
// gradient. Where a rule does not hold, the op is differentiated through its decomposition.
var conditions = map[op.Code]func(below program.Target, n *op.Node, in []op.Desc, need func(i int) bool) bool{
	// A device without the gradient has that of the parts in fewer products. That of a bias is in the parts alone.
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
