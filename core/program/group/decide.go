package group

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// decider is a graph while its nodes are being assigned to groups.
type decider struct {
	*Graph
	policy *Policy
	at     []int    // position at which each node runs: its own position, or the position of its group
	groups []*Group // by node: the group that it was assigned to, or nil
	memory *memory  // nil unless the policy bounds peak memory
}

// Decide returns the groups of all nodes in execution order. First, reductions and norms are grouped with the nodes around them. Then, in
// program order, products, convolutions and anchors of the policy are grouped with the nodes that follow them, and elementwise nodes with
// the elementwise nodes that read their results. The result only depends on the program and the policy.
func (g *Graph) Decide(policy Policy) []*Group {
	d := &decider{Graph: g, policy: &policy, at: make([]int, len(g.Nodes)), groups: make([]*Group, len(g.Nodes))}
	for k := range d.at {
		d.at[k] = k
	}
	if policy.HoldPeak {
		d.memory = newMemory(d)
	}
	if policy.Kinds.Has(Reduction) || policy.Kinds.Has(Norm) {
		for i := range g.Nodes {
			if d.groups[i] == nil && KindOf(g.Nodes[i].Op) == Reduction {
				d.reduction(i)
			}
		}
	}
	for i := range g.Nodes {
		if d.groups[i] == nil && !d.taker(i) && !d.contraction(i) {
			d.chain(i)
		}
	}
	var all []*Group
	for k := range g.Nodes {
		switch x := d.groups[k]; {
		case x == nil:
			n := &g.Nodes[k]
			all = append(all, &Group{Anchor: k, Inputs: distinct(n.Inputs), Outputs: n.Outputs, At: k})
		case x.At == k:
			all = append(all, x)
		}
	}
	return all
}

func distinct(ids []op.TensorID) []op.TensorID {
	var all []op.TensorID
	for _, id := range ids {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// taker forms the group of node i with the Taker that the policy returns for it, and reports whether it did.
func (d *decider) taker(i int) bool {
	if d.policy.Anchor == nil {
		return false
	}
	t := d.policy.Anchor(d.Graph, i)
	if t == nil {
		return false
	}
	set, last := map[int]bool{i: true}, i
	for len(d.Nodes[last].Outputs) == 1 {
		k, ok := d.Sole(d.Nodes[last].Outputs[0].ID)
		if !ok || d.groups[k] != nil {
			break
		}
		also, ok := t.Take(k)
		if !ok {
			break
		}
		last, set[k] = k, true
		for _, j := range also {
			if d.groups[j] != nil {
				return false
			}
			set[j] = true
		}
	}
	x := d.form(KindOf(d.Nodes[i].Op), i, set)
	if x == nil || len(x.Outputs) != len(d.Nodes[last].Outputs) || !t.Accept(x) {
		return false
	}
	d.settle(x)
	return true
}

// contraction creates a group of product or convolution i and the following elementwise nodes in the space of its result, and reports
// whether it did.
func (d *decider) contraction(i int) bool {
	n := &d.Nodes[i]
	kind := KindOf(n.Op)
	if kind != Product && kind != Convolution || !d.policy.Kinds.Has(kind) {
		return false
	}
	set := d.grow(kind, i, func(_ map[int]bool, k int) ([]int, bool) { return nil, d.inSpace(k, n.Outputs[0]) })
	return d.finish(kind, i, d.absorb(kind, i, set, n.Outputs[0]))
}

// chain creates a group of elementwise node i and the nodes that read its results, and reports whether it did.
func (d *decider) chain(i int) bool {
	if !d.policy.Kinds.Has(Elementwise) || !d.policy.elementwise(d.Graph, i) {
		return false
	}
	space := d.Nodes[i].Outputs[0]
	set := d.grow(Elementwise, i, func(_ map[int]bool, k int) ([]int, bool) { return nil, d.inSpace(k, space) && !d.reserved(i, k) })
	return d.finish(Elementwise, i, d.absorb(Elementwise, i, set, space))
}

// inSpace reports whether node k is elementwise and its result has the shape of space.
func (d *decider) inSpace(k int, space op.Desc) bool {
	return d.policy.elementwise(d.Graph, k) && d.Nodes[k].Outputs[0].Shape.Equal(space.Shape)
}

// reserved reports whether node k should be left to a product or convolution after node i. That product or convolution must not be in a
// group yet, and only k may read its result.
func (d *decider) reserved(i, k int) bool {
	for _, id := range d.Nodes[k].Inputs {
		j, ok := d.Maker(id)
		if !ok || j <= i || len(d.Users(id)) != 1 || d.groups[j] != nil {
			continue
		}
		switch kind := KindOf(d.Nodes[j].Op); kind {
		case Product, Convolution:
			if d.policy.Anchor != nil || d.policy.Kinds.Has(kind) {
				return true
			}
		}
	}
	return false
}

// finish assigns the nodes of set to a group, if there are at least two and the policy accepts the group. It reports whether it did.
func (d *decider) finish(kind Kind, anchor int, set map[int]bool) bool {
	if len(set) < 2 {
		return false
	}
	x := d.form(kind, anchor, set)
	if x == nil || d.policy.Accept != nil && !d.policy.Accept(d.Graph, x) {
		return false
	}
	d.settle(x)
	return true
}

func (d *decider) settle(x *Group) {
	nodes := x.Nodes()
	if len(nodes) == 1 {
		x.Kind = Single
	}
	if d.memory != nil {
		d.memory.settle(d, x)
	}
	for _, k := range nodes {
		d.groups[k], d.at[k] = x, x.At
	}
}

// form returns the group of a set of nodes, or nil if there is no position at which it can run.
func (d *decider) form(kind Kind, anchor int, set map[int]bool) *Group {
	nodes := sorted(set)
	x := &Group{Kind: kind, Anchor: anchor}
	if kind == Elementwise || kind == Single && len(nodes) > 1 {
		x.Kind, x.Anchor = Elementwise, None
	}
	read := map[op.TensorID]bool{}
	after, before := -1, len(d.Nodes) // exclusive bounds of the positions where it can run
	for _, k := range nodes {
		n := &d.Nodes[k]
		switch {
		case k == x.Anchor:
		case k < x.Anchor:
			x.Prologue = append(x.Prologue, k)
		default:
			x.Epilogue = append(x.Epilogue, k)
		}
		for _, id := range n.Inputs {
			m, made := d.Maker(id)
			if made && set[m] || read[id] {
				continue
			}
			read[id] = true
			x.Inputs = append(x.Inputs, id)
			if made {
				after = max(after, d.at[m])
			}
		}
		for _, o := range n.Outputs {
			if !d.usedBeyond(o.ID, set) {
				continue
			}
			x.Outputs = append(x.Outputs, o)
			for _, u := range d.Users(o.ID) {
				if u != Outside && !set[u] {
					before = min(before, d.at[u])
				}
			}
		}
	}
	x.At = -1
	for _, k := range nodes {
		if after < k && k < before {
			x.At = k // the last possible position, so that results are not computed before they are needed
		}
	}
	if x.At < 0 || d.memory != nil && len(nodes) > 1 && !d.memory.holds(d, x, set) {
		return nil
	}
	return x
}

func sorted(set map[int]bool) []int {
	nodes := make([]int, 0, len(set))
	for k := range set {
		nodes = append(nodes, k)
	}
	slices.Sort(nodes)
	return nodes
}
