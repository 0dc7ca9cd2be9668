package cpu

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// place is where a unit writes its result: a part of the result of another one, which a unit before it has made.
type place struct {
	id   op.TensorID // 0: memory of its own
	view shape.View
}

// join lets products, convolutions and pools write their results into the concatenation that they go to, where their parts of
// it are contiguous.
func (b *builder) join(units []unit) []unit {
	makers := map[op.TensorID]int{} // units that can write anywhere
	for i := range units {
		u := &units[i]
		switch u.node.Op {
		case op.MatMul, op.Linear, op.Conv, op.WindowReduce, op.AvgPool:
			if t := u.desc[0].DType; len(u.desc) == 1 && (t == dtype.F32 || t == dtype.F64) {
				makers[u.desc[0].ID] = i
			}
		}
	}
	before := map[int][]unit{}
	for i := range units {
		u := &units[i]
		if u.node.Op != op.Concat || u.desc[0].Shape[:u.node.Attrs.Int("axis")].Size() != 1 {
			continue
		}
		if first, whole := b.joinUnit(units, u, makers); whole.run != nil {
			before[first] = append(before[first], whole)
		}
	}
	if len(before) == 0 {
		return units
	}
	var all []unit
	for i, u := range units {
		all = append(append(all, before[i]...), u)
	}
	return all
}

// joinUnit changes a concatenation and the units that write into it, and gives the unit that makes the memory, to be run before
// unit number first; no unit if nothing changes.
func (b *builder) joinUnit(units []unit, u *unit, makers map[op.TensorID]int) (first int, whole unit) {
	out := u.desc[0]
	axis := u.node.Attrs.Int("axis")
	var rest []op.TensorID
	var parts []shape.View
	ones, start := make([]int, len(out.Shape)), make([]int, len(out.Shape))
	for i := range ones {
		ones[i] = 1
	}
	first = len(units)
	made := op.Desc{ID: b.fresh(), DType: out.DType, Shape: out.Shape}
	for _, id := range u.inputs {
		s := b.descs[id].Shape
		view := shape.Contiguous(out.Shape).Slice(start, ones, s)
		start[axis] += s[axis]
		maker, ok := makers[id]
		if !ok || s.Size() == 0 || slices.Contains(b.p.Outputs, id) || units[maker].place.id != 0 {
			rest, parts = append(rest, id), append(parts, view)
			continue
		}
		view.Strides = shape.Contiguous(s).Strides
		units[maker].place = place{made.ID, view}
		first = min(first, maker)
	}
	if first == len(units) {
		return 0, unit{}
	}
	u.inputs = append([]op.TensorID{made.ID}, rest...)
	u.run = func(c *kernel.Call) error {
		for i, v := range parts {
			if a := c.In[1+i]; a.Size() > 0 {
				to := c.In[0]
				to.View = v
				kernel.Copy(c.Pool, to, a)
			}
		}
		c.Give(0, c.In[0], c.In[0].View)
		return nil
	}
	return first, unit{node: u.node, desc: []op.Desc{made}, run: func(c *kernel.Call) error { c.Alloc(0); return nil }}
}

// fresh is an id that the program does not use.
func (b *builder) fresh() op.TensorID {
	if b.last == 0 {
		for id := range b.descs {
			b.last = max(b.last, id)
		}
	}
	b.last++
	return b.last
}
