package reduction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// scan returns the kernel of a scan along an axis. The elements of later axes are contiguous, so that a scan along an outer axis is a loop
// over rows.
func scan[T number](n *op.Node, in []op.Desc) kernel.Func {
	s, axis := in[0].Shape, n.Attrs.Int("axis")
	outer, length, inner := shape.Shape(s[:axis]).Size(), s[axis], shape.Shape(s[axis+1:]).Size()
	exclusive, reverse := n.Attrs.Bool("exclusive"), n.Attrs.Bool("reverse")
	var none T
	join := addRows[T]
	switch n.Op {
	case op.CumProd:
		none, join = 1, mulRows[T]
	case op.CumMax:
		none, join = lowest[T](), maxRows[T]
	case op.CumMin:
		none, join = highest[T](), minRows[T]
	}
	// Sums and products of float32 are accumulated in float64: an intermediate result may exceed the range of float32 even if the final
	// result does not.
	wide := n.Op == op.CumSum || n.Op == op.CumProd
	if wide && dtype.Of[T]() == dtype.F32 {
		return wideScan(n.Op, outer, length, inner, exclusive, reverse)
	}
	return func(c *kernel.Call) error {
		x, y := kernel.Flat[T](c.Contiguous(c.In[0])), kernel.Flat[T](c.Alloc(0))
		if len(y) == 0 {
			return nil
		}
		c.Pool.For(outer, grain/(length*inner)+1, func(lo, hi int) {
			for o := lo; o < hi; o++ {
				from, to := x[o*length*inner:][:length*inner], y[o*length*inner:][:length*inner]
				run(from, to, inner, length, none, join, exclusive, reverse)
			}
		})
		return nil
	}
}

// run scans rows of width elements. join sets d to a joined with b.
func run[T number](x, y []T, width, rows int, none T, join func(d, a, b []T), exclusive, reverse bool) {
	at := func(k int) int { // index of the k-th row in the order of the scan
		if reverse {
			k = rows - 1 - k
		}
		return k * width
	}
	first := y[at(0):][:width]
	if exclusive {
		for i := range first {
			first[i] = none
		}
	} else {
		copy(first, x[at(0):])
	}
	for k := 1; k < rows; k++ {
		next := at(k)
		if exclusive {
			next = at(k - 1)
		}
		join(y[at(k):][:width], y[at(k-1):][:width], x[next:][:width])
	}
}

func addRows[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func mulRows[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

func maxRows[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = max(a[i], b[i])
	}
}

func minRows[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = min(a[i], b[i])
	}
}

// wideScan returns a kernel of the running sum or product of float32, accumulated in float64 and rounded once per element.
func wideScan(c op.Code, outer, length, inner int, exclusive, reverse bool) kernel.Func {
	none, join := 0.0, func(acc []float64, x []float32) {
		for i, v := range x {
			acc[i] += float64(v)
		}
	}
	if c == op.CumProd {
		none, join = 1, func(acc []float64, x []float32) {
			for i, v := range x {
				acc[i] *= float64(v)
			}
		}
	}
	product := c == op.CumProd
	return func(c *kernel.Call) error {
		x, y := kernel.Flat[float32](c.Contiguous(c.In[0])), kernel.Flat[float32](c.Alloc(0))
		if len(y) == 0 {
			return nil
		}
		sums := kernel.TempOf[float64](c, outer*inner)
		c.Pool.For(outer, grain/(length*inner)+1, func(lo, hi int) {
			for o := lo; o < hi; o++ {
				if inner == 1 {
					if !product && !exclusive && !reverse && hi-o >= 4 {
						runningFour(y[o*length:][:4*length], x[o*length:][:4*length])
						o += 3
						continue
					}
					running(y[o*length:][:length], x[o*length:][:length], product, exclusive, reverse)
					continue
				}
				acc := sums[o*inner:][:inner]
				for i := range acc {
					acc[i] = none
				}
				for k := range length {
					if reverse {
						k = length - 1 - k
					}
					at := (o*length + k) * inner
					if !product && !exclusive {
						to, from := y[at:][:inner], x[at:][:inner]
						for i := vector.Cumulate(acc, to, from); i < inner; i++ {
							acc[i] += float64(from[i])
							to[i] = float32(acc[i])
						}
						continue
					}
					if !exclusive {
						join(acc, x[at:][:inner])
					}
					for i, v := range acc {
						y[at+i] = float32(v)
					}
					if exclusive {
						join(acc, x[at:][:inner])
					}
				}
			}
		})
		return nil
	}
}

// running scans one line.
func running(y, x []float32, product, exclusive, reverse bool) {
	acc, at, step := 0.0, 0, 1
	if product {
		acc = 1
	}
	if reverse {
		at, step = len(x)-1, -1
	}
	y = y[:len(x)]
	for range x {
		before, v := acc, float64(x[at])
		if product {
			acc *= v
		} else {
			acc += v
		}
		if exclusive {
			y[at] = float32(before)
		} else {
			y[at] = float32(acc)
		}
		at += step
	}
}

// runningFour computes the running sums of four lines, because the additions of a single line wait for each other.
func runningFour(y, x []float32) {
	n := len(x) / 4
	x0, x1, x2, x3 := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
	y0, y1, y2, y3 := y[:n], y[n:][:n], y[2*n:][:n], y[3*n:][:n]
	var a, b, c, d float64
	for i := range n {
		a += float64(x0[i])
		b += float64(x1[i])
		c += float64(x2[i])
		d += float64(x3[i])
		y0[i], y1[i], y2[i], y3[i] = float32(a), float32(b), float32(c), float32(d)
	}
}
