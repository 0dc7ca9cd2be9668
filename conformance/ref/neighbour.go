package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
)

var neighbourKernels = map[op.Code]kernel{
	op.LpNormalize: direct(func(n *op.Node, in []Tensor) Tensor {
		out, p := Zeros(n.Outputs[0]), n.Attrs.Float("p")
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			var s accumulator
			top := 0.0
			for _, x := range floatsAt(in[0], line) {
				s.add(math.Pow(math.Abs(x), p))
				top = max(top, math.Abs(x))
			}
			norm := math.Pow(s.value(), 1/p)
			if math.IsInf(p, 1) {
				norm = top
			}
			for _, q := range line {
				out.F[q] = in[0].F[q] / max(norm, n.Attrs.Float("epsilon"))
			}
		}
		return out
	}),
	op.LocalResponseNorm: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s, size := Zeros(n.Outputs[0]), in[0].Desc.Shape, n.Attrs.Int("size")
		each(s, func(pos int, idx []int) {
			var sum accumulator
			for c := range s[1] {
				if c >= idx[1]-(size-1)/2 && c <= idx[1]+size/2 {
					near := slices.Clone(idx)
					near[1] = c
					sum.add(in[0].F[at(s, near)] * in[0].F[at(s, near)])
				}
			}
			base := n.Attrs.Float("bias") + n.Attrs.Float("alpha")/float64(size)*sum.value()
			out.F[pos] = in[0].F[pos] / math.Pow(base, n.Attrs.Float("beta"))
		})
		return out
	}),
	op.Dropout: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		y, kept := Zeros(n.Outputs[0]), Zeros(n.Outputs[1])
		seed, counter, p := uint64(n.Attrs.Value("seed").Int()), uint64(n.Attrs.Value("counter").Int()), n.Attrs.Float("p")
		for i, x := range in[0].F {
			c := counter + uint64(i/4)
			word := philox([4]uint32{uint32(c), uint32(c >> 32), 0, 0}, [2]uint32{uint32(seed), uint32(seed >> 32)})[i%4]
			if float64(word) >= math.RoundToEven(p*(1<<32)) {
				y.F[i], kept.I[i] = x/(1-p), 1
			}
		}
		return []Tensor{y, kept}, nil
	},
}
