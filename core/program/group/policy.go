package group

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Limits bounds groups of more than one node. Zero means the default.
type Limits struct {
	Nodes   int // greatest number of nodes; unlimited by default
	Inputs  int // greatest number of inputs; unlimited by default
	Outputs int // greatest number of outputs; MaxOutputs by default
	Tensors int // greatest number of inputs and outputs together; unlimited by default
}

// MaxOutputs is the default of Limits.Outputs, and the greatest number of results of a fused node of the table.
const MaxOutputs = 8

// Policy describes the kernels of a backend. Its functions are called from the goroutine that calls Decide.
type Policy struct {
	Limits Limits
	// Kinds contains the kinds of groups to form. Nodes of other kinds stay single, unless Anchor opens a group for them.
	Kinds Kinds
	// Elementwise reports whether node k, which has one result, can be computed within a group: each element of its result depends on only
	// one element of each operand. If Elementwise is nil, the trait of the row decides.
	Elementwise func(g *Graph, k int) bool
	// Absorb contains the kinds of groups that also include preceding elementwise nodes, in the space of the result, whose results have no
	// other users. Reductions and norms always include such nodes, in the space of the operand.
	Absorb Kinds
	// Repeat reports whether groups in the given space may include elementwise node k, whose smaller result is broadcast to the space and
	// has no other users, and compute it again for each element. It is called for norms, and for elementwise groups if Absorb contains
	// these. A nil Repeat allows none.
	Repeat func(g *Graph, k int, space shape.Shape) bool
	// Anchor opens a group around node i for a backend that decides itself which nodes the kernel includes; a nil Taker leaves
	// the node to Kinds. A nil Anchor opens none.
	Anchor func(g *Graph, i int) Taker
	// Accept reports whether the backend accepts a group of several nodes. It is not called for groups of a Taker. Nodes of a refused group
	// may be assigned to other groups. A nil Accept accepts all.
	Accept func(g *Graph, x *Group) bool
	// Reach bounds the distance, in nodes, between consecutive nodes of a group; 0 means no bound. A group with nodes far apart computes
	// some results long before they are needed, and these occupy memory meanwhile. An example is a group with nodes of the forward and of
	// the backward pass of a layer.
	Reach int
	// HoldPeak refuses groups that increase peak memory above the peak of running the program node by node. The estimate assumes that
	// buffers are never reused in place.
	HoldPeak bool
}

// Taker decides which nodes the kernel of an anchor includes, one after the other. Each node is the only user of the result so far.
type Taker interface {
	// Take reports whether the kernel includes node k, and returns the other nodes to include with it: they compute operands of k that have
	// no other users. It is not called again after it has reported false.
	Take(k int) (also []int, ok bool)
	// Accept is called with the resulting group, which may be only the anchor. If it returns false, the group is dissolved. It is not
	// called if the nodes cannot run at one position, if the group would exceed the peak that HoldPeak allows, or if the result of a node
	// other than the last has users outside of the group.
	Accept(x *Group) bool
}

func (p *Policy) outputs() int {
	if p.Limits.Outputs > 0 {
		return p.Limits.Outputs
	}
	return MaxOutputs
}

// fits reports whether a group with the given numbers of nodes and inputs is within the limits.
func (p *Policy) fits(nodes, inputs int) bool {
	l := p.Limits
	return (l.Nodes == 0 || nodes <= l.Nodes) && (l.Inputs == 0 || inputs <= l.Inputs)
}

// writes reports whether a group with the given number of inputs may have the given number of results.
func (p *Policy) writes(inputs, results int) bool {
	return results <= p.outputs() && (p.Limits.Tensors == 0 || inputs+results <= p.Limits.Tensors)
}

func (p *Policy) elementwise(g *Graph, k int) bool {
	if len(g.Nodes[k].Outputs) != 1 {
		return false
	}
	if p.Elementwise == nil {
		return op.Lookup(g.Nodes[k].Op).Traits.Has(op.Elementwise)
	}
	return p.Elementwise(g, k)
}
