package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// running creates functions that combine elements one by one. Each call passes the next element, and returns the combination of all
// elements so far. The first result is the combination of no elements.
type running struct {
	f func() (none float64, next func(x float64) float64)
	i func(d dtype.DType) (none int64, next func(x int64) int64)
}

// scan returns the kernel that combines, for every element of a line, all elements up to it (before it, when exclusive).
func scan(r running) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			if n.Attrs.Bool("reverse") {
				slices.Reverse(line)
			}
			if d := in[0].Desc.DType; d.IsFloat() {
				upto, next := r.f()
				through(out.F, in[0].F, line, n.Attrs.Bool("exclusive"), upto, next)
			} else {
				upto, next := r.i(d)
				through(out.I, in[0].I, line, n.Attrs.Bool("exclusive"), upto, next)
				for _, p := range line {
					out.I[p] = Wrap(d, out.I[p])
				}
			}
		}
		return out
	})
}

// through sets each element of out along line to the combination of the elements of x up to it or, if exclusive, before it.
func through[E any](out, x []E, line []int, exclusive bool, upto E, next func(E) E) {
	for _, p := range line {
		before := upto
		upto = next(x[p])
		if out[p] = upto; exclusive {
			out[p] = before
		}
	}
}

var (
	runningSum = running{
		func() (float64, func(float64) float64) {
			var a accumulator
			return 0, func(x float64) float64 {
				a.add(x)
				return a.value()
			}
		},
		func(dtype.DType) (int64, func(int64) int64) {
			s := int64(0)
			return s, func(x int64) int64 {
				s += x
				return s
			}
		}}
	runningProduct = running{
		func() (float64, func(float64) float64) {
			p := 1.0
			return p, func(x float64) float64 {
				p *= x
				return p
			}
		},
		func(dtype.DType) (int64, func(int64) int64) {
			p := int64(1)
			return p, func(x int64) int64 {
				p *= x
				return p
			}
		}}
)

// runningExtreme combines to the greatest element so far, or the least one.
func runningExtreme(above bool) running {
	return running{
		func() (float64, func(float64) float64) {
			sign := 1
			if above {
				sign = -1
			}
			m := math.Inf(sign)
			return m, func(x float64) float64 {
				if above {
					m = max(m, x)
				} else {
					m = min(m, x)
				}
				return m
			}
		},
		func(d dtype.DType) (int64, func(int64) int64) {
			least, greatest := limits(d)
			m := greatest
			if above {
				m = least
			}
			return m, func(x int64) int64 {
				if above && lessInt(d, m, x) || !above && lessInt(d, x, m) {
					m = x
				}
				return m
			}
		}}
}

var scanKernels = map[op.Code]kernel{
	op.CumSum:  scan(runningSum),
	op.CumProd: scan(runningProduct),
	op.CumMax:  scan(runningExtreme(true)),
	op.CumMin:  scan(runningExtreme(false)),
}
