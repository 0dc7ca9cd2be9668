package window

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// Structure is the computation of a sequence of nodes, with numbers instead of ids: tensors are numbered in the order in which the nodes
// first name them. Windows of the same structure have the same program.
type Structure struct {
	Nodes []op.Node // Inputs, Outputs and Drop have no meaning
	First []int32   // for each node: the number of its first result
	Types []op.Desc // by number; the id has no meaning
	Maker []int32   // by number: the node that computes it, or Outside for a tensor from before the window

	from []int32  // for each node: the index of its first operand in args
	args []int32  // numbers of operands
	dead []uint64 // one bit per number: set if the tensor was freed
}

// Outside is the Maker of tensors from before the window.
const Outside = -1

// IsDead reports whether the window has freed a tensor.
func (s *Structure) IsDead(local int32) bool { return s.dead[local>>6]>>(local&63)&1 != 0 }

// Operands returns the numbers of the tensors that node i reads.
func (s *Structure) Operands(i int) []int32 {
	to := len(s.args)
	if i+1 < len(s.from) {
		to = int(s.from[i+1])
	}
	return s.args[s.from[i]:to]
}

// Results returns the numbers of the results of node i.
func (s *Structure) Results(i int) (numbers []int32) {
	for l := s.First[i]; int(l) < len(s.Maker) && s.Maker[l] == int32(i); l++ {
		numbers = append(numbers, l)
	}
	return numbers
}

// Lives reports whether any result outlives the window.
func (s *Structure) Lives() bool {
	for local, maker := range s.Maker {
		if maker != Outside && !s.IsDead(int32(local)) {
			return true
		}
	}
	return false
}

// Clone returns a copy without ids.
func (s *Structure) Clone() Structure {
	c := Structure{Nodes: slices.Clone(s.Nodes), from: slices.Clone(s.from), args: slices.Clone(s.args), First: slices.Clone(s.First),
		Types: slices.Clone(s.Types), Maker: slices.Clone(s.Maker), dead: slices.Clone(s.dead)}
	for i := range c.Nodes {
		c.Nodes[i].Inputs, c.Nodes[i].Outputs, c.Nodes[i].Drop = nil, nil, 0
	}
	for i := range c.Types {
		c.Types[i].ID, c.Types[i].Shape = 0, c.Types[i].Shape.Clone()
	}
	return c
}

// Same compares structures completely. Attributes of nodes for which lifted is true may differ; a nil lifted means none. Draws are equal if
// their states differ from that of the first draw by the same amount.
func (s *Structure) Same(o *Structure, lifted []bool) bool {
	if len(s.Nodes) != len(o.Nodes) || !slices.Equal(s.args, o.args) || !slices.Equal(s.from, o.from) ||
		!slices.Equal(s.First, o.First) || !slices.Equal(s.Maker, o.Maker) || !slices.Equal(s.dead, o.dead) {
		return false
	}
	var mine, other State
	seen := false
	for i := range s.Nodes {
		a, b := &s.Nodes[i], &o.Nodes[i]
		if a.Op != b.Op || a.Version != b.Version {
			return false
		}
		if draws(a) {
			if !seen {
				seen, mine, other = true, stateOf(a), stateOf(b)
			}
			if !sameDraw(a, b, mine, other) {
				return false
			}
			continue
		}
		if (lifted == nil || !lifted[i]) && !sameAttrs(a.Attrs, b.Attrs) {
			return false
		}
	}
	for i := range s.Types {
		if !s.Types[i].SameType(o.Types[i]) {
			return false
		}
	}
	return true
}

// Changed returns the sources whose attributes differ in o, which has the same hash without attributes of sources. It returns nil if the
// structures differ in anything else. Draws do not count as sources.
func (s *Structure) Changed(o *Structure) (lifted []bool) {
	if len(s.Nodes) != len(o.Nodes) {
		return nil
	}
	lifted = make([]bool, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		lifted[i] = s.IsSource(i) && !draws(n) && !sameAttrs(n.Attrs, o.Nodes[i].Attrs)
	}
	if !s.Same(o, lifted) {
		return nil
	}
	return lifted
}

// IsSource reports whether node i has no operands: a fill, a range, a draw of random numbers.
func (s *Structure) IsSource(i int) bool { return len(s.Operands(i)) == 0 }

// Form returns a hash of ops and types only, which is the same for structures that differ in attributes or operands.
func (s *Structure) Form() uint64 {
	form := uint64(1)
	for i := range s.Nodes {
		form = mix(form, uint64(s.Nodes[i].Op))
		for _, l := range s.Results(i) {
			form = hashType(form, &s.Types[l])
		}
	}
	return form
}

func sameAttrs(a, b op.Attrs) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || a.Equal(b)
}
