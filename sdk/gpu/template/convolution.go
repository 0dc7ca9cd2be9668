package template

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Convolution is the cross-correlation of an image X of shape (batch, channels, places...) with filters W of shape (results, channels
// of a group, places...), over one to three spatial dimensions (places), with an elementwise epilogue. The image is dilated, then
// padded with zeros or cropped. Slots are X, W, Extra, Out, then temporaries. Memory begins at multiples of 16 bytes.
type Convolution struct {
	X, W Operand
	// Stride, Pad (before each dimension, may be negative), Dilation of the filter and InputDilation have an entry for each dimension
	// of places; the padding after each dimension follows from the shape of the results.
	Stride, Pad, Dilation, InputDilation []int
	Groups                               int
	// Compute is the type of products and sums, as for Product.
	Compute dtype.DType
	// Extra and Out have the shape (batch, results, places...), which is also the iteration space of Body.
	Extra, Out []Operand
	// Body computes the results, as in Product.
	Body Body
	// Exact forbids matrix instructions.
	Exact bool
}

// convolution describes a convolution as a product (implicit GEMM). Either the rows or the columns of the product are pixels: all places of
// all images of the batch. The other dimension consists of the results of a group, and the groups are the batch of the product. The depth
// consists of the places of the filter and, for each place, the channels of a group, padded to a multiple of the depth of tiles.
type convolution struct {
	*product
	columns bool // pixels are columns
	// places are the dimensions of pixels, joined where all outputs allow it. outPlaces are the same dimensions before they are joined:
	// batch, places.
	places, outPlaces []int
	pixels            int // number of spatial places of the result, of all images
	results, channels int // number of results, and of channels, of a group
	image, filter     matrix
	in, window        []int // sizes of the spatial dimensions of an image, and of a filter
	imageStrides      []int // strides of the spatial dimensions
	filterStrides     []int
	stride, pad       []int
	dilation          []int // dilation of the filter
	imageDilation     []int
}

// Build returns the launches of the convolution.
func (v Convolution) Build(t Target) (ir.Work, error) {
	c, err := v.normal(t)
	if err != nil {
		return ir.Work{}, err
	}
	if c.m*c.n*c.batches() == 0 {
		return ir.Work{}, nil
	}
	var l []ir.Launch
	few, gradient := c.few(), c.gradient()
	switch mma, ok := c.mma(); {
	case few != nil:
		l = c.fewLaunch(few)
	case gradient != nil:
		l = c.gradientLaunches(gradient)
	case c.channels*c.taps() < 16 || c.results < 8 || c.pixels < 8 || c.channels == 0:
		l = c.direct()
	case ok && !v.Exact && c.channels >= 16:
		l, err = c.fragmentedConvolution(mma)
	default:
		l, err = c.tiledConvolution()
	}
	return ir.Work{Launches: l, Temps: c.temps}, err
}

// normal checks a convolution and returns it as a product.
func (v Convolution) normal(t Target) (*convolution, error) {
	x, w := v.X.View, v.W.View
	r := len(x.Shape) - 2
	if r < 1 || r > 3 || len(w.Shape) != r+2 || len(v.Out) == 0 || len(v.Out[0].View.Shape) != r+2 {
		return nil, fmt.Errorf("convolution: image %v, filter %v, %d results", x.Shape, w.Shape, len(v.Out))
	}
	for _, l := range [][]int{v.Stride, v.Pad, v.Dilation, v.InputDilation} {
		if len(l) != r {
			return nil, fmt.Errorf("convolution: %d strides, paddings or dilations of %d dimensions", len(l), r)
		}
	}
	p := &product{t: t, compute: v.Compute, body: v.Body, shape: slices.Clone(v.Out[0].View.Shape), index: dtype.I32}
	c := &convolution{
		product: p, outPlaces: append([]int{p.shape[0]}, p.shape[2:]...), results: w.Shape[0] / max(v.Groups, 1), channels: w.Shape[1],
		in: x.Shape[2:], window: w.Shape[2:], imageStrides: x.Strides[2:], filterStrides: w.Strides[2:],
		stride: v.Stride, pad: v.Pad, dilation: v.Dilation, imageDilation: v.InputDilation,
	}
	p.conv = c
	if v.Groups < 1 || w.Shape[0]%v.Groups != 0 || x.Shape[1] != w.Shape[1]*v.Groups || p.shape[0] != x.Shape[0] || p.shape[1] != w.Shape[0] {
		return nil, fmt.Errorf("convolution: %d groups of image %v, filter %v, result %v", v.Groups, x.Shape, w.Shape, p.shape)
	}
	if p.body == nil {
		to := v.Out[0].Type
		p.body = func(b *ir.Builder, in []ir.Value, _ func(int) ir.Value) []ir.Value {
			return []ir.Value{b.Cast(to, in[0])}
		}
	}
	c.pixels = shape.Of(c.outPlaces...).Size()
	outputs := slices.Concat(v.Extra, v.Out)
	for i, o := range outputs {
		if !slices.Equal(o.View.Shape, p.shape) {
			return nil, fmt.Errorf("convolution: operand %d has shape %v, want %v", i+2, o.View.Shape, p.shape)
		}
	}
	if v.Groups > 1 {
		p.batch = []int{v.Groups}
	}
	group := func(s int) []int {
		if v.Groups > 1 {
			return []int{s}
		}
		return nil
	}
	c.image = matrix{typ: v.X.Type, slot: 0, off: x.Offset, batch: group(c.channels * x.Strides[1]), row: x.Strides[0], col: x.Strides[1]}
	c.filter = matrix{typ: v.W.Type, slot: 1, off: w.Offset, batch: group(c.results * w.Strides[0]), row: w.Strides[0], col: w.Strides[1]}
	p.a.typ, p.b.typ = v.X.Type, v.W.Type
	for _, o := range append([]Operand{v.X, v.W}, outputs...) {
		if lowest(o.View)+reach(o.View) > indexLimit {
			p.index = dtype.I64
		}
	}
	if c.pixels > indexLimit || c.taps()*c.channels > indexLimit {
		p.index = dtype.I64
	}
	c.orient(v, outputs, group)
	return c, nil
}

// taps returns the number of places of the filter.
func (c *convolution) taps() int { return shape.Of(c.window...).Size() }

// orient decides whether the columns of the product are pixels or results of filters. If there are several results and these are contiguous
// in the first operand of Out, the columns are results, else pixels.
func (c *convolution) orient(v Convolution, outputs []Operand, group func(int) []int) {
	var views []shape.View
	for _, o := range outputs {
		views = append(views, shape.View{Shape: c.outPlaces, Strides: append([]int{o.View.Strides[0]}, o.View.Strides[2:]...)})
	}
	views = shape.Collapse(views...)
	c.places = views[0].Shape
	if len(c.places) == 0 {
		c.places = []int{1}
		for i := range views {
			views[i].Strides = []int{0}
		}
	}
	c.columns = v.Out[0].View.Strides[1] != 1 || c.results == 1
	c.m, c.n, c.k = c.pixels, c.results, c.taps()*c.channels
	if c.columns {
		c.m, c.n = c.n, c.m
	}
	last := len(c.places) - 1
	for i, o := range outputs {
		m := matrix{typ: o.Type, slot: 2 + i, off: o.View.Offset, batch: group(c.results * o.View.Strides[1])}
		m.row, m.col, m.outer = views[i].Strides[last], o.View.Strides[1], views[i].Strides[:last]
		if c.columns {
			m.row, m.col = m.col, m.row
		}
		if i < len(v.Extra) {
			c.extra = append(c.extra, m)
		} else {
			c.product.out = append(c.product.out, m)
		}
	}
}

// locate returns a function that computes the offset of an element in an operand of the body or a result.
func (c *convolution) locate(k *productKernel) func(x strided, row, col ir.Value) ir.Value {
	if len(c.places) == 1 {
		return k.at
	}
	sizes := make([]ir.Value, len(c.places))
	for i := 1; i < len(sizes); i++ {
		sizes[i] = k.size(fmt.Sprintf("places %d", i), c.places[i])
	}
	return func(x strided, row, col ir.Value) ir.Value {
		pixel := &row
		if c.columns {
			pixel = &col
		}
		number := *pixel
		last := len(sizes) - 1
		*pixel = k.Rem(number, sizes[last])
		var o ir.Value
		for i := last - 1; i >= 0; i-- {
			number = k.Div(number, sizes[i+1])
			at := number
			if i > 0 {
				at = k.Rem(number, sizes[i])
			}
			if y, ok := k.times(at, x.outerStrides[i], x.outer[i]); ok {
				if o != 0 {
					y = k.Add(o, y)
				}
				o = y
			}
		}
		if o == 0 {
			return k.at(x, row, col)
		}
		return k.Add(k.at(x, row, col), o)
	}
}

// axis returns a function that computes the position of an element along an axis of the iteration space of the body.
func (c *convolution) axis(k *productKernel, group, row, col ir.Value) func(int) ir.Value {
	return func(axis int) ir.Value {
		pixel, result := row, col
		if c.columns {
			pixel, result = col, row
		}
		if axis == 1 {
			return k.Add(k.Mul(group, k.Int(c.results)), result)
		}
		at := max(axis-1, 0)
		for i := len(c.outPlaces) - 1; i > at; i-- {
			pixel = k.Div(pixel, k.Int(c.outPlaces[i]))
		}
		if at == 0 {
			return pixel
		}
		return k.Rem(pixel, k.Int(c.outPlaces[at]))
	}
}
