package group

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// rows describes the iteration space of reductions over the same axes of tensors of one shape.
type rows struct {
	full    shape.Shape
	axes    []int
	kept    shape.Shape // shape of results that keep reduced axes with length 1
	dropped shape.Shape // shape of results without the reduced axes
}

func rowsOf(n *op.Node, in op.Desc) rows {
	r := rows{full: in.Shape, axes: slices.Sorted(slices.Values(n.Attrs.Ints("axes")))}
	for i, v := range in.Shape {
		if slices.Contains(r.axes, i) {
			r.kept = append(r.kept, 1)
			continue
		}
		r.kept, r.dropped = append(r.kept, v), append(r.dropped, v)
	}
	return r
}

// narrow reports whether s is the shape of a result of the reductions.
func (r *rows) narrow(s shape.Shape) bool { return s.Equal(r.kept) || s.Equal(r.dropped) }

// reduces reports whether node k is a reduction in the same space.
func (d *decider) reduces(r *rows, k int) bool {
	n := &d.Nodes[k]
	if KindOf(n.Op) != Reduction {
		return false
	}
	other := rowsOf(n, d.Desc(n.Inputs[0]))
	return other.full.Equal(r.full) && slices.Equal(other.axes, r.axes)
}

// reduction creates a group of reduction i, the elementwise nodes before it, and the nodes that use its result. If results are broadcast
// back, the group also has further reductions of the same rows and nodes of the full shape. If the policy refuses a norm, it tries a
// reduction.
func (d *decider) reduction(i int) bool {
	n := &d.Nodes[i]
	r := rowsOf(n, d.Desc(n.Inputs[0]))
	if d.policy.Kinds.Has(Norm) && d.norm(i, &r) {
		return true
	}
	if !d.policy.Kinds.Has(Reduction) || d.groups[i] != nil {
		return false
	}
	set := d.grow(Reduction, i, func(_ map[int]bool, k int) ([]int, bool) {
		return nil, d.policy.elementwise(d.Graph, k) && r.narrow(d.Nodes[k].Outputs[0].Shape) && !r.full.Equal(d.Nodes[k].Outputs[0].Shape)
	})
	return d.finish(Reduction, i, d.absorb(Reduction, i, set, op.Desc{Shape: r.full}))
}

func (d *decider) norm(i int, r *rows) bool {
	set := d.grow(Norm, i, func(set map[int]bool, k int) ([]int, bool) { return d.inRows(r, set, k) })
	anchor, back := i, false
	for _, k := range sorted(set) {
		if d.reduces(r, k) {
			anchor = k
		}
		back = back || d.Nodes[k].Outputs[0].Shape.Equal(r.full) && !r.narrow(r.full)
	}
	if !back {
		return false
	}
	return d.finish(Norm, anchor, d.absorb(Norm, anchor, set, op.Desc{Shape: r.full}))
}

// inRows reports whether node k can be computed row by row: elementwise in the full space or in the space of the results, a reduction of
// the same rows, or a change between the shapes of these spaces. also contains other reductions of the same rows that k needs.
func (d *decider) inRows(r *rows, set map[int]bool, k int) (also []int, ok bool) {
	n := &d.Nodes[k]
	if len(n.Outputs) != 1 {
		return nil, false
	}
	out := n.Outputs[0].Shape
	switch {
	case d.reduces(r, k):
		return nil, true
	case n.Op == op.Reshape:
		return nil, r.narrow(out) && r.narrow(d.Desc(n.Inputs[0]).Shape)
	case n.Op == op.Expand:
		return nil, out.Equal(r.full) && d.Desc(n.Inputs[0]).Shape.Equal(r.kept)
	case !d.policy.elementwise(d.Graph, k) || !out.Equal(r.full) && !r.narrow(out):
		return nil, false
	}
	for _, id := range n.Inputs {
		j, made := d.Maker(id)
		if !made || !set[j] && (d.groups[j] != nil || !d.reduces(r, j)) {
			continue
		}
		if s := d.Desc(id).Shape; out.Equal(r.full) && s.Equal(r.dropped) && !s.Equal(r.kept) && !r.leading() {
			return nil, false // broadcast along axes that were not reduced
		}
		if !set[j] {
			also = append(also, j)
		}
	}
	return also, true
}

// leading reports whether the reduced axes are the first ones, so that a result without them broadcasts back along them.
func (r *rows) leading() bool {
	for i, a := range r.axes {
		if a != i {
			return false
		}
	}
	return true
}
