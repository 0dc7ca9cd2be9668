package main

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// movement returns kernels whose results are views if strides can express them, else copies.
func movement[T element]() table {
	return table{
		op.Copy:    func(c *call) error { return set(c, 0, slices.Clone(flat[T](c.In[0]))) },
		op.Reshape: reshape[T],
		op.Permute: view(func(v shape.View, c *call) shape.View { return v.Permute(c.Node.Attrs.Ints("axes")) }),
		op.Expand:  view(func(v shape.View, c *call) shape.View { return v.Expand(c.Node.Outputs[0].Shape) }),
		op.Flip:    view(func(v shape.View, c *call) shape.View { return v.Flip(c.Node.Attrs.Ints("axes")) }),
		op.Slice: view(func(v shape.View, c *call) shape.View {
			return v.Slice(c.Node.Attrs.Ints("start"), c.Node.Attrs.Ints("step"), c.Node.Outputs[0].Shape)
		}),
		op.Pad: func(c *call) error {
			if err := full[T](c.Descs[0].DType)(c); err != nil {
				return err
			}
			place[T](c.Out[0], c.In[0], c.Node.Attrs.Ints("lo"), slices.Repeat([]int{1}, len(c.Descs[0].Shape)))
			return nil
		},
		op.Concat: func(c *call) error {
			s, axis := c.Node.Outputs[0].Shape, c.Node.Attrs.Int("axis")
			at, ones := make([]int, len(s)), slices.Repeat([]int{1}, len(s))
			c.Out[0] = dense(make([]T, s.Size()), s)
			for _, x := range c.In {
				place[T](c.Out[0], x, at, ones)
				at[axis] += x.view.Shape[axis]
			}
			return nil
		},
	}
}

// view returns the kernel of a result that shares the elements of the operand.
func view(f func(v shape.View, c *call) shape.View) func(c *call) error {
	return func(c *call) error {
		c.Out[0] = array{c.In[0].elements, f(c.In[0].view, c)}
		return nil
	}
}

func reshape[T element](c *call) error {
	if v, ok := c.In[0].view.Reshape(c.Node.Outputs[0].Shape); ok {
		c.Out[0] = array{c.In[0].elements, v}
		return nil
	}
	return set(c, 0, flat[T](c.In[0]))
}

// place writes x into the new array y: the first element of x at the index at, the other elements step apart. Elements outside y are
// dropped.
func place[T element](y, x array, at, step []int) {
	from, to, size := make([]int, len(at)), make([]int, len(at)), make(shape.Shape, len(at))
	for i, s := range step {
		from[i] = max(0, (s-1-at[i])/s)
		to[i] = at[i] + from[i]*s
		size[i] = max(0, min(x.view.Shape[i]-from[i], (y.view.Shape[i]-to[i]+s-1)/s))
	}
	ones := slices.Repeat([]int{1}, len(at))
	data, moved, i := y.elements.([]T), flat[T](array{x.elements, x.view.Slice(from, ones, size)}), 0
	offsets(y.view.Slice(to, step, size), func(at int) {
		data[at] = moved[i]
		i++
	})
}
