package elementwise

import (
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// fewest is the least length of a run for which a separate loop pays.
const fewest = 16

// spread describes a contiguous operand that is broadcast: the result has shape [outer, mid, inner], the operand [1, mid, 1]. inner is 1
// for a row that is added to all rows; outer is 1 for a column that is added to all columns.
type spread struct{ mid, inner int }

// spreadOver returns how v broadcasts to s. It returns false if this is not of the form that spread describes.
func spreadOver(s shape.Shape, v *shape.View) (r spread, ok bool) {
	r = spread{1, 1}
	off, begun, over := len(s)-len(v.Shape), false, false
	for d := len(s) - 1; d >= 0; d-- {
		if s[d] == 1 {
			continue
		}
		stride := 0
		if d >= off && v.Shape[d-off] != 1 {
			stride = v.Strides[d-off]
		}
		switch {
		case stride == 0 && !begun:
			r.inner *= s[d]
		case stride == 0:
			over = true
		case over || stride != r.mid:
			return r, false
		default:
			begun = true
			r.mid *= s[d]
		}
	}
	return r, true
}

// spreading runs a binary op in which one operand has the shape of the result and the other is broadcast. It reports false, and does
// nothing, for operands with other layouts.
func spreading[T, R any](c *kernel.Call, grain int, loop *pair[T, R], whole int) (done bool) {
	s, other := c.Desc[0].Shape, &c.In[1-whole]
	r, ok := spreadOver(s, &other.View)
	run := r.inner
	if run == 1 {
		run = r.mid
	}
	if !ok || run < fewest || r.inner > 1 && (whole == 0 && loop.vs == nil || whole == 1 && loop.sv == nil) {
		return false
	}
	x, few := kernel.Flat[T](c.In[whole]), kernel.Data[T](*other)[other.View.Offset:][:r.mid]
	out := c.Reuse(0, whole)
	y := kernel.Flat[R](out)
	fill := func(d []R, at int) { // fill computes the elements of the result from at on
		for k, col := at/run%r.mid, at%run; len(d) > 0; col = 0 {
			n := min(run-col, len(d))
			to, v := d[:n], x[at:at+n]
			switch {
			case r.inner == 1 && whole == 0:
				loop.vv(to, v, few[col:col+n])
			case r.inner == 1:
				loop.vv(to, few[col:col+n], v)
			case whole == 0:
				loop.vs(to, v, few[k])
			default:
				loop.sv(to, few[k], v)
			}
			if k++; k == r.mid {
				k = 0
			}
			d, at = d[n:], at+n
		}
	}
	nonTemporal := streams(c, out)
	c.Pool.For(len(y)/run, grain/run+1, func(lo, hi int) {
		lo, hi = lo*run, hi*run
		if nonTemporal {
			stream(y[lo:hi], func(d []R, at int) { fill(d, lo+at) }, source1(x[lo:hi]))
			return
		}
		fill(y[lo:hi], lo)
	})
	return true
}
