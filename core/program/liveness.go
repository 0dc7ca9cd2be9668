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

// Step lists the tensors, by id or slot, that a step of a sequence reads and defines.
type Step[T comparable] struct{ In, Out []T }

// LastUse returns, for each of the steps, the values that no later step needs: first values that it defines and no step reads,
// then values that it reads for the last time, each once. Held values are never listed.
func LastUse[T comparable](steps []Step[T], held func(T) bool) [][]T {
	last := make([][]T, len(steps))
	needed := make(map[T]bool, len(steps))
	for i := len(steps) - 1; i >= 0; i-- {
		for _, list := range [2][]T{steps[i].Out, steps[i].In} {
			for _, v := range list {
				if !needed[v] && !held(v) {
					needed[v] = true
					last[i] = append(last[i], v)
				}
			}
		}
	}
	return last
}

// LastUse returns, for each node, the ids that no later node and no output needs: outputs never read, and inputs read for the
// last time. Inputs and constants of the program belong to the caller and are never listed.
func (p *Program) LastUse() [][]op.TensorID {
	held := make(map[op.TensorID]bool, len(p.Inputs)+len(p.Consts)+len(p.Outputs))
	for _, ds := range [2][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range ds {
			held[d.ID] = true
		}
	}
	for _, id := range p.Outputs {
		held[id] = true
	}
	return LastUse(stepsOf(p.Nodes), func(id op.TensorID) bool { return held[id] })
}

func stepsOf(nodes []op.Node) []Step[op.TensorID] {
	steps := make([]Step[op.TensorID], len(nodes))
	for i := range nodes {
		steps[i].In = nodes[i].Inputs
		for _, d := range nodes[i].Outputs {
			steps[i].Out = append(steps[i].Out, d.ID)
		}
	}
	return steps
}

// drop sets the bit of the first use of v by in, a list of operands. It returns false where v is not among
// the operands that have a bit.
func drop[T comparable](bits *uint64, in []T, v T) bool {
	for k, id := range in[:min(len(in), 64)] {
		if id == v {
			*bits |= 1 << k
			return true
		}
	}
	return false
}

// dropLast sets the drop bit of the last use of every id, unless it is kept. Ids that cannot be dropped by a bit, because no
// node uses them or only beyond the 64th input, are returned.
func dropLast(nodes []op.Node, inputs []op.TensorID, keep map[op.TensorID]bool) (free []op.TensorID) {
	used := map[op.TensorID]bool{}
	for i, last := range LastUse(stepsOf(nodes), func(id op.TensorID) bool { return keep[id] }) {
		for _, id := range nodes[i].Inputs {
			used[id] = true
		}
		for _, id := range last {
			if !drop(&nodes[i].Drop, nodes[i].Inputs, id) {
				free = append(free, id)
			}
		}
	}
	for _, id := range inputs {
		if !used[id] && !keep[id] {
			used[id] = true
			free = append(free, id)
		}
	}
	return free
}
