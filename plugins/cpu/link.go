package cpu

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
)

// linker is a chain of elementwise nodes while it grows.
type linker struct {
	b       *builder
	users   map[op.TensorID][]int
	links   []elementwise.Link
	nodes   []int // places of the links
	inputs  []op.TensorID
	results map[op.TensorID]int // of the links, by number
}

// link makes the unit of the elementwise nodes from i on that feed each other, and says at which node it runs. The chain
// ends where results would be needed outside of it, other than that of its last node. It gives no kernel where there is
// no second node.
func (b *builder) link(i int, users map[op.TensorID][]int, taken []bool) (unit, int) {
	l := &linker{b: b, users: users, results: map[op.TensorID]int{}}
	whole, inputs := 0, 0 // the links and inputs at the last place where the chain could end
	for next := i; next >= 0 && !taken[next] && l.add(next); {
		var ends bool
		if next, ends = l.next(); ends {
			whole, inputs = len(l.links), len(l.inputs)
		}
	}
	if whole < 2 {
		return unit{}, 0
	}
	l.links, l.inputs = l.links[:whole], l.inputs[:inputs]
	descs := make([]op.Desc, len(l.inputs))
	for k, id := range l.inputs {
		descs[k] = b.descs[id]
	}
	last := l.links[whole-1].Node
	run := elementwise.Chain(l.links, descs)
	if run == nil {
		return unit{}, 0
	}
	for _, k := range l.nodes[:whole] {
		taken[k] = true
	}
	return unit{node: last, inputs: l.inputs, desc: last.Outputs, run: run}, l.nodes[whole-1]
}

// add makes node number k a link, if it can be one.
func (l *linker) add(k int) bool {
	n := &l.b.nodes[k]
	in := l.b.inputs(n)
	if len(l.links) == elementwise.MaxLinks || !elementwise.Links(n, in) {
		return false
	}
	if len(l.links) > 0 && (!n.Outputs[0].Shape.Equal(l.links[0].Node.Outputs[0].Shape) || l.ofProduct(k)) {
		return false
	}
	inputs := l.inputs
	from := make([]int, len(n.Inputs))
	for i, id := range n.Inputs {
		if r, ok := l.results[id]; ok {
			from[i] = -1 - r
			continue
		}
		at := slices.Index(inputs, id)
		if at < 0 {
			at = len(inputs)
			inputs = append(inputs, id)
		}
		from[i] = at
	}
	if len(inputs) > elementwise.MaxInputs {
		return false
	}
	l.inputs = inputs
	l.results[n.Outputs[0].ID] = len(l.links)
	l.links = append(l.links, elementwise.Link{Node: n, In: in, From: from})
	l.nodes = append(l.nodes, k)
	return true
}

// ofProduct reports whether node number k is the only one to read a product or convolution that comes after the first
// link: that may take the node in.
func (l *linker) ofProduct(k int) bool {
	for j := l.nodes[0] + 1; j < k; j++ {
		switch n := &l.b.nodes[j]; n.Op {
		case op.MatMul, op.Linear, op.Conv:
			if u := l.users[n.Outputs[0].ID]; len(u) == 1 && u[0] == k {
				return true
			}
		}
	}
	return false
}

// next is the first node that needs a result of the chain and is not in it, -1 if there is none; ends reports whether
// nothing but the last result is needed outside.
func (l *linker) next() (next int, ends bool) {
	next, ends = -1, true
	for i := range l.links {
		for _, u := range l.users[l.links[i].Node.Outputs[0].ID] {
			if u >= 0 && slices.Contains(l.nodes, u) {
				continue
			}
			ends = ends && i == len(l.links)-1
			if u >= 0 && (next < 0 || u < next) {
				next = u
			}
		}
	}
	return next, ends
}
