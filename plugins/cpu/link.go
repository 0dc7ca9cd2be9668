package cpu

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
)

// chain returns the unit of a group of elementwise nodes. The unit has no kernel if package elementwise has none for the group.
func chain(g *group.Graph, x *group.Group) unit {
	results := map[op.TensorID]int{} // maps the results of links to their numbers
	links := make([]elementwise.Link, len(x.Epilogue))
	for i, k := range x.Epilogue {
		n := &g.Nodes[k]
		from := make([]int, len(n.Inputs))
		for j, id := range n.Inputs {
			if r, ok := results[id]; ok {
				from[j] = -1 - r
			} else {
				from[j] = slices.Index(x.Inputs, id)
			}
		}
		results[n.Outputs[0].ID] = i
		links[i] = elementwise.Link{Node: n, In: g.In(n), From: from}
	}
	descs := make([]op.Desc, len(x.Inputs))
	for i, id := range x.Inputs {
		descs[i] = g.Desc(id)
	}
	last := links[len(links)-1].Node
	return unit{node: last, inputs: x.Inputs, desc: x.Outputs, run: elementwise.Chain(links, descs)}
}
