package cuda

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
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

// forbidden returns the numerical notes of engines that are not used, because they round more than the type does or because their results
// differ from run to run. Tensor cores round f32 to tf32.
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

// convolution is a convolution as cuDNN describes it, with two or three spatial dimensions.
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
	if !ok || !known {
		return nil, library.Refuse("convolution of %v in %v", c.Type, c.Compute)
	}
	form, err := library.NewConvolution(c)
	if err != nil {
		return nil, err
	}
	p := &convolution{c: c, compute: compute, spec: nv.ConvSpec{Compute: compute, Pre: form.Pre, Post: form.Post, Stride: form.Steps, Dilation: form.Dilation}}
	if c.Bias != dtype.Invalid {
		if p.bias, ok = dnnTypes[c.Bias]; !ok {
			return nil, library.Refuse("bias of %v", c.Bias)
		}
	}
	if c.Activation != gpu.None {
		p.activation = dnnActivations[c.Activation]
	}
	tensor := func(x library.Tensor) nv.TensorSpec {
		return nv.TensorSpec{Type: t, Dims: x.Dims, Strides: x.Strides, Align: operandAlign}
	}
	p.image, p.filter, p.result = tensor(form.Image), tensor(form.Filter), tensor(form.Result)
	return p, nil
}

// fill adds the convolution to a graph and returns its tensors in the order of the call's arguments.
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
