package place

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Part is a set of units of a program that run on one member as one program.
type Part struct {
	Member  int
	Units   []int
	Program *program.Program // with the tensor ids of the complete program
	In, Out []op.TensorID    // inputs and outputs of Program
	Consts  []int            // indices of the whole program's constants
}

// Parts combines units on the same member into parts, in execution order. Each unit is in the earliest part that its dependencies allow, so
// that there are few parts.
func Parts(p *program.Program, units []*Unit, assigned []int) []*Part {
	level := make([]int, len(units))
	producer := map[op.TensorID]int{}
	type key struct{ level, member int }
	found := map[key]*Part{}
	var order []key
	for i, u := range units {
		for _, d := range u.In {
			if k, ok := producer[d.ID]; ok {
				after := level[k]
				if assigned[k] != assigned[i] {
					after++
				}
				level[i] = max(level[i], after)
			}
		}
		for _, d := range u.Out {
			producer[d.ID] = i
		}
		at := key{level[i], assigned[i]}
		if found[at] == nil {
			found[at] = &Part{Member: assigned[i]}
			order = append(order, at)
		}
		found[at].Units = append(found[at].Units, i)
	}
	slices.SortStableFunc(order, func(a, b key) int { return a.level - b.level })
	parts := make([]*Part, len(order))
	for i, at := range order {
		parts[i] = found[at]
	}
	for _, x := range parts {
		x.build(p, units)
	}
	return parts
}

// build creates the program of a part.
func (x *Part) build(p *program.Program, units []*Unit) {
	inside, read := map[op.TensorID]bool{}, map[op.TensorID]bool{}
	needed := map[op.TensorID]bool{}
	q := &program.Program{Name: p.Name}
	for _, i := range x.Units {
		for _, d := range units[i].Out {
			inside[d.ID] = true
		}
	}
	mine := map[int]bool{}
	for _, i := range x.Units {
		mine[i] = true
		u := units[i]
		for _, k := range u.Nodes {
			q.Nodes = append(q.Nodes, p.Nodes[k])
		}
		for _, d := range u.In {
			if !inside[d.ID] && !read[d.ID] {
				read[d.ID] = true
				q.Inputs, x.In = append(q.Inputs, d), append(x.In, d.ID)
			}
		}
		for _, d := range u.Consts {
			read[d.ID] = true
		}
	}
	for i, d := range p.Consts {
		if read[d.ID] {
			q.Consts, x.Consts = append(q.Consts, d), append(x.Consts, i)
		}
	}
	for _, id := range p.Outputs {
		needed[id] = true
	}
	for i, u := range units {
		for _, d := range u.In {
			needed[d.ID] = needed[d.ID] || !mine[i]
		}
	}
	for _, i := range x.Units {
		for _, d := range units[i].Out {
			if needed[d.ID] {
				q.Outputs, x.Out = append(q.Outputs, d.ID), append(x.Out, d.ID)
			}
		}
	}
	x.Program = q
}

// Distinct returns p with a copy for each output that is an input, a constant, or equal to an earlier output.
func Distinct(p *program.Program) (*program.Program, error) {
	q := *p
	q.Nodes, q.Outputs = slices.Clone(p.Nodes), slices.Clone(p.Outputs)
	last := op.TensorID(0)
	taken := map[op.TensorID]bool{}
	for _, ds := range [2][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range ds {
			taken[d.ID], last = true, max(last, d.ID)
		}
	}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			last = max(last, d.ID)
		}
	}
	for i, d := range p.OutputDescs() {
		if !taken[p.Outputs[i]] {
			taken[p.Outputs[i]] = true
			continue
		}
		d.ID = p.Outputs[i]
		n, err := op.New(op.Copy, []op.Desc{d})
		if err != nil {
			return nil, err
		}
		last++
		n.Outputs[0].ID, q.Outputs[i] = last, last
		q.Nodes = append(q.Nodes, n)
	}
	return &q, nil
}

// Whole returns a part that is a whole program.
func Whole(p *program.Program, member int) *Part {
	x := &Part{Member: member, Program: p, Out: p.Outputs}
	for _, d := range p.Inputs {
		x.In = append(x.In, d.ID)
	}
	for i := range p.Consts {
		x.Consts = append(x.Consts, i)
	}
	return x
}

// Divide returns the parts of a program. distinct is the result of Distinct for it, and units are the units of distinct. If all units are
// on one member, the only part is the original program; if there are no units, that part is on member none.
func Divide(original, distinct *program.Program, units []*Unit, assigned []int, none int) []*Part {
	if len(assigned) > 0 {
		none = assigned[0]
	}
	if slices.ContainsFunc(assigned, func(m int) bool { return m != none }) {
		return Parts(distinct, units, assigned)
	}
	x := Whole(original, none)
	for i := range units {
		x.Units = append(x.Units, i)
	}
	return []*Part{x}
}

// LastUse returns the index of the last part that reads a tensor, or -1.
func LastUse(parts []*Part, id op.TensorID) int {
	for k := len(parts) - 1; k >= 0; k-- {
		if slices.Contains(parts[k].In, id) {
			return k
		}
	}
	return -1
}

// Moved returns, for each unit, the bytes of operands that a run transfers to it from other members. Inputs are on the first member. A
// tensor counts for the first unit that needs it on a member.
func Moved(units []*Unit, assigned []int) []int64 {
	home := map[op.TensorID]int{}
	type copied struct {
		id op.TensorID
		at int
	}
	there := map[copied]bool{}
	moved := make([]int64, len(units))
	for i, u := range units {
		for _, d := range u.In {
			if at := assigned[i]; home[d.ID] != at && !there[copied{d.ID, at}] {
				there[copied{d.ID, at}] = true
				moved[i] += int64(d.Bytes())
			}
		}
		for _, d := range u.Out {
			home[d.ID] = assigned[i]
		}
	}
	return moved
}
