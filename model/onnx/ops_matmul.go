package onnx

import (
	"github.com/goburn/burn/core/op"
)

func init() {
	register("MatMul", 1, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		return []value{t.matmulND(n.input(0), n.input(1))}
	})
	register("Gemm", 1, gemmNode)
}

// matmulND implements numpy.matmul: a vector is a row on the left and a column on the right, and the result lacks the added
// dimension.
func (t *tracer) matmulND(a, b value) value {
	if a.rank() == 0 || b.rank() == 0 {
		t.fail("operands are %v and %v, want rank 1 or more", a.shape(), b.shape())
	}
	row, column := a.rank() == 1, b.rank() == 1
	if row {
		a = t.reshape(a, 1, a.shape()[0])
	}
	if column {
		b = t.reshape(b, b.shape()[0], 1)
	}
	y := calc{t}.matmul(a, b, false, false)
	if column {
		y = t.squeeze(y, y.rank()-1)
	}
	if row {
		at := y.rank() - 2
		if column {
			at = y.rank() - 1
		}
		y = t.squeeze(y, at)
	}
	return y
}

func gemmNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	a, b, bias := n.input(0), n.input(1), n.input(2)
	if a.rank() != 2 || b.rank() != 2 {
		if n.opset() < 7 && a.rank() > 2 && b.rank() == 2 && n.int("transA", 0) == 0 { // early exporters leave out Flatten
			a = t.reshape(a, a.shape()[0], a.shape()[1:].Size())
		} else {
			t.fail("a is %v and b %v, want rank 2", a.shape(), b.shape())
		}
	}
	c := calc{t}
	alpha, beta := n.float("alpha", 1), n.float("beta", 1)
	ta, tb := n.int("transA", 0) != 0, n.int("transB", 0) != 0
	if alpha != 1 {
		if b.constant() { // the transpose is folded
			b = c.mulN(b, alpha)
		} else {
			a = c.mulN(a, alpha)
		}
	}
	if !bias.present() || beta == 0 {
		bias = value{}
	} else {
		bias = c.mulN(bias, beta)
	}
	width := b.shape()[1]
	if tb {
		width = b.shape()[0]
	}
	if !ta && (!bias.present() || rowBias(bias, width)) {
		in := []value{a, b}
		if bias.present() {
			in = append(in, t.expand(t.reshape(bias, bias.shape().Size()), []int{width}))
		}
		return []value{t.do(op.Linear, in, op.Flag("transpose_w", tb))}
	}
	y := c.matmul(a, b, ta, tb)
	if bias.present() {
		y = c.add(y, bias)
	}
	return []value{y}
}

// rowBias reports whether a bias is the same for every row of a matrix of the given width.
func rowBias(bias value, width int) bool {
	s := bias.shape()
	switch len(s) {
	case 0:
		return true
	case 1:
		return s[0] == width || s[0] == 1
	}
	return len(s) == 2 && s[0] == 1 && (s[1] == width || s[1] == 1)
}
