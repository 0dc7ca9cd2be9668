package ref

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// statistic returns a kernel that reduces over axes: f returns the result for a list of elements.
func statistic(f func(a op.Attrs, xs []float64) float64) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for i, g := range groups(in[0].Desc.Shape, n.Attrs.Ints("axes")) {
			out.F[i] = f(n.Attrs, floatsAt(in[0], g))
		}
		return out
	})
}

func mean(xs []float64) float64 { return total(xs) / float64(len(xs)) }

// squares returns the sum of squared distances from the mean.
func squares(xs []float64) float64 {
	m := mean(xs)
	var s accumulator
	for _, x := range xs {
		s.add((x - m) * (x - m))
	}
	return s.value()
}

var statisticsKernels = map[op.Code]kernel{
	op.Mean: statistic(func(_ op.Attrs, xs []float64) float64 { return mean(xs) }),
	op.Variance: statistic(func(a op.Attrs, xs []float64) float64 {
		return squares(xs) / (float64(len(xs)) - a.Float("correction"))
	}),
	op.LogSumExp: statistic(func(_ op.Attrs, xs []float64) float64 {
		m := greatest.f(xs)
		if math.IsInf(m, 0) {
			m = 0
		}
		var s accumulator
		for _, x := range xs {
			s.add(math.Exp(x - m))
		}
		return m + math.Log(s.value())
	}),
}
