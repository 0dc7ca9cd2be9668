package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// narrowed returns p in the precision of the options, with its constants converted to the types that the new program needs.
func (s *Session) narrowed(t *tracer, p *program.Program, consts []*data) (*program.Program, []*data, error) {
	if s.options.Precision == dtype.Invalid {
		return p, consts, nil
	}
	target := s.dev.Target()
	q, from, err := p.Autocast(s.options.Precision, func(n *op.Node, in []op.Desc) bool { return target.Supports(n, in) == nil })
	if err != nil {
		return nil, nil, err
	}
	out := make([]*data, len(q.Consts))
	for i, d := range q.Consts {
		c := consts[from[i]]
		if c.dtype != d.DType {
			c = t.do(op.Cast, []value{tensorOf(c)}, op.Type("dtype", d.DType)).data
		}
		out[i] = c
	}
	return q, out, nil
}

// foldNorm folds a batch norm of x by constants into the weights and bias of the convolution that computes x, and reports whether it did.
// In narrow types a separate norm would round once more, and between two products cost two casts.
func (t *tracer) foldNorm(x, scale, bias, mean, variance value, epsilon float64) (value, bool) {
	if t.s.options.Precision == dtype.Invalid || x.dtype() != dtype.F32 || x.data.seg != t.seg || x.rank() < 3 {
		return value{}, false
	}
	for _, v := range []value{scale, bias, mean, variance} {
		if !v.data.constant {
			return value{}, false
		}
	}
	conv, old := t.convOf(x.data.id)
	if conv == nil {
		return value{}, false
	}
	weights := t.constantOf(conv.Inputs[1])
	if weights == nil {
		return value{}, false
	}
	c, w := calc{t}, tensorOf(weights)
	factor := c.mul(scale, c.un(op.Rsqrt, c.addN(variance, epsilon)))
	shift := c.sub(bias, c.mul(mean, factor))
	if old != nil {
		shift = c.add(shift, c.mul(t.reshape(tensorOf(old), factor.shape()...), factor))
	}
	w = c.mul(w, t.reshape(factor, append([]int{factor.shape()[0]}, ones(w.rank()-1)...)...))
	n, err := op.New(op.Conv, []op.Desc{t.seg.desc(conv.Inputs[0]), w.data.desc()}, conv.Attrs...)
	if err != nil {
		return value{}, false
	}
	n.Inputs = []op.TensorID{conv.Inputs[0], t.use(w.data)}
	return t.biased(t.record(n)[0], shift), true
}

// convOf returns the convolution that computes a value of the segment, and the constant bias that was added per channel; nil for
// none.
func (t *tracer) convOf(id op.TensorID) (conv *op.Node, bias *data) {
	n := t.seg.producer(id)
	if n != nil && n.Op == op.Add {
		if bias = t.constantOf(n.Inputs[1]); bias == nil {
			return nil, nil
		}
		channels := n.Outputs[0].Shape[1]
		if s := bias.shape; s.Size() != channels || !slices.Contains([]int{len(n.Outputs[0].Shape), len(n.Outputs[0].Shape) - 1}, len(s)) || s[len(s)-len(n.Outputs[0].Shape)+1] != channels {
			return nil, nil
		}
		n = t.seg.producer(n.Inputs[0])
	}
	if n == nil || n.Op != op.Conv {
		return nil, nil
	}
	return n, bias
}

// producer returns the node of the segment that computes id, or nil.
func (s *segment) producer(id op.TensorID) *op.Node {
	for i := len(s.nodes) - 1; i >= 0; i-- {
		if s.nodes[i].Outputs[0].ID == id {
			return &s.nodes[i]
		}
	}
	return nil
}

// constantOf returns the constant that has this id in the segment, or nil.
func (t *tracer) constantOf(id op.TensorID) *data {
	for d, i := range t.seg.ids {
		if i == id && d.constant {
			return d
		}
	}
	return nil
}
