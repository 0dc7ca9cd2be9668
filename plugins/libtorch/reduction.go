package libtorch

import (
	"slices"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var reductions = map[op.Code]rule{
	op.Sum:       {run: sum, types: numbers},
	op.Prod:      {run: prod, types: numbers},
	op.ReduceMax: {run: func(w *worker) { w.outermost(opAmax, -1) }, types: numbers},
	op.ReduceMin: {run: func(w *worker) { w.outermost(opAmin, 1) }, types: numbers},
	op.ArgMax:    {run: func(w *worker) { w.position(opMaxDim) }, types: numbers},
	op.ArgMin:    {run: func(w *worker) { w.position(opMinDim) }, types: numbers},
	op.Sort:      {run: sort, types: numbers},
}

var (
	opSum    = aten("sum.dim_IntList")
	opProd   = aten("prod.dim_int")
	opAmax   = aten("amax")
	opAmin   = aten("amin")
	opMaxDim = aten("max.dim")
	opMinDim = aten("min.dim")
	opSort   = aten("sort.stable")
	opXor    = aten("bitwise_xor.Tensor")
)

// sums returns the sum over axes in the type of x, with reduced axes of length 1.
func (w *worker) sums(x val, axes []int) val {
	s := x.s.Clone()
	for _, a := range axes {
		s[a] = 1
	}
	if !w.dev.lists {
		return w.sumByProduct(x, axes, s)
	}
	return w.call(opSum, x.d, s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.SomeInts(axes...)
		t.Bool(true)
		t.SomeInt(int(typeOf[x.d]))
	})
}

func sum(w *worker) {
	if axes := w.n.Attrs.Ints("axes"); len(axes) > 0 {
		w.out[0] = w.reshape(w.sums(w.in[0], axes), w.n.Outputs[0].Shape)
		return
	}
	w.out[0] = w.in[0]
}

// last returns x with the given axes, at least one, moved to the end and merged into one axis.
func (w *worker) last(x val, axes []int) val {
	var order []int
	for i := range x.s {
		if !slices.Contains(axes, i) {
			order = append(order, i)
		}
	}
	kept, n := len(order), 1
	for i, d := range x.s {
		if slices.Contains(axes, i) {
			order = append(order, i)
			n *= d
		}
	}
	x = w.permute(x, order)
	return w.reshape(x, append(x.s[:kept].Clone(), n))
}

func prod(w *worker) {
	axes, d := w.n.Attrs.Ints("axes"), w.n.Outputs[0]
	if len(axes) == 0 {
		w.out[0] = w.in[0]
		return
	}
	x := w.in[0]
	if x.d.IsFloat() && x.d.Size() == 2 {
		x = w.to(x, dtype.F32)
	}
	x = w.last(x, axes)
	k := len(x.s) - 1
	y := w.call(opProd, x.d, x.s[:k], func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(k)
		t.Bool(false)
		t.SomeInt(int(typeOf[x.d]))
	})
	w.out[0] = w.reshape(w.to(y, d.DType), d.Shape)
}

// limit returns the greatest value of a type for sign 1 and the least for sign -1; for floats these are infinities.
func limit(d dtype.DType, sign int) op.Value {
	if d.IsFloat() {
		return op.ScalarFloat("", float64(sign)/zero).Value
	}
	lo, hi := bounds(d)
	if sign < 0 {
		return op.ScalarInt("", lo).Value
	}
	return op.ScalarInt("", hi).Value
}

// outermost computes reduce_max or reduce_min by o, amax or amin. sign selects the result for no elements: see limit.
func (w *worker) outermost(o *torch.Operator, sign int) {
	x, axes, d := w.in[0], w.n.Attrs.Ints("axes"), w.n.Outputs[0]
	switch {
	case len(axes) == 0:
		w.out[0] = x
	case x.s.Size() == 0:
		w.out[0] = w.fill(d.DType, d.Shape, limit(d.DType, sign))
	default:
		w.out[0] = w.outer(o, x, axes, d.Shape)
	}
}

// outer returns amax or amin over axes. s is the shape of the result, with or without the reduced axes.
func (w *worker) outer(o *torch.Operator, x val, axes []int, s shape.Shape) val {
	y := w.outerOfAny(o, x, axes, s)
	if !w.zeros(y) {
		return y
	}
	return w.unordered(w.outerOfAny(o, w.ordered(x, o == opAmax), axes, s), x.d)
}

// outerOfAny is like outer, but may return either one of two zeros of different sign.
func (w *worker) outerOfAny(o *torch.Operator, x val, axes []int, s shape.Shape) val {
	if !w.dev.lists {
		one := opMaxDim
		if o == opAmin {
			one = opMinDim
		}
		x = w.last(x, axes)
		k := len(x.s) - 1
		y, _ := w.pair(one, x.d, dtype.I64, x.s[:k], func(t *torch.Thread) {
			t.Tensor(x.h)
			t.Int(k)
			t.Bool(false)
		})
		return w.reshape(y, s)
	}
	return w.call(o, x.d, s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(axes...)
		t.Bool(len(s) == len(x.s))
	})
}

// zeros reports whether y contains floats in host memory and one of them is zero. The sign of such a zero may be wrong, because torch
// returns either one of two zeros of different sign.
func (w *worker) zeros(y val) bool {
	i, ok := bitsOf[y.d]
	if !ok || w.err != nil || !w.dev.reads || y.s.Size() == 0 {
		return false
	}
	p, err := w.thread.Data(y.h)
	w.fail(err)
	if w.err != nil {
		return false
	}
	switch i { // y is the result of an operator: contiguous, in any order of its axes
	case dtype.I64:
		return hasZero(unsafe.Slice((*uint64)(p), y.s.Size()))
	case dtype.I32:
		return hasZero(unsafe.Slice((*uint32)(p), y.s.Size()))
	}
	return hasZero(unsafe.Slice((*uint16)(p), y.s.Size()))
}

func hasZero[T uint64 | uint32 | uint16](v []T) bool {
	for _, b := range v {
		if b<<1 == 0 {
			return true
		}
	}
	return false
}

// ordered maps floats to integers with the same order, with -0 below +0. NaN is above all numbers if up is true, and below them otherwise.
func (w *worker) ordered(x val, up bool) val {
	i := bitsOf[x.d]
	b := w.bits(w.convert(x, x.d), i)
	k := w.mirror(b)
	lo, hi := bounds(i)
	end := lo
	if up {
		end = hi
	}
	return w.where(w.unTo(opIsNaN, x, dtype.Bool), w.number(i, op.ScalarInt("", end).Value), k)
}

// mirror returns b with all bits except the sign inverted where b is negative. It is its own inverse.
func (w *worker) mirror(b val) val {
	_, hi := bounds(b.d)
	return w.where(w.bin(opLess, b, w.whole(b.d, 0), dtype.Bool), w.bin(opXor, b, w.number(b.d, op.ScalarInt("", hi).Value), b.d), b)
}

// unordered is the inverse of ordered: it returns the floats of type d for the integers k.
func (w *worker) unordered(k val, d dtype.DType) val { return w.bits(w.mirror(k), d) }

func (w *worker) position(o *torch.Operator) {
	x, axis, d := w.in[0], w.n.Attrs.Int("axis"), w.n.Outputs[0]
	keep := w.n.Attrs.Bool("keep_dims")
	if d.Shape.Size() == 0 {
		w.out[0] = w.empty(d.DType, d.Shape)
		return
	}
	_, w.out[0] = w.pair(o, x.d, dtype.I64, d.Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(axis)
		t.Bool(keep)
	})
}

func sort(w *worker) {
	x, axis, down := w.in[0], w.n.Attrs.Int("axis"), w.n.Attrs.Bool("descending")
	w.out[0], w.out[1] = w.pair(opSort, x.d, dtype.I64, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.SomeBool(true)
		t.Int(axis)
		t.Bool(down)
	})
}
