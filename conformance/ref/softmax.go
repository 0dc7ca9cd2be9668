package ref

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// alongLine returns a kernel that replaces each line along axis by f(line).
func alongLine(f func(line []float64) []float64) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			for k, y := range f(floatsAt(in[0], line)) {
				out.F[line[k]] = y
			}
		}
		return out
	})
}

// shifted returns xs minus their maximum, and the sum of the exponentials of the differences.
func shifted(xs []float64) (ys []float64, sum float64) {
	m := greatest.f(xs)
	var s accumulator
	for _, x := range xs {
		ys = append(ys, x-m)
		s.add(math.Exp(x - m))
	}
	return ys, s.value()
}

var softmaxKernels = map[op.Code]kernel{
	op.Softmax: alongLine(func(xs []float64) []float64 {
		ys, sum := shifted(xs)
		for i, y := range ys {
			ys[i] = math.Exp(y) / sum
		}
		return ys
	}),
	op.LogSoftmax: alongLine(func(xs []float64) []float64 {
		ys, sum := shifted(xs)
		for i := range ys {
			ys[i] -= math.Log(sum)
		}
		return ys
	}),
}
