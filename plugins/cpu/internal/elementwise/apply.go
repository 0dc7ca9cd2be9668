package elementwise

import "github.com/goburn/burn/plugins/cpu/internal/kernel"

// The least numbers of elements for which another thread is used, by the cost of one element.
const (
	lightGrain = 32 << 10
	heavyGrain = 4 << 10
)

// pair is the loops of a binary op on contiguous slices. Both operands are as long as d, or one of them is a single element. The loops for
// single elements may be nil.
type pair[T, R any] struct {
	vv func(d []R, a, b []T)
	vs func(d []R, a []T, b T)
	sv func(d []R, a T, b []T)
}

// begin sets the layout of a call. It returns the greatest length of a piece, and whether operands must be copied to blocks.
func begin(c *kernel.Call, l *layout) (most int, blocks bool) {
	setLayout(l, c.Desc[0].Shape, c.In)
	blocks = !l.direct(len(c.In))
	for _, a := range c.In {
		blocks = blocks || kernel.IsHalf(a.DType)
	}
	blocks = blocks || kernel.IsHalf(c.Desc[0].DType)
	if blocks {
		return block, true
	}
	return l.n, false
}

func blocksOf(need bool) *scratch {
	if !need {
		return nil
	}
	return scratches.Get().(*scratch)
}

func (s *scratch) free() {
	if s != nil {
		scratches.Put(s)
	}
}

// native reports whether loops read the elements of a without conversion.
func native(a kernel.Array) bool { return !kernel.IsHalf(a.DType) }

// unary runs a loop over the elements of one operand.
func unary[T, R any](c *kernel.Call, grain int, loop func(d []R, x []T)) error {
	a := &c.In[0]
	if !native(*a) || kernel.IsHalf(c.Desc[0].DType) || !a.View.IsContiguous() {
		return unaryAny(c, grain, loop)
	}
	return unaryFrom(c, grain, 0, loop)
}

// unaryFrom runs a loop over the elements of operand k, which need no conversion and are in row-major order.
func unaryFrom[T, R any](c *kernel.Call, grain, k int, loop func(d []R, x []T)) error {
	x := kernel.Flat[T](c.In[k])
	out := c.Reuse(0, k)
	y := kernel.Flat[R](out)
	if len(y) <= grain {
		loop(y, x)
		return nil
	}
	if streams(c, out) {
		c.Pool.For(len(y), grain, func(lo, hi int) {
			stream(y[lo:hi], func(d []R, at int) { loop(d, x[lo+at:][:len(d)]) }, source1(x[lo:hi]))
		})
		return nil
	}
	c.Pool.For(len(y), grain, func(lo, hi int) { loop(y[lo:hi], x[lo:hi]) })
	return nil
}

// unaryAny is like unary, for operands of any layout and type.
func unaryAny[T, R any](c *kernel.Call, grain int, loop func(d []R, x []T)) error {
	l := new(layout)
	most, blocks := begin(c, l)
	x, y := reads[T](c.In[0], 0), writes[R](c, c.Reuse(0, 0))
	if l.same[0] || y.nonTemporal {
		most, blocks = block, true // the operand has a single element
	}
	c.Pool.For(l.n, grain, func(lo, hi int) {
		s := blocksOf(blocks)
		var p piece
		for l.pieces(&p, lo, hi, most); p.next(); {
			v, one, scalar := x.load(&p, buffer[T](s, 0))
			if scalar {
				v = fill(buffer[T](s, 0), one, p.n)
			}
			d := y.destination(&p, buffer[R](s, 1))
			loop(d, v)
			y.store(&p, d)
		}
		y.finish()
		s.free()
	})
	return nil
}

func fill[T any](d []T, v T, n int) []T {
	d = d[:n]
	for i := range d {
		d[i] = v
	}
	return d
}

// full reports whether a has n elements, more than one, in row-major order.
func full(a *kernel.Array, n int) bool { return n > 1 && a.Size() == n && a.View.IsContiguous() }

// binary runs a loop over the elements of two operands.
func binary[T, R any](c *kernel.Call, grain int, loop *pair[T, R]) error {
	n := c.Desc[0].Shape.Size()
	plain := native(c.In[0]) && native(c.In[1])
	for i := range c.In {
		v := &c.In[i].View
		plain = plain && v.Shape.Size() == n && v.IsContiguous()
	}
	if !plain {
		if !native(c.In[0]) || !native(c.In[1]) {
			return binaryAny(c, grain, loop)
		}
		return unequal(c, grain, loop, n)
	}
	a, b := kernel.Flat[T](c.In[0]), kernel.Flat[T](c.In[1])
	out := c.Reuse(0, 0, 1)
	y := kernel.Flat[R](out)
	if len(y) <= grain {
		loop.vv(y, a, b)
		return nil
	}
	if streams(c, out) {
		c.Pool.For(len(y), grain, func(lo, hi int) {
			stream(y[lo:hi], func(d []R, at int) { loop.vv(d, a[lo+at:][:len(d)], b[lo+at:][:len(d)]) }, source2(a[lo:hi], b[lo:hi]))
		})
		return nil
	}
	c.Pool.For(len(y), grain, func(lo, hi int) { loop.vv(y[lo:hi], a[lo:hi], b[lo:hi]) })
	return nil
}

// unequal is like binary, for an operand of n elements and an operand of fewer elements.
func unequal[T, R any](c *kernel.Call, grain int, loop *pair[T, R], n int) error {
	switch {
	case loop.vs != nil && full(&c.In[0], n) && c.In[1].Size() == 1:
		b := kernel.Data[T](c.In[1])[c.In[1].View.Offset]
		if n <= grain {
			loop.vs(kernel.Flat[R](c.Reuse(0, 0)), kernel.Flat[T](c.In[0]), b)
			return nil
		}
		return unaryFrom(c, grain, 0, func(d []R, a []T) { loop.vs(d, a, b) })
	case loop.sv != nil && full(&c.In[1], n) && c.In[0].Size() == 1:
		a := kernel.Data[T](c.In[0])[c.In[0].View.Offset]
		if n <= grain {
			loop.sv(kernel.Flat[R](c.Reuse(0, 1)), a, kernel.Flat[T](c.In[1]))
			return nil
		}
		return unaryFrom(c, grain, 1, func(d []R, b []T) { loop.sv(d, a, b) })
	}
	for whole := range c.In {
		if full(&c.In[whole], n) && spreading(c, grain, loop, whole) {
			return nil
		}
	}
	return binaryAny(c, grain, loop)
}

// binaryAny is like binary, for operands of any layout and type.
func binaryAny[T, R any](c *kernel.Call, grain int, loop *pair[T, R]) error {
	l := new(layout)
	most, blocks := begin(c, l)
	a, b, y := reads[T](c.In[0], 0), reads[T](c.In[1], 1), writes[R](c, c.Reuse(0, 0, 1))
	if y.nonTemporal || needsFill(l, loop.vs == nil, loop.sv == nil) {
		most, blocks = block, true
	}
	c.Pool.For(l.n, grain, func(lo, hi int) {
		s := blocksOf(blocks)
		var p piece
		for l.pieces(&p, lo, hi, most); p.next(); {
			va, sa, oneA := a.load(&p, buffer[T](s, 0))
			vb, sb, oneB := b.load(&p, buffer[T](s, 1))
			d := y.destination(&p, buffer[R](s, 2))
			switch {
			case oneA && (oneB || loop.sv == nil):
				va = fill(buffer[T](s, 0), sa, p.n)
				oneA = false
			case oneB && loop.vs == nil:
				vb = fill(buffer[T](s, 1), sb, p.n)
				oneB = false
			}
			switch {
			case oneA:
				loop.sv(d, sa, vb)
			case oneB && loop.vs == nil:
				loop.vv(d, va, fill(buffer[T](s, 1), sb, p.n))
			case oneB:
				loop.vs(d, va, sb)
			default:
				loop.vv(d, va, vb)
			}
			y.store(&p, d)
		}
		y.finish()
		s.free()
	})
	return nil
}

// needsFill reports whether a single element must be repeated into a buffer, since the loop reads only slices.
func needsFill(l *layout, noVS, noSV bool) bool {
	one := func(k int) bool { return l.step[k] == 0 }
	return one(0) && (noSV || one(1)) || one(1) && noVS
}

// ternary runs a loop over the elements of three operands. The first may have another type. An operand of a single element is repeated into a
// buffer.
func ternary[S, T, R any](c *kernel.Call, grain int, loop func(d []R, a []S, b, c []T), reuse ...int) error {
	if n := c.Desc[0].Shape.Size(); !anyHalf(c) && full(&c.In[0], n) && full(&c.In[1], n) && full(&c.In[2], n) {
		return ternaryFlat(c, grain, loop, reuse...)
	}
	l := new(layout)
	begin(c, l)
	x, a, b := reads[S](c.In[0], 0), reads[T](c.In[1], 1), reads[T](c.In[2], 2)
	y := writes[R](c, c.Reuse(0, reuse...))
	c.Pool.For(l.n, grain, func(lo, hi int) {
		s := blocksOf(true)
		var p piece
		for l.pieces(&p, lo, hi, block); p.next(); {
			vx, sx, oneX := x.load(&p, buffer[S](s, 0))
			if oneX {
				vx = fill(buffer[S](s, 0), sx, p.n)
			}
			va, sa, oneA := a.load(&p, buffer[T](s, 1))
			if oneA {
				va = fill(buffer[T](s, 1), sa, p.n)
			}
			vb, sb, oneB := b.load(&p, buffer[T](s, 2))
			if oneB {
				vb = fill(buffer[T](s, 2), sb, p.n)
			}
			d := y.destination(&p, buffer[R](s, 3))
			loop(d, vx, va, vb)
			y.store(&p, d)
		}
		y.finish()
		s.free()
	})
	return nil
}

// anyHalf reports whether an operand or the result of c is a 16-bit float.
func anyHalf(c *kernel.Call) bool {
	for i := range c.In {
		if !native(c.In[i]) {
			return true
		}
	}
	return kernel.IsHalf(c.Desc[0].DType)
}

// ternaryFlat is like ternary, for operands with the layout of the result.
func ternaryFlat[S, T, R any](c *kernel.Call, grain int, loop func(d []R, a []S, b, c []T), reuse ...int) error {
	x, a, b := kernel.Flat[S](c.In[0]), kernel.Flat[T](c.In[1]), kernel.Flat[T](c.In[2])
	out := c.Reuse(0, reuse...)
	y, nonTemporal := kernel.Flat[R](out), streams(c, out)
	c.Pool.For(len(y), grain, func(lo, hi int) {
		if !nonTemporal {
			loop(y[lo:hi], x[lo:hi], a[lo:hi], b[lo:hi])
			return
		}
		stream(y[lo:hi], func(d []R, at int) {
			at += lo
			loop(d, x[at:][:len(d)], a[at:][:len(d)], b[at:][:len(d)])
		}, source2(a[lo:hi], b[lo:hi]))
	})
	return nil
}
