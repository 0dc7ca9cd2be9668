// Package movement contains the kernels of ops that create or move elements: creation, views, padding, concatenation, gather and scatter.
// An op whose result is a view of its operand must share the operand's buffer and copy no elements. Package cpu selects the kernels through
// the rules of package kernel.
package movement

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// view returns a kernel whose result is f applied to the view of its operand.
func view(f func(v shape.View) shape.View) kernel.Func {
	return func(c *kernel.Call) error {
		c.Give(0, c.In[0], f(c.In[0].View))
		return nil
	}
}

func permute(n *op.Node, _ []op.Desc) kernel.Func {
	axes := n.Attrs.Ints("axes")
	return view(func(v shape.View) shape.View { return v.Permute(axes) })
}

func expand(n *op.Node, _ []op.Desc) kernel.Func {
	to := n.Outputs[0].Shape
	return view(func(v shape.View) shape.View { return v.Expand(to) })
}

func slice(n *op.Node, _ []op.Desc) kernel.Func {
	start, step, size := n.Attrs.Ints("start"), n.Attrs.Ints("step"), n.Outputs[0].Shape
	return view(func(v shape.View) shape.View { return v.Slice(start, step, size) })
}

func flip(n *op.Node, _ []op.Desc) kernel.Func {
	axes := n.Attrs.Ints("axes")
	return view(func(v shape.View) shape.View { return v.Flip(axes) })
}

// reshape copies only if no view of the operand has the new shape.
func reshape(n *op.Node, _ []op.Desc) kernel.Func {
	to := n.Outputs[0].Shape
	return func(c *kernel.Call) error {
		if v, ok := c.In[0].View.Reshape(to); ok {
			c.Give(0, c.In[0], v)
			return nil
		}
		out := c.Alloc(0)
		out.View = shape.Contiguous(c.In[0].View.Shape)
		kernel.Copy(c.Pool, out, c.In[0])
		return nil
	}
}

// copied copies the operand to a new buffer, unless the operand has the only reference to its buffer.
func copied(*op.Node, []op.Desc) kernel.Func {
	return func(c *kernel.Call) error {
		if out := c.Reuse(0, 0); out.Buf != c.In[0].Buf {
			kernel.Copy(c.Pool, out, c.In[0])
		}
		return nil
	}
}

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	for c, prepare := range map[op.Code]func(*op.Node, []op.Desc) kernel.Func{
		op.Full: full, op.Iota: iota, op.RandomBits: randomBits, op.RandomBitsAt: randomBits,
		op.Reshape: reshape, op.Permute: permute, op.Expand: expand, op.Slice: slice, op.Flip: flip, op.Copy: copied,
		op.Pad: pad, op.Concat: concat, op.Gather: gather, op.GatherElements: gatherElements, op.CacheWrite: cacheWrite,
	} {
		rules[c] = kernel.Rule{Types: types(c), Prepare: prepare}
	}
	for c, prepare := range map[op.Code]func(*op.Node, []op.Desc) kernel.Func{op.Scatter: scatter, op.ScatterElements: scatterElements} {
		rules[c] = scattered(kernel.Rule{Types: types(c), Prepare: prepare})
	}
	return rules
}
