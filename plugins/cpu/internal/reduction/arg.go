package reduction

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
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
