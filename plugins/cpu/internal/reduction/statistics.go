package reduction

import (
	"math"
	"unsafe"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

func mean[T float](n *op.Node, in []op.Desc) kernel.Func {
	count := T(1)
	for _, a := range n.Attrs.Ints("axes") {
		count *= T(in[0].Shape[a])
	}
	return reduce(n, sums[T](), func(y []T) {
		for i := range y {
			y[i] /= count
		}
	})
}

// perLine returns a kernel that applies f to the elements along the axes.
func perLine[T float](n *op.Node, in []op.Desc, f func(x []T) T) kernel.Func {
	l := kernel.LinesOf(in[0].Shape, n.Attrs.Ints("axes")...)
	return func(c *kernel.Call) error {
		x, y := kernel.Input[T](c, l, c.In[0]), kernel.Flat[T](c.Alloc(0))
		c.Pool.For(l.Count, grain/4/max(l.N, 1)+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				y[i] = f(x[i*l.N:][:l.N])
			}
		})
		return nil
	}
}

func variance[T float](n *op.Node, in []op.Desc) kernel.Func {
	correction := n.Attrs.Float("correction")
	return perLine(n, in, func(x []T) T {
		count := float64(len(x))
		mean := total(x) / count
		rounded := T(mean)
		// The sum of squared distances from rounded exceeds that from the mean by the squared distance between the two, per element.
		rest := mean - float64(rounded)
		return T((squares(x, rounded) - count*rest*rest) / (count - correction))
	})
}

// total returns the sum of x in float64.
func total[T float](x []T) float64 {
	switch f := any(x).(type) {
	case []float64:
		return sumLine(f)
	case []float32:
		if vector.Has() {
			return vector.Total(f)
		}
	}
	var s float64
	for _, v := range x {
		s += float64(v)
	}
	return s
}

// squares returns the sum of the squared distances from m.
func squares[T float](x []T, m T) float64 {
	if f, ok := any(x).([]float32); ok && vector.Has() {
		return vector.Squares(f, float32(m))
	}
	var s float64
	for _, v := range x {
		d := float64(v - m)
		s += d * d
	}
	return s
}

// expSum returns the sum of exp(x-m).
func expSum(x []float32, m float32) float64 {
	s := scratches.Get().(*scratch)
	workspace := unsafe.Slice((*float32)(unsafe.Pointer(s)), 2*block)
	var sum float64
	for len(x) > 0 {
		n := min(len(x), len(workspace))
		sum += float64(vector.ExpSub(workspace[:n], x[:n], m))
		x = x[n:]
	}
	scratches.Put(s)
	return sum
}

func logSumExp[T float](n *op.Node, in []op.Desc) kernel.Func {
	return perLine(n, in, func(x []T) T {
		m := math.Inf(-1)
		if len(x) > 0 {
			m = float64(maxLine(x))
		}
		if math.IsInf(m, 0) {
			m = 0
		}
		if f, ok := any(x).([]float32); ok && vector.Has() {
			return T(math.Log(expSum(f, float32(m))) + m)
		}
		var s float64
		for _, v := range x {
			s += math.Exp(float64(v) - m)
		}
		return T(math.Log(s) + m)
	})
}
