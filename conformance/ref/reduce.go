package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// reducer combines a list of elements, possibly empty, into one.
type reducer struct {
	f func(xs []float64) float64
	i func(d dtype.DType, xs []int64) int64
}

var (
	sum = reducer{total, func(_ dtype.DType, xs []int64) int64 {
		s := int64(0)
		for _, x := range xs {
			s += x
		}
		return s
	}}
	product = reducer{
		func(xs []float64) float64 {
			p := 1.0
			for _, x := range xs {
				p *= x
			}
			return p
		},
		func(_ dtype.DType, xs []int64) int64 {
			p := int64(1)
			for _, x := range xs {
				p *= x
			}
			return p
		}}
	greatest = reducer{
		func(xs []float64) float64 {
			m := math.Inf(-1)
			for _, x := range xs {
				m = max(m, x)
			}
			return m
		},
		func(d dtype.DType, xs []int64) int64 {
			m, _ := limits(d)
			for _, x := range xs {
				m = pickInt(lessInt(d, m, x), x, m)
			}
			return m
		}}
	least = reducer{
		func(xs []float64) float64 {
			m := math.Inf(1)
			for _, x := range xs {
				m = min(m, x)
			}
			return m
		},
		func(d dtype.DType, xs []int64) int64 {
			_, m := limits(d)
			for _, x := range xs {
				m = pickInt(lessInt(d, x, m), x, m)
			}
			return m
		}}
)

// apply sets element to of out to the reduction of t's elements at the given positions.
func (r reducer) apply(out Tensor, to int, t Tensor, positions []int) {
	if t.Desc.DType.IsFloat() {
		out.F[to] = r.f(floatsAt(t, positions))
		return
	}
	var xs []int64
	for _, p := range positions {
		xs = append(xs, t.I[p])
	}
	out.I[to] = Wrap(t.Desc.DType, r.i(t.Desc.DType, xs))
}

func floatsAt(t Tensor, positions []int) []float64 {
	xs := make([]float64, 0, len(positions))
	for _, p := range positions {
		xs = append(xs, t.F[p])
	}
	return xs
}

func reduction(r reducer) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for i, g := range groups(in[0].Desc.Shape, n.Attrs.Ints("axes")) {
			r.apply(out, i, in[0], g)
		}
		return out
	})
}

// extreme returns the kernel that computes, for each line along axis, the index of its first NaN, or else of the first element
// that no other beats.
func extreme(beats func(order int) bool) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for i, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			best := 0
			for k := range line {
				if isNaN(in[0], line[best]) {
					break
				}
				if isNaN(in[0], line[k]) || beats(order(in[0], line[k], line[best])) {
					best = k
				}
			}
			out.I[i] = int64(best)
		}
		return out
	})
}

func isNaN(t Tensor, p int) bool { return t.Desc.DType.IsFloat() && math.IsNaN(t.F[p]) }

// order compares elements p and q of t: -1, 0 or 1. NaN is greater than everything and equal to NaN; -0 equals +0.
func order(t Tensor, p, q int) int {
	less := func(p, q int) bool {
		if t.Desc.DType.IsFloat() {
			return t.F[p] < t.F[q] || !math.IsNaN(t.F[p]) && math.IsNaN(t.F[q])
		}
		return lessInt(t.Desc.DType, t.I[p], t.I[q])
	}
	return int(truth(less(q, p)) - truth(less(p, q)))
}

var reduceKernels = map[op.Code]kernel{
	op.Sum:       reduction(sum),
	op.Prod:      reduction(product),
	op.ReduceMax: reduction(greatest),
	op.ReduceMin: reduction(least),
	op.ArgMax:    extreme(func(order int) bool { return order > 0 }),
	op.ArgMin:    extreme(func(order int) bool { return order < 0 }),
}
