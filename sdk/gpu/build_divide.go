package gpu

import (
	"slices"

	"github.com/goburn/burn/core/program/group"
)

// parts divides a group that has no kernel into the nodes before its anchor, the anchor, and the nodes after it. A group without an anchor,
// and a part whose nodes differ in shape, are divided into single nodes. parts returns nil for a group of one node.
func (b *builder) parts(x *group.Group) []*group.Group {
	nodes := x.Nodes()
	if len(nodes) < 2 {
		return nil
	}
	var sets [][]int
	if x.Anchor != group.None {
		sets = [][]int{x.Prologue, {x.Anchor}, x.Epilogue}
	} else {
		for _, k := range nodes {
			sets = append(sets, []int{k})
		}
	}
	var all []*group.Group
	for _, set := range sets {
		if len(set) == 0 {
			continue
		}
		if !b.alike(set) {
			for _, k := range set {
				p := b.subset([]int{k})
				b.of[k] = p
				all = append(all, p)
			}
			continue
		}
		p := b.subset(set)
		for _, k := range set {
			b.of[k] = p
		}
		all = append(all, p)
	}
	return all
}

// alike reports whether the results of nodes all have the same shape.
func (b *builder) alike(set []int) bool {
	return !slices.ContainsFunc(set, func(k int) bool { return !b.g.Nodes[k].Outputs[0].Shape.Equal(b.g.Nodes[set[0]].Outputs[0].Shape) })
}

// subset returns the group of some nodes: of a single node, or of elementwise nodes.
func (b *builder) subset(set []int) *group.Group {
	p := &group.Group{Kind: group.Elementwise, Anchor: group.None, Epilogue: set, At: set[len(set)-1], Inputs: b.reads(set)}
	if len(set) == 1 {
		p.Kind, p.Anchor, p.Epilogue = group.Single, set[0], nil
		p.Outputs = b.g.Nodes[set[0]].Outputs
		return p
	}
	inside := map[int]bool{}
	for _, k := range set {
		inside[k] = true
	}
	for _, k := range set {
		for _, d := range b.g.Nodes[k].Outputs {
			for _, u := range b.g.Users(d.ID) {
				if u == group.Outside || !inside[u] {
					p.Outputs = append(p.Outputs, d)
					break
				}
			}
		}
	}
	return p
}
