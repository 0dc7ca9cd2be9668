package library

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
)

// Tensor is the layout of a tensor, in elements.
type Tensor struct{ Dims, Strides []int64 }

// Convolution is a convolution of two or three spatial dimensions, the form that libraries accept. All strides are at least 1.
type Convolution struct {
	Image, Filter, Result      Tensor
	Pre, Post, Steps, Dilation []int64
}

// NewConvolution returns a convolution in that form: one spatial dimension becomes two, the first with one element. It refuses other
// numbers of dimensions, tensors that overlap themselves, and gradients with an epilogue.
func NewConvolution(c *gpu.Convolution) (*Convolution, error) {
	n := len(c.Stride)
	switch {
	case n < 1 || n > 3:
		return nil, Refuse("convolution of %d dimensions", n)
	case c.Kind != gpu.Forward && (c.Bias != dtype.Invalid || c.Residual || c.Activation != gpu.None):
		return nil, Refuse("gradient of a convolution with an epilogue")
	}
	p := &Convolution{Pre: Int64s(c.PadBefore), Post: Int64s(c.PadAfter), Steps: Int64s(c.Stride), Dilation: Int64s(c.Dilation)}
	for _, x := range []struct {
		to            *Tensor
		dims, strides []int
	}{{&p.Image, c.Image, c.ImageStrides}, {&p.Filter, c.Filter, c.FilterStrides}, {&p.Result, c.Result, c.OutStrides}} {
		s, err := Strides(x.dims, x.strides)
		if err != nil {
			return nil, err
		}
		*x.to = Tensor{Int64s(x.dims), s}
	}
	if n == 1 {
		p.widen()
	}
	return p, nil
}

// widen turns a convolution of one dimension into one of two.
func (p *Convolution) widen() {
	for _, t := range []*Tensor{&p.Image, &p.Filter, &p.Result} {
		t.Strides = slices.Insert(t.Strides, 2, t.Strides[2]*t.Dims[2])
		t.Dims = slices.Insert(t.Dims, 2, 1)
	}
	p.Pre, p.Post = slices.Insert(p.Pre, 0, 0), slices.Insert(p.Post, 0, 0)
	p.Steps, p.Dilation = slices.Insert(p.Steps, 0, 1), slices.Insert(p.Dilation, 0, 1)
}

// Strides returns the strides of a tensor for libraries that demand a stride of at least 1 even for dimensions of one element.
func Strides(dims, given []int) ([]int64, error) {
	s := Int64s(given)
	span := int64(1)
	for i, d := range dims {
		switch {
		case d < 1 || d > 1 && s[i] < 1:
			return nil, Refuse("a tensor %v with strides %v", dims, given)
		case d > 1:
			span = max(span, int64(d)*s[i])
		}
	}
	for i, d := range dims {
		if d == 1 && s[i] < 1 {
			s[i] = span
		}
	}
	return s, nil
}

// Int64s converts numbers.
func Int64s(v []int) []int64 {
	w := make([]int64, len(v))
	for i, x := range v {
		w[i] = int64(x)
	}
	return w
}
