package ref

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var normKernels = map[op.Code]kernel{
	op.BatchNorm: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			c := idx[1]
			scale, bias, mean, variance := in[1].F[c], in[2].F[c], in[3].F[c], in[4].F[c]
			out.F[pos] = (in[0].F[pos]-mean)/math.Sqrt(variance+n.Attrs.Float("epsilon"))*scale + bias
		})
		return out
	}),
	op.LayerNorm: direct(func(n *op.Node, in []Tensor) Tensor {
		s, axis := n.Outputs[0].Shape, n.Attrs.Int("axis")
		out := standardised(n, in[0], s, from(axis, len(s)))
		tailAffine(out, in[1:], axis)
		return out
	}),
	op.RMSNorm: direct(func(n *op.Node, in []Tensor) Tensor {
		s, axis := n.Outputs[0].Shape, n.Attrs.Int("axis")
		out := Zeros(n.Outputs[0])
		for _, g := range groups(s, from(axis, len(s))) {
			var sq accumulator
			for _, p := range g {
				sq.add(in[0].F[p] * in[0].F[p])
			}
			for _, p := range g {
				out.F[p] = in[0].F[p] / math.Sqrt(sq.value()/float64(len(g))+n.Attrs.Float("epsilon"))
			}
		}
		tailAffine(out, in[1:], axis)
		return out
	}),
	op.GroupNorm: direct(func(n *op.Node, in []Tensor) Tensor {
		s, g := n.Outputs[0].Shape, n.Attrs.Int("groups")
		split := append(shape.Of(s[0], g, s[1]/g), s[2:]...) // the same elements, channels split into groups
		out := standardised(n, in[0], split, from(2, len(split)))
		each(s, func(pos int, idx []int) { out.F[pos] = out.F[pos]*in[1].F[idx[1]] + in[2].F[idx[1]] })
		return out
	}),
}

// standardised returns x normalized to mean 0 and variance 1 over axes of shape s, as which it interprets the elements of x.
func standardised(n *op.Node, x Tensor, s shape.Shape, axes []int) Tensor {
	out := Zeros(n.Outputs[0])
	for _, g := range groups(s, axes) {
		xs := floatsAt(x, g)
		m, v := mean(xs), squares(xs)/float64(len(xs))
		for _, p := range g {
			out.F[p] = (x.F[p] - m) / math.Sqrt(v+n.Attrs.Float("epsilon"))
		}
	}
	return out
}

// tailAffine scales and then shifts out by operands that broadcast to its dimensions from axis on.
func tailAffine(out Tensor, operands []Tensor, axis int) {
	each(out.Desc.Shape, func(pos int, idx []int) {
		if len(operands) > 0 {
			out.F[pos] *= operands[0].F[stretched(operands[0].Desc.Shape, idx[axis:])]
		}
		if len(operands) > 1 {
			out.F[pos] += operands[1].F[stretched(operands[1].Desc.Shape, idx[axis:])]
		}
	})
}
