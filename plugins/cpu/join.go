package cpu

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// destination is the memory into which a unit writes its result: a part of the result of another unit, which an earlier unit allocates.
type destination struct {
	id   op.TensorID // the other result, or 0 for separate memory
	view shape.View
}

// writesAnywhere reports whether the kernel of a group can write its result into a part of another unit's result: products, convolutions
// and pools of f32 and f64 can.
func writesAnywhere(g *group.Graph, x *group.Group) bool {
	if x.Anchor == group.None {
		return false
	}
	switch g.Nodes[x.Anchor].Op {
	case op.MatMul, op.Linear, op.Conv, op.WindowReduce, op.AvgPool:
		t := x.Outputs[0].DType
		return t == dtype.F32 || t == dtype.F64
	}
	return false
}

// join changes units so that they write their results directly into the concatenations that read them. placements refer to the groups of
// the units.
func (b *builder) join(units []unit, placements []group.Placement) []unit {
	before := map[int][]unit{} // units that allocate the memory, by the unit that they precede
	for _, p := range placements {
		before[p.First] = append(before[p.First], b.joinUnit(units, p))
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

// joinUnit changes a concatenation and the units that write into it. It returns the unit that allocates the memory.
func (b *builder) joinUnit(units []unit, p group.Placement) unit {
	u := &units[p.Concat]
	made := op.Desc{ID: b.fresh(), DType: u.desc[0].DType, Shape: u.desc[0].Shape}
	u.inputs, u.assembled = []op.TensorID{made.ID}, true
	var parts []shape.View // views of the parts of the other inputs
	for _, part := range p.Parts {
		if part.Writer != group.None {
			units[part.Writer].dest = destination{made.ID, part.View}
			continue
		}
		u.inputs, parts = append(u.inputs, part.ID), append(parts, part.View)
	}
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
	return unit{node: u.node, all: u.all, assembled: true, desc: []op.Desc{made}, run: func(c *kernel.Call) error { c.Alloc(0); return nil }}
}

// fresh returns an id that the program does not use.
func (b *builder) fresh() op.TensorID {
	if b.last == 0 {
		for id := range b.descs {
			b.last = max(b.last, id)
		}
	}
	b.last++
	return b.last
}
