package router

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

// unit is nodes of a program that are placed together: what a backend may well compute as one kernel.
type unit struct {
	nodes  []int
	in     []op.Desc // what it reads and does not compute, constants left out; each once
	consts []op.Desc // constants that it reads
	out    []op.Desc // what others need
	flops  int64
	able   []bool // by member: whether it claims all nodes
}

// unitsOf takes a program apart, in an order of execution. able says which members claim a node.
func unitsOf(g *group.Graph, able func(k int) []bool) []*unit {
	p := g.Program
	consts := map[op.TensorID]bool{}
	for _, d := range p.Consts {
		consts[d.ID] = true
	}
	claims := make([][]bool, len(p.Nodes))
	for k := range claims {
		claims[k] = able(k)
	}
	together := func(nodes []int) []bool {
		all := slices.Clone(claims[nodes[0]])
		for _, k := range nodes {
			for m := range all {
				all[m] = all[m] && claims[k][m]
			}
		}
		return all
	}
	groups := g.Decide(group.Policy{
		Kinds:  group.Of(group.Elementwise, group.Reduction, group.Norm, group.Product, group.Convolution),
		Accept: func(_ *group.Graph, x *group.Group) bool { return slices.Contains(together(x.Nodes()), true) },
	})
	units := make([]*unit, len(groups))
	for i, x := range groups {
		u := &unit{nodes: x.Nodes(), out: x.Outputs}
		slices.Sort(u.nodes)
		u.able = together(u.nodes)
		for _, id := range x.Inputs {
			if consts[id] {
				u.consts = append(u.consts, g.Desc(id))
			} else {
				u.in = append(u.in, g.Desc(id))
			}
		}
		for _, k := range u.nodes {
			u.flops += op.Flops(&p.Nodes[k], g.In(&p.Nodes[k]))
		}
		units[i] = u
	}
	return units
}

// part is units of a program that run on one member as one program.
type part struct {
	m      *member
	units  []int
	prog   *program.Program
	in     []op.TensorID // local to the whole program, as are out
	out    []op.TensorID
	consts []int // indices of the whole program's constants
}

// partsOf joins units that are on one member into parts, in an order of execution. A unit is as early as the parts that it
// depends on allow, so that parts are few.
func partsOf(p *program.Program, units []*unit, assigned []int, members []*member) []*part {
	level := make([]int, len(units))
	maker := map[op.TensorID]int{}
	type key struct{ level, member int }
	found := map[key]*part{}
	var order []key
	for i, u := range units {
		for _, d := range u.in {
			if k, ok := maker[d.ID]; ok {
				after := level[k]
				if assigned[k] != assigned[i] {
					after++
				}
				level[i] = max(level[i], after)
			}
		}
		for _, d := range u.out {
			maker[d.ID] = i
		}
		at := key{level[i], assigned[i]}
		if found[at] == nil {
			found[at] = &part{m: members[assigned[i]]}
			order = append(order, at)
		}
		found[at].units = append(found[at].units, i)
	}
	slices.SortStableFunc(order, func(a, b key) int { return a.level - b.level })
	parts := make([]*part, len(order))
	for i, at := range order {
		parts[i] = found[at]
	}
	for _, x := range parts {
		x.build(p, units)
	}
	return parts
}

// build makes the program of a part.
func (x *part) build(p *program.Program, units []*unit) {
	inside, read := map[op.TensorID]bool{}, map[op.TensorID]bool{}
	needed := map[op.TensorID]bool{}
	q := &program.Program{Name: p.Name}
	for _, i := range x.units {
		for _, d := range units[i].out {
			inside[d.ID] = true
		}
	}
	mine := map[int]bool{}
	for _, i := range x.units {
		mine[i] = true
		u := units[i]
		for _, k := range u.nodes {
			q.Nodes = append(q.Nodes, p.Nodes[k])
		}
		for _, d := range u.in {
			if !inside[d.ID] && !read[d.ID] {
				read[d.ID] = true
				q.Inputs, x.in = append(q.Inputs, d), append(x.in, d.ID)
			}
		}
		for _, d := range u.consts {
			read[d.ID] = true
		}
	}
	for i, d := range p.Consts {
		if read[d.ID] {
			q.Consts, x.consts = append(q.Consts, d), append(x.consts, i)
		}
	}
	for _, id := range p.Outputs {
		needed[id] = true
	}
	for i, u := range units {
		for _, d := range u.in {
			needed[d.ID] = needed[d.ID] || !mine[i]
		}
	}
	for _, i := range x.units {
		for _, d := range units[i].out {
			if needed[d.ID] {
				q.Outputs, x.out = append(q.Outputs, d.ID), append(x.out, d.ID)
			}
		}
	}
	x.prog = q
}

// distinct returns p with a copy for each output that is an input, a constant, or an output given before.
func distinct(p *program.Program) (*program.Program, error) {
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
