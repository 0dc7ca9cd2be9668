package reduction

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// strip is the number of columns that are searched at a time.
const strip = 512

func arg[T number](n *op.Node, in []op.Desc) kernel.Func {
	axis := n.Attrs.Int("axis")
	l := kernel.LinesOf(in[0].Shape, axis)
	find, better := argMax[T], greater[T]
	if n.Op == op.ArgMin {
		find, better = argMin[T], lesser[T]
	}
	if outer, length, inner := in[0].Shape[:axis].Size(), in[0].Shape[axis], in[0].Shape[axis+1:].Size(); inner >= 16 && length > 0 && outer > 0 {
		return func(c *kernel.Call) error {
			x, y := kernel.Flat[T](c.Contiguous(c.In[0])), kernel.Flat[int64](c.Alloc(0))
			width := min(inner, strip)
			strips := (inner + width - 1) / width
			c.Pool.For(outer*strips, grain/(length*width)+1, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					o, from := i/strips, i%strips*width
					argColumns(y[o*inner:][:inner], x[o*length*inner:][:length*inner], length, inner, from, min(from+width, inner), better)
				}
			})
			return nil
		}
	}
	return func(c *kernel.Call) error {
		x, y := kernel.Input[T](c, l, c.In[0]), kernel.Flat[int64](c.Alloc(0))
		if len(y) == 0 {
			return nil
		}
		f, quick := any(x).([]float32)
		quick = quick && vector.Has() && l.N <= shortLine
		c.Pool.For(l.Count, grain/l.N+1, func(lo, hi int) {
			if quick {
				argRows(y[lo:hi], f[lo*l.N:hi*l.N], l.N, n.Op == op.ArgMin)
				return
			}
			for i := lo; i < hi; i++ {
				y[i] = int64(find(x[i*l.N:][:l.N]))
			}
		})
		return nil
	}
}

// shortLine is the length up to which several lines are searched together.
const shortLine = 512

// argRows writes the index of the extreme of each row of n elements to y.
func argRows(y []int64, x []float32, n int, least bool) {
	extreme, bound := vector.Maxima, vector.AtLeast
	if least {
		extreme, bound = vector.Minima, vector.AtMost
	}
	var best [64]float32
	for len(y) > 0 {
		some := best[:min(len(y), len(best))]
		extreme.OfRows(some, x, n, n)
		for r, b := range some {
			y[r] = int64(firstIndexOf(x[r*n:][:n], b, bound))
		}
		y, x = y[len(some):], x[len(some)*n:]
	}
}

// firstIndexOf returns the index of the first element that equals best or, if best is NaN, of the first NaN.
func firstIndexOf(x []float32, best float32, bound vector.Bound) int {
	if best == best {
		return bound.Find(x, best)
	}
	for i, v := range x {
		if v != v {
			return i
		}
	}
	return len(x)
}

// argMax returns the index of the first NaN or, if there is none, of the first greatest element.
func argMax[T number](x []T) int {
	if f, ok := any(x).([]float32); ok && vector.Has() {
		return first(f, vector.Greatest, vector.AtLeast, func(a, b float32) bool { return a > b })
	}
	at, best := 0, x[0]
	for i, v := range x {
		if v > best || v != v {
			if at, best = i, v; v != v {
				break
			}
		}
	}
	return at
}

func argMin[T number](x []T) int {
	if f, ok := any(x).([]float32); ok && vector.Has() {
		return first(f, vector.Least, vector.AtMost, func(a, b float32) bool { return a < b })
	}
	at, best := 0, x[0]
	for i, v := range x {
		if v < best || v != v {
			if at, best = i, v; v != v {
				break
			}
		}
	}
	return at
}

// first returns the index of the first NaN or, if there is none, of the first extreme. It reduces the line in parts and searches only the
// best part.
func first(x []float32, extreme func(x []float32) float32, bound vector.Bound, better func(a, b float32) bool) int {
	const part = 512
	at, best := 0, float32(0)
	for i := 0; i < len(x); i += part {
		v := extreme(x[i:min(i+part, len(x))])
		if i == 0 || better(v, best) || v != v {
			if at, best = i, v; v != v {
				break
			}
		}
	}
	return at + firstIndexOf(x[at:], best, bound)
}

// argColumns writes the indices of the extremes of columns [from, to) of x, [length, inner], to the same elements of y.
func argColumns[T number](y []int64, x []T, length, inner, from, to int, better func(best []T, at []int64, row []T, k int64)) {
	best := make([]T, to-from)
	copy(best, x[from:to])
	at := y[from:to]
	clear(at)
	for k := 1; k < length; k++ {
		better(best, at, x[k*inner+from:][:to-from], int64(k))
	}
}

func greater[T number](best []T, at []int64, row []T, k int64) {
	best, at = best[:len(row)], at[:len(row)]
	for i, v := range row {
		if b := best[i]; v > b || v != v && b == b {
			best[i], at[i] = v, k
		}
	}
}

func lesser[T number](best []T, at []int64, row []T, k int64) {
	best, at = best[:len(row)], at[:len(row)]
	for i, v := range row {
		if b := best[i]; v < b || v != v && b == b {
			best[i], at[i] = v, k
		}
	}
}
