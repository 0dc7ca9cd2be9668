package cuda

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
)

// Convolution implements gpu.Library.
func (l *dnn) Convolution(c gpu.Convolution) ([]gpu.Candidate, error) {
	what := fmt.Sprintf("convolution %d of %v %v by %v", c.Kind, c.Type, c.Image, c.Filter)
	p, err := newConvolution(&c)
	if err != nil {
		return nil, named(what, err)
	}
	return l.build(what, c, nv.PlanOptions{Forbid: forbidden(c.Type, c.TF32)}, p.fill)
}

// forbidden returns the numerical notes of engines that are not used: what rounds more than the type does, and what computes other bits each
// time. Tensor cores round f32 to tf32.
func forbidden(t dtype.DType, tf32 bool) []nv.Note {
	notes := []nv.Note{nv.NoteDownConvert, nv.NoteReducedPrecision, nv.NoteNondeterministic, nv.NoteFFT}
	if isHalf(t) {
		return append(notes, nv.NoteWinograd)
	}
	if !tf32 {
		notes = append(notes, nv.NoteTensorCore)
	}
	return notes
}

// convolution is a convolution in the words of cuDNN, which has two or three spatial dimensions.
type convolution struct {
	c                     *gpu.Convolution
	image, filter, result nv.TensorSpec
	spec                  nv.ConvSpec
	compute               nv.DNNType
	bias                  nv.DNNType
	activation            nv.Pointwise
}

var dnnActivations = map[gpu.Activation]nv.Pointwise{gpu.ReLU: nv.PwRelu, gpu.GELU: nv.PwGelu, gpu.GELUTanh: nv.PwGeluTanh}

func newConvolution(c *gpu.Convolution) (*convolution, error) {
	t, ok := dnnTypes[c.Type]
	compute, known := dnnTypes[c.Compute]
	n := len(c.Stride)
	switch {
	case !ok || !known:
		return nil, refuse("convolution of %v in %v", c.Type, c.Compute)
	case n < 1 || n > 3:
		return nil, refuse("convolution of %d dimensions", n)
	case c.Kind != gpu.Forward && (c.Bias != dtype.Invalid || c.Residual || c.Activation != gpu.None):
		return nil, refuse("gradient of a convolution with an epilogue")
	}
	p := &convolution{c: c, compute: compute, spec: nv.ConvSpec{Compute: compute, Pre: int64s(c.PadBefore), Post: int64s(c.PadAfter), Stride: int64s(c.Stride), Dilation: int64s(c.Dilation)}}
	if c.Bias != dtype.Invalid {
		if p.bias, ok = dnnTypes[c.Bias]; !ok {
			return nil, refuse("bias of %v", c.Bias)
		}
	}
	if c.Activation != gpu.None {
		p.activation = dnnActivations[c.Activation]
	}
	for _, x := range []struct {
		to            *nv.TensorSpec
		dims, strides []int
	}{{&p.image, c.Image, c.ImageStrides}, {&p.filter, c.Filter, c.FilterStrides}, {&p.result, c.Result, c.OutStrides}} {
		s, err := strides(x.dims, x.strides)
		if err != nil {
			return nil, err
		}
		*x.to = nv.TensorSpec{Type: t, Dims: int64s(x.dims), Strides: s, Align: operandAlign}
	}
	if n == 1 {
		p.widen()
	}
	return p, nil
}

// widen turns a convolution of one dimension into one of two. The first has one element.
func (p *convolution) widen() {
	for _, t := range []*nv.TensorSpec{&p.image, &p.filter, &p.result} {
		t.Strides = slices.Insert(t.Strides, 2, t.Strides[2]*t.Dims[2])
		t.Dims = slices.Insert(t.Dims, 2, 1)
	}
	s := &p.spec
	s.Pre, s.Post = slices.Insert(s.Pre, 0, 0), slices.Insert(s.Post, 0, 0)
	s.Stride, s.Dilation = slices.Insert(s.Stride, 0, 1), slices.Insert(s.Dilation, 0, 1)
}

// fill puts the convolution into a graph and returns its tensors in the order of the call's arguments.
func (p *convolution) fill(g *nv.DNNGraph, _ *nv.Pack) ([]nv.Tensor, error) {
	image, filter := g.Tensor(p.image), g.Tensor(p.filter)
	result := g.Tensor(p.result)
	switch p.c.Kind {
	case gpu.BackwardImage:
		g.ConvData(p.spec, result, filter, image)
		return []nv.Tensor{result, filter, image}, nil
	case gpu.BackwardFilter:
		g.ConvFilter(p.spec, image, result, filter)
		return []nv.Tensor{image, result, filter}, nil
	}
	var steps []func(in, out nv.Tensor)
	var bias, residual nv.Tensor
	all := []nv.Tensor{image, filter, result}
	pointwise := func(op nv.Pointwise, more ...nv.Tensor) {
		steps = append(steps, func(in, out nv.Tensor) {
			g.Pointwise(nv.PointwiseSpec{Op: op, Compute: p.compute}, out, append([]nv.Tensor{in}, more...)...)
		})
	}
	if p.c.Bias != dtype.Invalid {
		dims := make([]int64, len(p.result.Dims))
		for i := range dims {
			dims[i] = 1
		}
		dims[1] = p.result.Dims[1]
		bias = g.Tensor(nv.TensorSpec{Type: p.bias, Dims: dims, Strides: nv.ChannelsLastStrides(dims), Align: operandAlign})
		all = append(all, bias)
	}
	if p.c.Residual {
		residual = g.Tensor(p.result)
		all = append(all, residual)
		pointwise(nv.PwAdd, residual)
	}
	if p.c.Bias != dtype.Invalid {
		pointwise(nv.PwAdd, bias)
	}
	if p.c.Activation != gpu.None {
		pointwise(p.activation)
	}
	next := func(last bool) nv.Tensor {
		if last {
			return result
		}
		v := p.result
		v.Type, v.Virtual = p.compute, true
		return g.Tensor(v)
	}
	at := next(len(steps) == 0)
	g.Conv(p.spec, image, filter, at)
	for i, step := range steps {
		out := next(i == len(steps)-1)
		step(at, out)
		at = out
	}
	return all, nil
}

func int64s(v []int) []int64 {
	w := make([]int64, len(v))
	for i, x := range v {
		w[i] = int64(x)
	}
	return w
}
