package ref

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var quantizeKernels = map[op.Code]kernel{
	op.Quantize: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			s := scaleAt(n, in[1].Desc.Shape, idx)
			// Whether a quotient is a tie depends on the width that it is computed in.
			out.I[pos] = quantizedNumber(n, in[0].Desc.DType, in[0].F[pos]/in[1].F[s], in[2], s)
		})
		return out
	}),
	op.Dequantize: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			s := scaleAt(n, in[1].Desc.Shape, idx)
			out.F[pos] = float64(in[0].I[pos]-in[2].I[s]) * in[1].F[s]
		})
		return out
	}),
}

// scaleAt returns the position of the scale and the zero point of the element at idx, in tensors of shape s.
func scaleAt(n *op.Node, s shape.Shape, idx []int) int {
	axis, block := n.Attrs.Int("axis"), n.Attrs.Int("block")
	switch {
	case axis < 0:
		return 0
	case block == 0:
		return idx[axis]
	}
	place := slices.Clone(idx)
	place[axis] /= block
	return at(s, place)
}
