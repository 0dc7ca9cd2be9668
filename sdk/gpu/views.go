package gpu

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/lower"
)

// tensor is the place of a tensor's elements: a view of a buffer.
type tensor struct {
	buffer int
	view   shape.View
}

// contiguous returns a row-major tensor at the beginning of a buffer.
func contiguous(buffer int, d op.Desc) tensor { return tensor{buffer, shape.Contiguous(d.Shape)} }

// whole reports whether the elements of t are in row-major order at the beginning of their buffer.
func (t tensor) whole() bool { return t.view.Offset == 0 && t.view.IsContiguous() }

// viewOf returns the result of a movement node as a view of its operand, or false if the result needs a copy.
func viewOf(n *op.Node, in shape.View) (shape.View, bool) {
	out := n.Outputs[0].Shape
	switch n.Op {
	case op.Copy:
		return in, true
	case op.Reshape:
		return in.Reshape(out)
	case op.Permute:
		return in.Permute(n.Attrs.Ints("axes")), true
	case op.Expand:
		return in.Expand(out), true
	case op.Slice:
		return in.Slice(n.Attrs.Ints("start"), n.Attrs.Ints("step"), out), true
	case op.Flip:
		return in.Flip(n.Attrs.Ints("axes")), true
	}
	return shape.View{}, false
}

// moves reports whether a node of op c can be a view.
func moves(c op.Code) bool {
	switch c {
	case op.Copy, op.Reshape, op.Permute, op.Expand, op.Slice, op.Flip:
		return true
	}
	return false
}

// asView turns the result of a group into a view and returns true, if the group is one movement and all users of the result accept the
// view.
func (b *builder) asView(x *group.Group) bool {
	if x.Anchor == group.None || x.Kind != group.Single || !moves(b.g.Nodes[x.Anchor].Op) {
		return false
	}
	n := &b.g.Nodes[x.Anchor]
	from := b.at[n.Inputs[0]]
	if from.buffer == none {
		return false
	}
	v, ok := viewOf(n, from.view)
	if !ok {
		return false
	}
	t := tensor{from.buffer, v}
	if !b.taken(n.Outputs[0], t) {
		return false
	}
	b.at[n.Outputs[0].ID] = t
	return true
}

// asNumber assigns no memory to the result of a group and returns true, if all users of the result accept a scalar argument.
func (b *builder) asNumber(x *group.Group) bool {
	if len(x.Outputs) != 1 || len(x.Nodes()) != 1 {
		return false
	}
	d := x.Outputs[0]
	if _, ok := lower.Immediate(b.g, d.ID); !ok {
		return false
	}
	b.at[d.ID] = contiguous(none, d)
	return true
}

// aligned reports whether a view begins at an address aligned for the widest accesses.
func (b *builder) aligned(d op.Desc, v shape.View) bool {
	return v.Offset*d.DType.Size()%max(b.d.target.Wide, 1) == 0
}

// taken reports whether all users of d accept it as t.
func (b *builder) taken(d op.Desc, t tensor) bool {
	for _, u := range b.g.Users(d.ID) {
		if u == group.Outside {
			if !t.whole() || b.buffers[t.buffer].bytes != int64(d.Bytes()) {
				return false
			}
			continue
		}
		x := b.of[u]
		if x.Kind == group.Single && x.Anchor == u && moves(b.g.Nodes[u].Op) {
			continue // a view of a view, or a copy, which accepts every view
		}
		for i, id := range x.Inputs {
			if id == d.ID && !b.takes(x, i, d, t) && !b.libraryTakes(x, d, t) {
				return false
			}
		}
	}
	return true
}

// takes reports whether generated kernels accept input i of x, which is d, as t.
func (b *builder) takes(x *group.Group, i int, d op.Desc, t tensor) bool {
	return t.view.IsContiguous() && b.aligned(d, t.view) || lower.Strided(b.g, x, i) || lower.InRows(b.g, x, i) && b.inRows(d, t.view) ||
		lower.InLines(b.g, x, i, t.view) || b.direct(x, d.ID, t.view)
}

// direct reports whether the anchor of x is a convolution with kernels that are faster than libraries, with operand id in view v, and the
// other operands in row-major order.
func (b *builder) direct(x *group.Group, id op.TensorID, v shape.View) bool {
	if x.Anchor == group.None || b.g.Nodes[x.Anchor].Op != op.Conv {
		return false
	}
	var views [2]shape.View
	for i, in := range b.g.Nodes[x.Anchor].Inputs[:2] {
		if views[i] = shape.Contiguous(b.g.Desc(in).Shape); in == id {
			views[i] = v
		}
	}
	return lower.Direct(b.d.target, b.g, x.Anchor, views[0], views[1])
}

// inRows reports whether rows of a view are contiguous and aligned for the widest accesses.
func (b *builder) inRows(d op.Desc, v shape.View) bool {
	last := len(v.Shape) - 1
	ok := b.aligned(d, v) && (v.Strides[last] == 1 || v.Shape[last] == 1)
	for k, size := range v.Shape[:last] {
		ok = ok && (size == 1 || v.Strides[k] >= 0 && v.Strides[k]*d.DType.Size()%max(b.d.target.Wide, 1) == 0)
	}
	return ok
}

// libraryTakes reports whether a library may accept d as t: as an image or filter of a convolution, a factor of a product, or an operand
// of an attention.
func (b *builder) libraryTakes(x *group.Group, d op.Desc, t tensor) bool {
	if b.own || len(b.d.libraries) == 0 || x.Anchor == group.None {
		return false
	}
	n := &b.g.Nodes[x.Anchor]
	result := n.Outputs[0].Shape
	for _, id := range n.Inputs[min(len(n.Inputs), 2):] {
		if id == d.ID && n.Op != op.Attention {
			return false
		}
	}
	for _, k := range x.Epilogue {
		if slices.Contains(b.g.Nodes[k].Inputs, d.ID) {
			return false
		}
	}
	switch n.Op {
	case op.Conv:
		return d.DType.IsFloat() && swapped(t.view)
	case op.MatMul, op.Linear:
		if len(t.view.Shape) < 2 || !b.aligned(d, t.view) {
			return false
		}
		_, _, _, ok := matrix(t.view, false)
		if ok {
			_, ok = batched(t.view, result[:len(result)-2])
		}
		return ok
	case op.Attention:
		return b.aligned(d, t.view) && t.view.Strides[3] == 1 && slices.Min(t.view.Strides) >= 0
	}
	return false
}
