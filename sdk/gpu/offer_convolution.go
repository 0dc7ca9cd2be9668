package gpu

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
)

// A convolution of the op table becomes one of three convolutions of a library. The gradient with respect to an image is a
// convolution with a dilated input, or with a filter that is reversed and has its channels exchanged. The gradient with respect
// to a filter has batch and channels exchanged in both operands. The views of the operands reveal this, because reversing and
// exchanging axes does not copy.

// swapped reports whether the first two axes of a view are exchanged, or the other axes reversed.
func swapped(v shape.View) bool {
	if len(v.Shape) < 3 {
		return false
	}
	turned := slices.ContainsFunc(v.Strides[2:], func(s int) bool { return s < 0 })
	return turned || v.Shape[0] > 1 && v.Shape[1] > 1 && v.Strides[0] < v.Strides[1]
}

// exchanged returns a view with its first two axes exchanged.
func exchanged(v shape.View) shape.View {
	axes := []int{1, 0}
	for i := 2; i < len(v.Shape); i++ {
		axes = append(axes, i)
	}
	return v.Permute(axes)
}

// places returns the spatial axes of a view: those after the first two.
func places(v shape.View) []int {
	var axes []int
	for i := 2; i < len(v.Shape); i++ {
		axes = append(axes, i)
	}
	return axes
}

func (b *builder) offerConvolution(n *op.Node) *offered {
	d := n.Outputs[0]
	if !d.DType.IsFloat() || d.Shape.Size() == 0 || b.g.Desc(n.Inputs[0]).Shape.Size() == 0 {
		return nil
	}
	x, w := b.at[n.Inputs[0]], b.at[n.Inputs[1]]
	c := &Convolution{Type: d.DType, Compute: d.DType, TF32: b.d.options.TF32, Groups: n.Attrs.Int("groups")}
	if d.DType != dtype.F64 {
		c.Compute = dtype.F32
	}
	dilated := slices.Max(n.Attrs.Ints("input_dilation")) > 1
	switch {
	case dilated || !swapped(x.view) && swapped(w.view):
		return b.offerBackwardImage(n, c, x, w)
	case swapped(x.view) && swapped(w.view):
		return b.offerBackwardFilter(n, c, x, w)
	}
	c.PadBefore, c.PadAfter = n.Attrs.Ints("pad_lo"), n.Attrs.Ints("pad_hi")
	c.Stride, c.Dilation = n.Attrs.Ints("strides"), n.Attrs.Ints("kernel_dilation")
	return c.offer(n.Inputs[:2], []tensor{x, w}, x.view, w.view, shape.Contiguous(d.Shape), 2)
}

// offer fills in the layouts of image, filter and result. out says which of them is the result of the node: 0, 1 or 2. It returns
// nil if libraries do not support the layout.
func (c *Convolution) offer(in []op.TensorID, from []tensor, image, filter, result shape.View, out int) *offered {
	if slices.Min(c.PadBefore) < 0 || slices.Min(c.PadAfter) < 0 {
		return nil
	}
	for _, v := range []shape.View{image, filter, result} {
		if slices.Min(v.Strides) < 0 {
			return nil
		}
	}
	c.Image, c.Filter, c.Result = image.Shape, filter.Shape, result.Shape
	c.ImageStrides, c.FilterStrides, c.OutStrides = image.Strides, filter.Strides, result.Strides
	return &offered{convolution: c, in: in, from: from, view: []shape.View{image, filter, result}[out]}
}

// offerBackwardImage reads a convolution as the gradient of another convolution with respect to its image: x is the gradient of the result,
// w the filter with its channels exchanged and its spatial axes reversed.
func (b *builder) offerBackwardImage(n *op.Node, c *Convolution, x, w tensor) *offered {
	d := n.Outputs[0]
	if c.Groups != 1 || slices.Max(n.Attrs.Ints("strides")) > 1 {
		return nil
	}
	w.view = exchanged(w.view.Flip(places(w.view)))
	for i, k := range w.view.Shape {
		if k == 1 { // its stride means nothing
			w.view.Strides[i] = max(w.view.Strides[i], -w.view.Strides[i])
		}
	}
	c.Kind = BackwardImage
	c.Stride, c.Dilation = n.Attrs.Ints("input_dilation"), n.Attrs.Ints("kernel_dilation")
	lo := n.Attrs.Ints("pad_lo")
	for i, k := range w.view.Shape[2:] {
		c.PadBefore = append(c.PadBefore, (k-1)*c.Dilation[i]-lo[i])
	}
	if !c.padAfter(d.Shape, w.view.Shape, x.view.Shape) {
		return nil
	}
	return c.offer(n.Inputs[:2], []tensor{x, w}, shape.Contiguous(d.Shape), w.view, x.view, 0)
}

// offerBackwardFilter reads a convolution as the gradient of another convolution with respect to its filter: x is the image and w the
// gradient of the result. Batch and channels are exchanged in both, and in the filter's gradient.
func (b *builder) offerBackwardFilter(n *op.Node, c *Convolution, x, w tensor) *offered {
	if c.Groups != 1 {
		return nil
	}
	x.view, w.view = exchanged(x.view), exchanged(w.view)
	filter := shape.Contiguous(exchanged(shape.Contiguous(n.Outputs[0].Shape)).Shape)
	c.Kind = BackwardFilter
	c.Stride, c.Dilation, c.PadBefore = n.Attrs.Ints("kernel_dilation"), n.Attrs.Ints("strides"), n.Attrs.Ints("pad_lo")
	if !c.padAfter(x.view.Shape, filter.Shape, w.view.Shape) {
		return nil
	}
	o := c.offer(n.Inputs[:2], []tensor{x, w}, x.view, filter, w.view, 1)
	if o != nil {
		o.view = exchanged(o.view)
	}
	return o
}

// padAfter finds a padding after the image with which the convolution has a result of the given shape. If possible, it chooses the same
// padding as before the image. It returns false if no padding has that result.
func (c *Convolution) padAfter(image, filter, result shape.Shape) bool {
	for i, k := range filter[2:] {
		least := (result[2+i]-1)*c.Stride[i] + (k-1)*c.Dilation[i] + 1 - image[2+i] - c.PadBefore[i]
		most := least + c.Stride[i] - 1
		pad := min(max(c.PadBefore[i], least), most)
		if pad < 0 || c.PadBefore[i] < 0 {
			return false
		}
		c.PadAfter = append(c.PadAfter, pad)
	}
	return true
}

// offerLast lets a convolution read and write with channels last, if a library has candidates for that.
func (b *builder) offerLast(x *group.Group, o *offered) ([]Candidate, error) {
	c := *o.convolution
	c.ImageStrides, c.FilterStrides, c.OutStrides = lastView(c.Image).Strides, lastView(c.Filter).Strides, lastView(c.Result).Strides
	c.Bias, c.Residual, c.Activation = dtype.Invalid, false, None
	n := &b.g.Nodes[x.Anchor]
	y := offered{convolution: &c, most: o.most, in: o.in, out: n.Outputs[0]}
	y.view = lastView(y.out.Shape)
	if c.Kind == BackwardFilter {
		y.view = exchanged(lastView(c.Filter))
	}
	b.epilogue(&y, x)
	cs := b.candidates(&y)
	if len(cs) == 0 {
		return nil, nil
	}
	for i, t := range o.from {
		d := b.g.Desc(o.in[i])
		d.Shape = t.view.Shape
		t, err := b.ordered(x, d, t)
		if err != nil {
			return nil, err
		}
		y.from = append(y.from, t)
	}
	*o = y
	return cs, nil
}
