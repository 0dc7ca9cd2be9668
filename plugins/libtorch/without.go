package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Replacements for operators with lists as arguments, which cannot be called in torch 2.9. The replacements are slower and have the same
// results.

var (
	opShl = aten("bitwise_left_shift.Tensor")
	opShr = aten("bitwise_right_shift.Tensor")
)

// backward returns a with one axis reversed.
func (w *worker) backward(a val, axis int) val {
	n := a.s[axis]
	if n <= 1 || a.s.Size() == 0 {
		return a
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(n - 1 - i)
	}
	i := w.host(dtype.I64, shape.Of(n), dtype.Bytes(v))
	return w.call(opIndexSelect, a.d, a.s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Int(axis)
		t.Tensor(i.h)
	})
}

// sumByProduct returns the sum over axes as a product with ones; s is the shape of the result.
func (w *worker) sumByProduct(x val, axes []int, s shape.Shape) val {
	d := x.d
	x = w.last(w.wide(x), axes)
	n := x.s[len(x.s)-1]
	rows := w.reshape(x, shape.Of(x.s[:len(x.s)-1].Size(), n))
	one := w.expand(w.whole(x.d, 1), shape.Of(n, 1))
	return w.to(w.reshape(w.product(rows, one, shape.Of(rows.s[0], 1)), s), d)
}

// addParts returns a + alpha·b for integers, where alpha is 1 or -1. It adds the halves of the integers as f64, which represents these sums
// exactly, because torch can add floats without a list.
func (w *worker) addParts(a, b val, alpha int) val {
	sum := func(x, y val) val {
		return w.convert(w.addFloat(w.convert(x, dtype.F64), w.convert(y, dtype.F64), float64(alpha)), dtype.I64)
	}
	if a.d != dtype.I64 {
		return w.convert(sum(a, b), a.d)
	}
	low, half := w.number(dtype.I64, op.ScalarInt("", 1<<32-1).Value), w.whole(dtype.I64, 32)
	part := func(x val) (lo, hi val) { return w.bin(opAnd, x, low, x.d), w.bin(opShr, x, half, x.d) }
	alo, ahi := part(a)
	blo, bhi := part(b)
	lo := sum(alo, blo)
	hi := sum(ahi, bhi)
	carry := w.bin(opShr, lo, half, lo.d)
	hi = w.convert(w.addFloat(w.convert(hi, dtype.F64), w.convert(carry, dtype.F64), 1), dtype.I64)
	return w.bin(opOr, w.bin(opShl, hi, half, hi.d), w.bin(opAnd, lo, low, lo.d), a.d)
}
