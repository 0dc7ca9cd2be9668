package group

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Limits bounds groups of more than one node. A zero is the default.
type Limits struct {
	Nodes   int // most nodes; by default as many as there are
	Inputs  int // most tensors that are read; by default as many as there are
	Outputs int // most results that are written; by default MaxOutputs
	Tensors int // most tensors that are read or written; by default as many as there are
}

// MaxOutputs is the default of Limits.Outputs, and the most results of a fused node of the table.
const MaxOutputs = 8

// Policy describes the kernels of a backend. Its functions are called from the goroutine that calls Decide.
type Policy struct {
	Limits Limits
	// Kinds says which groups are wanted. Nodes of other kinds stay single, those that Anchor opens aside.
	Kinds Kinds
	// Elementwise reports whether node k, which has one result, can be computed within a group: each element of its result
	// depends on one element of each operand alone. A nil Elementwise asks for the trait of the row.
	Elementwise func(g *Graph, k int) bool
	// Absorb says which of these groups also take in elementwise nodes, in the space of the result, that compute what they read
	// and nothing else needs. Reductions and norms always do, in the space of the operand.
	Absorb Kinds
	// Repeat reports whether groups in the given space may take in elementwise node k, whose smaller result is broadcast to the space
	// and used by nothing else, and compute it again for each element. It is asked for elementwise groups, where Absorb has these,
	// and norms. A nil Repeat allows none.
	Repeat func(g *Graph, k int, space shape.Shape) bool
	// Anchor opens a group around node i for a backend that decides itself which nodes the kernel includes; a nil Taker leaves
	// the node to Kinds. A nil Anchor opens none.
	Anchor func(g *Graph, i int) Taker
	// Accept is asked about each finished group of several nodes that no Taker decided about; nodes of a group that is
	// refused are offered again, in other groups. A nil Accept accepts all.
	Accept func(g *Graph, x *Group) bool
	// Reach bounds the distance, in nodes, from the last node of a group to the next one that it includes; 0 is no bound. Results
	// that are computed long before they are needed occupy memory meanwhile, as the backward pass of a layer in the group of its
	// forward pass would.
	Reach int
	// HoldPeak refuses groups with which the tensors that live at one time would need more memory than the program does, node
	// by node. Buffers are taken as never reused in place.
	HoldPeak bool
}

// Taker is a kernel while it takes nodes in, one after the other: each is the only user of the result so far.
type Taker interface {
	// Take reports whether the kernel includes node k, and which other nodes with it: they compute operands of k that nothing
	// else uses. It is not called again once it has reported false.
	Take(k int) (also []int, ok bool)
	// Accept is called with the resulting group, which may be only the anchor; false dissolves it. It is not called if there is
	// no group because the included nodes cannot run at one place, or break the policy.
	Accept(x *Group) bool
}

func (p *Policy) outputs() int {
	if p.Limits.Outputs > 0 {
		return p.Limits.Outputs
	}
	return MaxOutputs
}

// fits reports whether a group of so many nodes and inputs is within the limits.
func (p *Policy) fits(nodes, inputs int) bool {
	l := p.Limits
	return (l.Nodes == 0 || nodes <= l.Nodes) && (l.Inputs == 0 || inputs <= l.Inputs)
}

// writes reports whether a group of so many inputs may have so many results.
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
