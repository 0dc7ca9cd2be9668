// Package normal contains the kernels that normalise along axes in one pass: softmax, log-softmax, and batch, layer, RMS and group
// normalisation. Means and variances are summed in float64, exponentials of float32 partly in float32. Package cpu selects the kernels
// through the rules of package kernel. Kernels must not know other nodes of a program.
package normal

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
)

type float interface{ float32 | float64 }

// grain and lineGrain are the least numbers of elements for which another thread is used: lineGrain for softmax and log-softmax, grain for
// the other ops.
const (
	grain     = 16 << 10
	lineGrain = 4 << 10
)

func softmax[T float](n *op.Node, in []op.Desc) kernel.Func {
	l := kernel.LinesOf(in[0].Shape, n.Attrs.Int("axis"))
	f := softmaxLine[T]
	if n.Op == op.LogSoftmax {
		f = logSoftmaxLine[T]
	}
	if f := softmaxRows(n, in); f != nil {
		return f
	}
	lines := softmaxLines
	if n.Op == op.LogSoftmax {
		lines = logSoftmaxLines
	}
	return func(c *kernel.Call) error {
		x := kernel.Input[T](c, l, c.In[0])
		y, done := kernel.Output[T](c, l, 0, 0)
		if len(y) == 0 {
			return nil
		}
		if from, ok := float32s(x); ok {
			to, nonTemporal := any(y).([]float32), useNonTemporal(c, c.Out[0], l.N)
			c.Pool.For(l.Count, lineGrain/l.N+1, func(lo, hi int) {
				from, to := from[lo*l.N:hi*l.N], to[lo*l.N:hi*l.N]
				if nonTemporal {
					streamLines(to, from, l.N, func(d []float32, at int) { lines(d, from[at:], l.N) })
					return
				}
				lines(to, from, l.N)
			})
			done()
			return nil
		}
		c.Pool.For(l.Count, lineGrain/l.N+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				f(y[i*l.N:][:l.N], x[i*l.N:][:l.N])
			}
		})
		done()
		return nil
	}
}

// greatest returns the maximum of x, or NaN if x contains one.
func greatest[T float](x []T) T {
	m := x[0]
	for _, v := range x[1:] {
		if !(v <= m) {
			m = max(m, v)
		}
	}
	return m
}

// expSub sets y to exp(x-m) and returns the sum.
func expSub[T float](y, x []T, m T) T {
	if y, ok := any(y).([]float32); ok {
		return T(vecmath.ExpSub(y, any(x).([]float32), float32(m)))
	}
	var sum T
	for i, v := range x {
		e := T(math.Exp(float64(v - m)))
		y[i] = e
		sum += e
	}
	return sum
}

func softmaxLine[T float](y, x []T) {
	sum := expSub(y, x, greatest(x))
	for i := range y {
		y[i] /= sum
	}
}

func logSoftmaxLine[T float](y, x []T) {
	m := greatest(x)
	var sum float64
	for _, v := range x {
		sum += math.Exp(float64(v - m))
	}
	log := T(math.Log(sum))
	for i, v := range x {
		y[i] = v - m - log
	}
}
