package gpu

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/template"
)

// place finds concatenations whose parts can be written in place by the groups that compute them.
func (b *builder) place(groups []*group.Group) {
	b.placed, b.joined = map[op.TensorID]tensor{}, map[*group.Group]tensor{}
	if b.d.target.Apart {
		return // a part may be computed from another part, and both would be in one buffer
	}
	able := func(x *group.Group) bool {
		return x.Kind != group.Single || !moves(b.g.Nodes[x.Anchor].Op) && b.g.Nodes[x.Anchor].Op != op.Full
	}
	for _, p := range b.g.Placements(groups, able) {
		x := groups[p.Concat]
		d := x.Outputs[0]
		t := contiguous(b.add(buffer{bytes: int64(d.Bytes())}), d)
		b.joined[x] = t
		for _, part := range p.Parts {
			if part.Writer != group.None && b.aligned(d, part.View) {
				b.placed[part.ID] = tensor{t.buffer, part.View}
			}
		}
	}
}

// anyPlaced reports whether a part of a concatenation was written in place.
func (b *builder) anyPlaced(x *group.Group, t tensor) bool {
	for _, id := range x.Inputs {
		if b.at[id].buffer == t.buffer {
			return true
		}
	}
	return false
}

// join completes a concatenation: it copies the parts that were not written in place.
func (b *builder) join(x *group.Group, t tensor) error {
	n, d := &b.g.Nodes[x.Anchor], x.Outputs[0]
	axis := n.Attrs.Int("axis")
	start, step := make([]int, len(d.Shape)), make([]int, len(d.Shape))
	for i := range step {
		step[i] = 1
	}
	for _, id := range n.Inputs {
		part := b.g.Desc(id)
		to := t.view.Slice(start, step, part.Shape)
		start[axis] += part.Shape[axis]
		from := b.at[id]
		if part.Shape.Size() == 0 || from.buffer == t.buffer && from.view.Offset == to.Offset {
			continue
		}
		if err := b.copyTo(x, part, from, tensor{t.buffer, to}); err != nil {
			return err
		}
	}
	b.at[d.ID] = t
	return nil
}

// copyTo copies the elements of tensor from to tensor to, as a step of group x.
func (b *builder) copyTo(x *group.Group, d op.Desc, from, to tensor) error {
	g, y, err := copying(op.Desc{DType: d.DType, Shape: from.view.Shape})
	if err != nil {
		return err
	}
	slots := []arg{{buffer: from.buffer}, {buffer: to.buffer}}
	out := template.Operand{Type: d.DType, View: to.view}
	if to.view.IsContiguous() && b.aligned(d, to.view) {
		slots[1], out.View = b.argOf(to, d.DType), shape.Contiguous(to.view.Shape)
	}
	w, err := lower.Group(b.d.target, g, y, []template.Operand{{Type: d.DType, View: from.view}}, []template.Operand{out})
	if err != nil {
		return err
	}
	return b.work(x, w, slots, b.buffers[to.buffer].kind == isEarly)
}
