package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
)

// gated returns the kernel of a function of corresponding elements of the two halves of the operand along attribute axis.
func gated(f func(a, b float64) float64) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		axis := n.Attrs.Int("axis")
		out, s := Zeros(n.Outputs[0]), in[0].Desc.Shape
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			second := slices.Clone(idx)
			second[axis] += s[axis] / 2
			out.F[pos] = f(in[0].F[at(s, idx)], in[0].F[at(s, second)])
		})
		return out
	})
}

func gelu(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }

var gateKernels = map[op.Code]kernel{
	op.GLU:    gated(func(a, b float64) float64 { return a * sigmoid(b) }),
	op.SwiGLU: gated(func(a, b float64) float64 { return a * sigmoid(a) * b }),
	op.GeGLU:  gated(func(a, b float64) float64 { return a * gelu(b) }),
	op.HardTanh: activation(func(e element, x float64) float64 {
		return min(max(x, e.number("min")), e.number("max"))
	}),
	op.Relu6: elementwise(scalarRule{
		f: func(_ element, x []float64) float64 { return min(max(x[0], 0), 6) },
		i: func(e element, x []int64) int64 {
			if lessInt(e.dtype, x[0], 0) {
				return 0
			}
			return pickInt(lessInt(e.dtype, 6, x[0]), 6, x[0])
		},
	}),
	op.LogSigmoid: activation(func(_ element, x float64) float64 { return -softplus(-x) }),
	op.HardShrink: activation(func(e element, x float64) float64 {
		if l := e.number("lambda"); -l <= x && x <= l {
			return 0
		}
		return x
	}),
	op.SoftShrink: activation(func(e element, x float64) float64 {
		l := e.number("lambda")
		switch {
		case x > l:
			return x - l
		case x < -l:
			return x + l
		case math.IsNaN(x):
			return x
		}
		return 0
	}),
	op.TanhShrink: activation(func(_ element, x float64) float64 { return x - math.Tanh(x) }),
	op.QuickGelu:  activation(func(e element, x float64) float64 { return x * sigmoid(e.attrs.Float("alpha")*x) }),
	op.Softmin: alongLine(func(xs []float64) []float64 {
		for i := range xs {
			xs[i] = -xs[i]
		}
		ys, sum := shifted(xs)
		for i, y := range ys {
			ys[i] = math.Exp(y) / sum
		}
		return ys
	}),
	op.Hardmax: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			if len(line) == 0 {
				continue
			}
			best := line[0]
			for _, p := range line {
				if order(in[0], p, best) > 0 { // NaN is greater than everything
					best = p
				}
			}
			if out.F != nil {
				out.F[best] = 1
			} else {
				out.I[best] = 1
			}
		}
		return out
	}),
}
