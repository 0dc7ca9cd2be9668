package lower

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/template"
)

// The greatest numbers of tensors and nodes of a kernel that computes several nodes.
const (
	maxInputs  = 16
	maxOutputs = 8
	maxNodes   = 64
)

// reach is the greatest number of nodes between two nodes of a group, about the number of nodes of a layer.
const reach = 64

// Policy returns the description of the groups that Group can lower. Products and convolutions are grouped too.
func Policy(t template.Target) group.Policy {
	return group.Policy{
		Limits: group.Limits{Nodes: maxNodes, Inputs: maxInputs, Outputs: maxOutputs, Tensors: t.Buffers},
		Kinds:  group.Of(group.Elementwise, group.Reduction, group.Norm, group.Product, group.Convolution),
		Elementwise: func(g *group.Graph, k int) bool {
			n := &g.Nodes[k]
			return elementwise(n) && Supports(t, n, g.In(n)) == nil
		},
		Absorb: group.Of(group.Elementwise),
		Reach:  reach,
		Repeat: repeats,
		Accept: func(g *group.Graph, x *group.Group) bool { return accept(t, g, x) },
	}
}

// elementwise reports whether a node computes each element independently: by the trait of its row, or because it repeats or numbers
// elements.
func elementwise(n *op.Node) bool {
	return n.Op == op.Expand || n.Op == op.Full || n.Op == op.Iota || op.Lookup(n.Op).Traits.Has(op.Elementwise) && op.Lookup(n.Op).Class != op.Custom
}

// maxTurned is the greatest rank of a space in which nodes are repeated. Groups of a greater rank may be computed with channels last, where
// each operand must have all axes or none.
const maxTurned = 3

// repeats reports whether a node is so cheap that computing it for each element of a space costs less than a launch, such as the cast
// of a norm's weights.
func repeats(g *group.Graph, k int, space shape.Shape) bool {
	switch g.Nodes[k].Op {
	case op.Cast, op.Add, op.Sub, op.Mul, op.Neg, op.Expand:
		return len(space) <= maxTurned
	case op.Iota:
		return len(space) <= maxTurned && counts(&g.Nodes[k], space)
	}
	return false
}

// counts reports whether a node numbers the elements along one axis of a space and is broadcast along the other axes.
func counts(n *op.Node, space shape.Shape) bool {
	s, axis := n.Outputs[0].Shape, n.Attrs.Int("axis")
	return len(s) == len(space) && s[axis] == space[axis]
}

// accept rejects groups for which several kernels are faster.
func accept(t template.Target, g *group.Graph, x *group.Group) bool {
	switch x.Kind {
	case group.Norm:
		n := &g.Nodes[x.Anchor]
		full, axes := g.Desc(n.Inputs[0]).Shape, reducedAxes(n)
		return lastAxis(full, axes) && template.Fits(t, full, axes) && countsInFull(g, x, full)
	case group.Reduction:
		return countsInFull(g, x, g.Desc(g.Nodes[x.Anchor].Inputs[0]).Shape)
	case group.Product, group.Convolution:
		return acceptProduct(t, g, x)
	}
	return true
}

// lastAxis reports whether the innermost axis of more than one element is among axes, so that rows are contiguous.
func lastAxis(s shape.Shape, axes []int) bool {
	for a := len(s) - 1; a >= 0; a-- {
		if s[a] != 1 {
			return slices.Contains(axes, a)
		}
	}
	return true
}

// countsInFull reports whether, in a group with reductions, every iota has one result per element, not per row. In a norm, an iota may also
// be broadcast to the elements.
func countsInFull(g *group.Graph, x *group.Group, full shape.Shape) bool {
	return !slices.ContainsFunc(x.Nodes(), func(k int) bool {
		n := &g.Nodes[k]
		return n.Op == op.Iota && !n.Outputs[0].Shape.Equal(full) && (x.Kind != group.Norm || !counts(n, full))
	})
}
