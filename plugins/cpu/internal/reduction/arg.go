package reduction

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

func arg[T number](n *op.Node, in []op.Desc) kernel.Func {
	l := kernel.LinesOf(in[0].Shape, n.Attrs.Int("axis"))
	find := argMax[T]
	if n.Op == op.ArgMin {
		find = argMin[T]
	}
	return func(c *kernel.Call) error {
		x, y := kernel.Input[T](c, l, c.In[0]), kernel.Flat[int64](c.Alloc(0))
		if len(y) == 0 {
			return nil
		}
		c.Pool.For(l.Count, grain/l.N+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				y[i] = int64(find(x[i*l.N:][:l.N]))
			}
		})
		return nil
	}
}

// argMax is the first of the greatest, or of NaN.
func argMax[T number](x []T) int {
	if f, ok := any(x).([]float32); ok && vector.Has() {
		return first(f, vector.Greatest, func(a, b float32) bool { return a > b })
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
		return first(f, vector.Least, func(a, b float32) bool { return a < b })
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

// first is the place of the first NaN or, if there is none, of the first element that is as extreme as any: parts of the
// line are joined, and the place is looked for in the best of them.
func first(x []float32, extreme func(x []float32) float32, better func(a, b float32) bool) int {
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
	for i, v := range x[at:] {
		if v == best || v != v {
			return at + i
		}
	}
	return at
}
