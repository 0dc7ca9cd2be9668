package lower

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Most tensors and nodes of a kernel of several nodes.
const (
	mostInputs  = 16
	mostOutputs = 8
	mostNodes   = 64
)

// Policy says which groups Group can lower. Products and convolutions are grouped too.
func Policy(t template.Target) group.Policy {
	return group.Policy{
		Limits: group.Limits{Nodes: mostNodes, Inputs: mostInputs, Outputs: mostOutputs},
		Kinds:  group.Of(group.Elementwise),
		Elementwise: func(g *group.Graph, k int) bool {
			n := &g.Nodes[k]
			return elementwise(n) && Supports(t, n, g.In(n)) == nil
		},
		Absorb: group.Of(group.Elementwise),
	}
}

// elementwise reports whether a node has a value for each element by itself: by the trait of its row, or as it repeats.
func elementwise(n *op.Node) bool {
	return n.Op == op.Expand || n.Op == op.Full || op.Lookup(n.Op).Traits.Has(op.Elementwise) && op.Lookup(n.Op).Class != op.Custom
}
