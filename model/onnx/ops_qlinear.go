package onnx

import (
	"github.com/goburn/burn/core/dtype"
)

func init() {
	register("ConvInteger", 10, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		x, w := t.centredConv(n.input(0), n.input(1), n.input(2), n.input(3))
		return []value{calc{t}.conv(x, w, t.convGeometry(n, x, w))}
	})
	register("QLinearConv", 10, qlinearConvNode)
	register("MatMulInteger", 10, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		return []value{t.integerProduct(n.input(0), n.input(1), n.input(2), n.input(3))}
	})
	register("QLinearMatMul", 10, qlinearMatMulNode)
}

// centred returns x, converted to i32, minus its zero point, if there is one. The zero point broadcasts.
func (t *tracer) centred(x, zero value) value {
	x = t.cast(x, dtype.I32)
	if !zero.present() {
		return x
	}
	return calc{t}.sub(x, t.cast(zero, dtype.I32))
}

func (t *tracer) centredConv(x, w, xZero, wZero value) (value, value) {
	if x.rank() < 3 || w.rank() < 3 {
		t.fail("x is %v and w %v, want rank 3 or more", x.shape(), w.shape())
	}
	if xZero.present() {
		xZero = t.reshape(xZero)
	}
	if wZero.present() {
		wZero = t.firstAxis(wZero, w.rank())
	}
	return t.centred(x, xZero), t.centred(w, wZero)
}

// qlinearConvNode convolves in i32, which is exact, and scales once.
func qlinearConvNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2, 3, 4, 5, 6, 7)
	x, w := t.centredConv(n.input(0), n.input(3), n.input(2), n.input(5))
	c := calc{t}
	y := t.biased(c.conv(x, w, t.convGeometry(n, x, w)), n.input(8))
	factor := c.div(c.mul(t.reshape(n.input(1)), t.alongAxis1(n.input(4), y.rank())), t.reshape(n.input(6)))
	return []value{t.requantized(y, factor, t.reshape(n.input(7)))}
}

// requantized returns round(y·factor)+zero, saturated to the type of zero.
func (t *tracer) requantized(y, factor, zero value) value {
	c := calc{t}
	factor = c.wide(factor)
	v := c.round(c.mul(t.cast(y, factor.dtype()), factor))
	return t.cast(c.add(v, t.cast(zero, v.dtype())), zero.dtype())
}

// rows reshapes a parameter of the left operand of a matrix product for broadcasting: one element, one per row, or a tensor that
// broadcasts already.
func (t *tracer) rows(v value, rank int) value {
	switch {
	case !v.present() || v.rank() > 1:
		return v
	case v.shape().Size() == 1:
		return t.reshape(v)
	case rank == 1:
		t.fail("%d zero points or scales for a vector", v.shape()[0])
	}
	return t.reshape(v, v.shape()[0], 1)
}

// columns is like rows, for the right operand.
func (t *tracer) columns(v value) value {
	if v.present() && v.shape().Size() == 1 {
		return t.reshape(v)
	}
	return v
}

func (t *tracer) integerProduct(a, b, aZero, bZero value) value {
	return t.matmulND(t.centred(a, t.rows(aZero, a.rank())), t.centred(b, t.columns(bZero)))
}

func qlinearMatMulNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2, 3, 4, 5, 6, 7)
	a, b, c := n.input(0), n.input(3), calc{t}
	y := t.integerProduct(a, b, n.input(2), n.input(5))
	scale := func(v value) value { return c.wide(v) }
	factor := c.div(c.mul(scale(t.rows(n.input(1), a.rank())), scale(t.columns(n.input(4)))), scale(t.rows(n.input(6), a.rank())))
	return []value{t.requantized(y, factor, t.rows(n.input(7), a.rank()))}
}
