package place

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
)

// Unit is a set of nodes of a program that are placed together: nodes that a backend may compute as one kernel.
type Unit struct {
	Nodes  []int     // indices, in order
	In     []op.Desc // distinct tensors that it reads and does not compute, without constants
	Consts []op.Desc // constants that it reads
	Out    []op.Desc // results that other units or the caller need; all results of a single node
	Flops  int64
	Able   []bool // by member: whether it claims all nodes
}

// Units divides a program into units, in an order of execution. able returns, by member, whether the member claims node k.
func Units(g *group.Graph, able func(k int) []bool) []*Unit {
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
	units := make([]*Unit, len(groups))
	for i, x := range groups {
		u := &Unit{Nodes: x.Nodes(), Out: x.Outputs}
		slices.Sort(u.Nodes)
		u.Able = together(u.Nodes)
		for _, id := range x.Inputs {
			if consts[id] {
				u.Consts = append(u.Consts, g.Desc(id))
			} else {
				u.In = append(u.In, g.Desc(id))
			}
		}
		for _, k := range u.Nodes {
			u.Flops += op.Flops(&p.Nodes[k], g.In(&p.Nodes[k]))
		}
		units[i] = u
	}
	return units
}
