package program

import "github.com/goburn/burn/core/op"

// Live keeps only the nodes that an output depends on, in order. The others are dead, because nodes have no side effects.
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

// LastUse returns, for each step, the values that can be released after it: first the values that it defines and that no step reads, then
// the values that it is the last to read, each once. Values for which held returns true are never listed.
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

// LastUse returns, for each node, the ids that can be released after it: results that are never read, and operands that no later node
// reads. Outputs of the program are not listed, nor are its inputs and constants, which belong to the caller.
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

// drop sets the drop bit of the first of the operands in that equals v. It returns false if none of the operands that have a bit equals v.
func drop[T comparable](bits *uint64, in []T, v T) bool {
	for k, id := range in[:min(len(in), 64)] {
		if id == v {
			*bits |= 1 << k
			return true
		}
	}
	return false
}

// dropLast sets the drop bit of the last use of every id that is not in keep. It returns the ids that no bit can drop, because no node uses
// them, or only as an operand after the 64th.
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
