package group

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Placement describes a concatenation whose operands are written directly into its result by the groups that compute them.
type Placement struct {
	Concat int    // index of the group of the concatenation
	First  int    // index of the first group that writes a part: the memory must exist before it
	Parts  []Part // in the order of the operands
}

// Part is an operand of a concatenation, as a part of the result.
type Part struct {
	ID     op.TensorID
	View   shape.View // view of the part in the result
	Writer int        // index of the group that writes it; None if it must be copied
}

// Placements finds concatenations for which at least one part can be written directly into the result, by the group that computes the part.
// Each concatenation is a separate group. Each part that is written directly is contiguous, is the only output of its group, and is not an
// output of the program. A group writes into one concatenation at most. able reports whether a group can write to any address.
func (g *Graph) Placements(groups []*Group, able func(x *Group) bool) []Placement {
	writers := map[op.TensorID]int{}
	for i, x := range groups {
		if len(x.Outputs) == 1 && able(x) {
			writers[x.Outputs[0].ID] = i
		}
	}
	var all []Placement
	for i, x := range groups {
		if x.Anchor == None || g.Nodes[x.Anchor].Op != op.Concat {
			continue
		}
		if p := g.place(groups, i, writers); p.First < i {
			all = append(all, p)
		}
	}
	return all
}

// place returns the placement of concatenation i, and removes its writers from the map. If there are none, First is the group of the
// concatenation itself.
func (g *Graph) place(groups []*Group, i int, writers map[op.TensorID]int) Placement {
	p := Placement{Concat: i, First: i}
	n := &g.Nodes[groups[i].Anchor]
	out, axis := n.Outputs[0].Shape, n.Attrs.Int("axis")
	if out[:axis].Size() != 1 {
		return p
	}
	whole, steps, start := shape.Contiguous(out), slices.Repeat([]int{1}, len(out)), make([]int, len(out))
	for _, id := range n.Inputs {
		s := g.Desc(id).Shape
		part := Part{id, whole.Slice(start, steps, s), None}
		start[axis] += s[axis]
		if w, ok := writers[id]; ok && s.Size() > 0 && !slices.Contains(g.Outputs, id) {
			delete(writers, id)
			part.View.Strides = shape.Contiguous(s).Strides
			part.Writer, p.First = w, min(p.First, w)
		}
		p.Parts = append(p.Parts, part)
	}
	return p
}
