package group

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Outside is the user of a tensor that the program returns.
const Outside = -1

// Graph is a program with an index of the producer and the users of each tensor. It is immutable.
type Graph struct {
	*program.Program
	descs    map[op.TensorID]op.Desc
	producer map[op.TensorID]int
	users    map[op.TensorID][]int
}

// NewGraph returns the graph of p, which has passed Check and has no dead nodes. p is not changed while the graph is in use.
func NewGraph(p *program.Program) *Graph {
	g := &Graph{p, p.Descs(), make(map[op.TensorID]int, len(p.Nodes)), make(map[op.TensorID][]int, len(p.Nodes))}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			g.producer[d.ID] = i
		}
		for _, id := range p.Nodes[i].Inputs {
			g.users[id] = append(g.users[id], i)
		}
	}
	for _, id := range p.Outputs {
		g.users[id] = append(g.users[id], Outside)
	}
	return g
}

// Desc returns type and shape of a tensor of the program.
func (g *Graph) Desc(id op.TensorID) op.Desc { return g.descs[id] }

// In returns type and shape of the operands of n.
func (g *Graph) In(n *op.Node) []op.Desc {
	in := make([]op.Desc, len(n.Inputs))
	for i, id := range n.Inputs {
		in[i] = g.descs[id]
	}
	return in
}

// Maker returns the node that computes id, false for inputs and constants.
func (g *Graph) Maker(id op.TensorID) (k int, ok bool) {
	k, ok = g.producer[id]
	return k, ok
}

// Users returns the nodes that read id, in order, and Outside for each time that the program returns it. A node is listed once for each of
// its operands that is id. The caller must not change the slice.
func (g *Graph) Users(id op.TensorID) []int { return g.users[id] }

// Sole returns the node that reads id, if exactly one operand of exactly one node is id.
func (g *Graph) Sole(id op.TensorID) (k int, ok bool) {
	if u := g.users[id]; len(u) == 1 && u[0] != Outside {
		return u[0], true
	}
	return 0, false
}

// usedBeyond reports whether id is used by anything except the given nodes.
func (g *Graph) usedBeyond(id op.TensorID, nodes map[int]bool) bool {
	return slices.ContainsFunc(g.users[id], func(u int) bool { return !nodes[u] })
}
