package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var quantizeKernels = map[op.Code]kernel{
	op.Quantize: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			s := scaleAt(n, idx)
			q := in[0].F[pos] / in[1].F[s]
			if in[0].Desc.DType != dtype.F64 {
				q = Round(dtype.F32, q) // whether a quotient is a tie depends on its width
			}
			if q = math.RoundToEven(q); math.IsNaN(q) {
				q = 0
			}
			out.I[pos] = floatToInt(n.Outputs[0].DType, q+float64(in[2].I[s]))
		})
		return out
	}),
	op.Dequantize: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			s := scaleAt(n, idx)
			out.F[pos] = float64(in[0].I[pos]-in[2].I[s]) * in[1].F[s]
		})
		return out
	}),
}

// scaleAt is which scale and zero point the element at idx has.
func scaleAt(n *op.Node, idx []int) int {
	if axis := n.Attrs.Int("axis"); axis >= 0 {
		return idx[axis]
	}
	return 0
}
