package window

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Program is a structure as a program. Tensor i of the structure has id i+1 in the program. Sources may be excluded: the caller computes
// them before a run, with their current attributes.
type Program struct {
	*program.Program

	// Numbers of the tensors that are inputs and outputs of a run. Donated says which inputs the window frees.
	Inputs  []int32
	Donated []bool
	Outputs []int32
	// Apart contains the nodes that are excluded from the program, and Free their unused results.
	Apart []int32
	Free  []int32
	// Drawn says that MoveDraws has added an input.
	Drawn bool
}

// Program returns the structure as a program, without the nodes for which lifted is true. If lifted is nil, the program contains all nodes.
func (s *Structure) Program(name string, lifted []bool) *Program {
	id := func(local int32) op.TensorID { return op.TensorID(local) + 1 }
	p, q := &Program{}, &program.Program{Name: name}
	p.Program = q
	apart := func(at int32) bool { return lifted != nil && lifted[at] }
	used := make([]bool, len(s.Types))
	for i := range s.Nodes {
		if apart(int32(i)) {
			p.Apart = append(p.Apart, int32(i))
			continue
		}
		for _, a := range s.Operands(i) {
			used[a] = true
		}
	}
	typed := func(local int32) op.Desc {
		d := s.Types[local]
		d.ID = id(local)
		return d
	}
	for l, maker := range s.Maker {
		local := int32(l)
		dead := s.IsDead(local)
		if maker == Outside || apart(maker) {
			if used[l] {
				p.Inputs, p.Donated = append(p.Inputs, local), append(p.Donated, dead)
				q.Inputs = append(q.Inputs, typed(local))
			} else if dead {
				p.Free = append(p.Free, local)
			}
		} else if !dead {
			p.Outputs = append(p.Outputs, local)
			q.Outputs = append(q.Outputs, id(local))
		}
	}
	for i := range s.Nodes {
		if apart(int32(i)) {
			continue
		}
		n := op.Node{Op: s.Nodes[i].Op, Version: s.Nodes[i].Version, Attrs: s.Nodes[i].Attrs}
		for _, a := range s.Operands(i) {
			n.Inputs = append(n.Inputs, id(a))
		}
		for _, l := range s.Results(i) {
			n.Outputs = append(n.Outputs, typed(l))
		}
		q.Nodes = append(q.Nodes, n)
	}
	return p
}

// MoveDraws adds a last input to a program of s: the state of the first draw, on which all draws then depend. StateDesc describes it. The
// fields Inputs and Donated of p do not contain it. If s has no draws, MoveDraws does nothing.
func (p *Program) MoveDraws(s *Structure) error {
	first, some := s.firstDraw()
	if !some {
		return nil
	}
	last := op.TensorID(len(s.Types))
	p.Drawn = true
	return moveDraws(p.Program, first, func() op.TensorID { last++; return last })
}

// Owners returns the index of the original node for each tensor that a node of q computes. q was compiled from the program of the
// structure. Nodes that replaced an original node belong to that node.
func (s *Structure) Owners(q *program.Program) map[op.TensorID]int {
	owner := map[op.TensorID]int{}
	var open []op.TensorID
	for i := range q.Nodes {
		for _, o := range q.Nodes[i].Outputs {
			if o.ID > op.TensorID(len(s.Types)) {
				open = append(open, o.ID)
				continue
			}
			at := int(s.Maker[o.ID-1])
			owner[o.ID] = at
			for _, id := range open {
				owner[id] = at
			}
			open = open[:0]
		}
	}
	return owner
}
