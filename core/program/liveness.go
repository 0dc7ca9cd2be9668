package program

import "github.com/goburn/burn/core/op"

// Live keeps only the nodes that an output depends on, in order. Nodes have no side effects, so the others are dead.
func (p *Program) Live() *Program {
	used := make(map[op.TensorID]bool, len(p.Nodes))
	for _, id := range p.Outputs {
		used[id] = true
	}
	keep := make([]bool, len(p.Nodes))
	n := 0
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		for _, d := range p.Nodes[i].Outputs {
			keep[i] = keep[i] || used[d.ID]
		}
		if keep[i] {
			n++
			for _, id := range p.Nodes[i].Inputs {
				used[id] = true
			}
		}
	}
	q := *p
	q.Nodes = make([]op.Node, 0, n)
	for i, k := range keep {
		if k {
			q.Nodes = append(q.Nodes, p.Nodes[i])
		}
	}
	return &q
}

// LastUse gives, for each node, the ids that no later node and no output needs: inputs read for the last time, and
// outputs never read. Inputs and constants of the program are the caller's and never listed.
func (p *Program) LastUse() [][]op.TensorID {
	held := make(map[op.TensorID]bool, len(p.Nodes))
	for _, d := range p.Inputs {
		held[d.ID] = true
	}
	for _, d := range p.Consts {
		held[d.ID] = true
	}
	for _, id := range p.Outputs {
		held[id] = true
	}
	last := make([][]op.TensorID, len(p.Nodes))
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		for _, d := range n.Outputs {
			if !held[d.ID] {
				held[d.ID] = true
				last[i] = append(last[i], d.ID)
			}
		}
		for _, id := range n.Inputs {
			if !held[id] {
				held[id] = true
				last[i] = append(last[i], id)
			}
		}
	}
	return last
}
