package elementwise

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// byBlocks returns f for nodes with a scale and zero point for each block of x along an axis. If the blocks divide the axis, it splits the
// axis into blocks and positions within a block, along which scales and zero points broadcast. Otherwise it repeats them to the shape of x.
func byBlocks(n *op.Node, f func(c *kernel.Call) error) func(c *kernel.Call) error {
	axis, length := n.Attrs.Int("axis"), n.Attrs.Int("block")
	if length == 0 {
		return f
	}
	return func(c *kernel.Call) error {
		x := c.In[0].View.Shape
		if len(x) == shape.MaxRank || x[axis]%length != 0 {
			return reordered(c, f, c.In[0], repeated(c, c.In[1], x, axis, length), repeated(c, c.In[2], x, axis, length))
		}
		desc, blocks := c.Desc, x[axis]/length
		c.Desc = slices.Clone(desc)
		c.Desc[0].Shape = slices.Concat(x[:axis], shape.Of(blocks, length), x[axis+1:])
		err := reordered(c, f, split(c.In[0], axis, blocks, length), split(c.In[1], axis, blocks, 1), split(c.In[2], axis, blocks, 1))
		c.Desc = desc
		if err == nil {
			c.Out[0].View = shape.Contiguous(desc[0].Shape)
		}
		return err
	}
}

// split returns a with dimension axis split into two: blocks and positions within a block.
func split(a kernel.Array, axis, blocks, length int) kernel.Array {
	v := a.View
	stride := v.Strides[axis]
	a.View.Shape = slices.Concat(v.Shape[:axis], shape.Of(blocks, length), v.Shape[axis+1:])
	a.View.Strides = slices.Concat(v.Strides[:axis], []int{length * stride, stride}, v.Strides[axis+1:])
	return a
}

// repeated returns a scale or zero point by blocks, repeated to the shape of x.
func repeated(c *kernel.Call, a kernel.Array, x shape.Shape, axis, length int) kernel.Array {
	t := c.Temp(a.DType, x)
	for b := range a.View.Shape[axis] {
		from, to := a, t
		from.View.Offset += b * from.View.Strides[axis]
		from.View.Shape = slices.Clone(a.View.Shape)
		from.View.Shape[axis] = 1
		to.View.Shape = slices.Clone(x)
		to.View.Shape[axis] = min(length, x[axis]-b*length)
		to.View.Offset += b * length * to.View.Strides[axis]
		from.View = from.View.Expand(to.View.Shape)
		kernel.Copy(c.Pool, to, from)
	}
	return t
}
