package libtorch

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Functions that kernels are built from: torch's operators, with the types and shapes of burn.

// aten returns an operator of torch's namespace aten.
func aten(name string) *torch.Operator { return torch.NewOperator("aten::" + name) }

// call calls an operator with one result. f appends its arguments.
func (w *worker) call(o *torch.Operator, d dtype.DType, s shape.Shape, f func(t *torch.Thread)) val {
	if w.err != nil {
		return val{0, d, s}
	}
	w.thread.Begin(o)
	f(w.thread)
	var h torch.Handle
	err := w.thread.Call(&h)
	return w.keep(h, err, d, s)
}

// pair is like call, for an operator with two results of the same shape.
func (w *worker) pair(o *torch.Operator, d, e dtype.DType, s shape.Shape, f func(t *torch.Thread)) (val, val) {
	if w.err != nil {
		return val{0, d, s}, val{0, e, s}
	}
	w.thread.Begin(o)
	f(w.thread)
	var h, i torch.Handle
	err := w.thread.Call(&h, &i)
	return w.keep(h, err, d, s), w.keep(i, err, e, s)
}

// pairOf is like pair, for results of different shapes.
func (w *worker) pairOf(o *torch.Operator, d dtype.DType, s shape.Shape, e dtype.DType, r shape.Shape, f func(t *torch.Thread)) (val, val) {
	v := w.several(o, []op.Desc{{DType: d, Shape: s}, {DType: e, Shape: r}}, f)
	return v[0], v[1]
}

// several is like call, for an operator with at most 4 results, which ds describes.
func (w *worker) several(o *torch.Operator, ds []op.Desc, f func(t *torch.Thread)) []val {
	v := make([]val, len(ds))
	for i, d := range ds {
		v[i] = val{0, d.DType, d.Shape}
	}
	if w.err != nil {
		return v
	}
	w.thread.Begin(o)
	f(w.thread)
	var hs [4]torch.Handle
	out := [4]*torch.Handle{&hs[0], &hs[1], &hs[2], &hs[3]}
	err := w.thread.Call(out[:len(ds)]...)
	for i, d := range ds {
		v[i] = w.keep(hs[i], err, d.DType, d.Shape)
	}
	return v
}

// un returns the result of a unary operator that preserves type and shape.
func (w *worker) un(o *torch.Operator, a val) val { return w.unTo(o, a, a.d) }

// unTo returns the result, of type d, of a unary operator that preserves the shape.
func (w *worker) unTo(o *torch.Operator, a val, d dtype.DType) val {
	if w.err != nil {
		return val{0, d, a.s}
	}
	w.thread.Begin(o)
	w.thread.Tensor(a.h)
	var h torch.Handle
	err := w.thread.Call(&h)
	return w.keep(h, err, d, a.s)
}

// bin returns the result, of type d, of a binary operator with broadcasting.
func (w *worker) bin(o *torch.Operator, a, b val, d dtype.DType) val {
	if w.err != nil {
		return val{0, d, nil}
	}
	s := w.broadcast(a.s, b.s)
	w.thread.Begin(o)
	w.thread.Tensor(a.h)
	w.thread.Tensor(b.h)
	var h torch.Handle
	err := w.thread.Call(&h)
	return w.keep(h, err, d, s)
}

func (w *worker) broadcast(a, b shape.Shape) shape.Shape {
	if slices.Equal(a, b) {
		return a
	}
	s, err := shape.Broadcast(a, b)
	w.fail(err)
	return s
}

// empty returns a new tensor with uninitialized elements.
func (w *worker) empty(d dtype.DType, s shape.Shape) val {
	if w.err != nil {
		return val{0, d, s}
	}
	h, err := w.thread.Empty(s, typeOf[d], w.dev.on)
	return w.keep(h, err, d, s)
}

// convert returns a copy of a in row-major order, converted to type d by torch's rules.
func (w *worker) convert(a val, d dtype.DType) val {
	if w.err != nil {
		return val{0, d, a.s}
	}
	h, err := w.thread.Converted(a.h, a.s, typeOf[d], w.dev.on)
	return w.keep(h, err, d, a.s)
}

// to returns a if a has type d, and otherwise a converted to d.
func (w *worker) to(a val, d dtype.DType) val {
	if a.d == d {
		return a
	}
	return w.convert(a, d)
}

// fill returns a new tensor whose elements all have the same value.
func (w *worker) fill(d dtype.DType, s shape.Shape, value op.Value) val {
	y := w.empty(d, s)
	w.assign(y, w.number(d, value))
	return y
}

// assign copies b, which broadcasts, to a.
func (w *worker) assign(a, b val) {
	if w.err == nil && a.s.Size() > 0 {
		w.fail(w.thread.Copy(a.h, b.h))
	}
}

// view returns the shape and the strides of a, with offset 0.
func (w *worker) view(a val) shape.View {
	v := shape.View{Shape: a.s, Strides: make([]int, len(a.s))}
	if w.err == nil {
		w.fail(w.thread.Strides(a.h, v.Strides))
	}
	return v
}

// seen returns a tensor that is a view of the memory of a. The offset of v counts from the first element of a. Strides must not be
// negative.
func (w *worker) seen(a val, v shape.View) val {
	if w.err != nil {
		return val{0, a.d, v.Shape}
	}
	h, err := w.thread.View(a.h, v.Shape, v.Strides, v.Offset)
	return w.keep(h, err, a.d, v.Shape)
}

// reshape returns a with shape s: a view if possible, otherwise a copy.
func (w *worker) reshape(a val, s shape.Shape) val {
	if slices.Equal(a.s, s) {
		return a
	}
	if v, ok := w.view(a).Reshape(s); ok {
		return w.seen(a, v)
	}
	return w.seen(w.convert(a, a.d), shape.Contiguous(s))
}

// expand returns a view of a, broadcast to shape s.
func (w *worker) expand(a val, s shape.Shape) val {
	if slices.Equal(a.s, s) {
		return a
	}
	return w.seen(a, w.view(a).Expand(s))
}

// permute returns a view of a with its axes in another order.
func (w *worker) permute(a val, axes []int) val { return w.seen(a, w.view(a).Permute(axes)) }

// cut returns a view of the elements from lo up to hi along axis.
func (w *worker) cut(a val, axis, lo, hi int) val {
	v := w.view(a)
	v.Shape = v.Shape.Clone()
	v.Shape[axis] = hi - lo
	if hi > lo {
		v.Offset += lo * v.Strides[axis]
	}
	return w.seen(a, v)
}

var (
	opFlip     = aten("flip")
	opViewType = aten("view.dtype")
	opWhere    = aten("where.self")
	opEqual    = aten("eq.Tensor")
	opNot      = aten("bitwise_not")
	opAnd      = aten("bitwise_and.Tensor")
	opOr       = aten("bitwise_or.Tensor")
	opMul      = aten("mul.Tensor")
	opLess     = aten("lt.Tensor")
)

// flip returns a copy of a with some axes reversed.
func (w *worker) flip(a val, axes ...int) val {
	if len(axes) == 0 {
		return a
	}
	if !w.dev.lists {
		for _, axis := range axes {
			a = w.backward(a, axis)
		}
		return a
	}
	return w.call(opFlip, a.d, a.s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Ints(axes...)
	})
}

// bits returns a with its bits reinterpreted as another type of the same size.
func (w *worker) bits(a val, d dtype.DType) val {
	return w.call(opViewType, d, a.s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Int(int(typeOf[d]))
	})
}

// where returns a where the bool tensor c is true, and b elsewhere.
func (w *worker) where(c, a, b val) val {
	s := w.broadcast(w.broadcast(c.s, a.s), b.s)
	return w.call(opWhere, a.d, s, func(t *torch.Thread) {
		t.Tensor(c.h)
		t.Tensor(a.h)
		t.Tensor(b.h)
	})
}

// element returns the bits of a value in type d, converted like the op cast.
func element(d dtype.DType, v op.Value) uint64 {
	bits, isInt := v.Bits()
	f := v.Float()
	i := int64(bits)
	if !isInt {
		i = saturate(d, f)
	}
	switch d {
	case dtype.F64:
		return math.Float64bits(f)
	case dtype.F32:
		return uint64(math.Float32bits(float32(f)))
	case dtype.F16:
		return uint64(dtype.Float16From64(f))
	case dtype.BF16:
		return uint64(dtype.BFloat16From64(f))
	case dtype.Bool:
		if isInt && i != 0 || !isInt && f != 0 {
			return 1
		}
		return 0
	}
	return uint64(i)
}

// saturate converts a float to an integer type, with saturation.
func saturate(d dtype.DType, f float64) int64 {
	if f != f || !d.IsInt() {
		return 0
	}
	lo, hi := bounds(d)
	if f >= float64(hi) {
		return hi
	}
	if f <= float64(lo) {
		return lo
	}
	return int64(f)
}

// bounds returns the least and the greatest value of an integer type; u64 is not allowed.
func bounds(d dtype.DType) (lo, hi int64) {
	n := d.Size() * 8
	if d.Class() == dtype.Unsigned {
		return 0, 1<<n - 1
	}
	return -1 << (n - 1), 1<<(n-1) - 1
}

// number returns a scalar constant, which the device caches.
func (w *worker) number(d dtype.DType, v op.Value) val {
	return w.constant(d, nil, key{d, element(d, v), 0})
}

// whole is like number, for an integer.
func (w *worker) whole(d dtype.DType, i int) val {
	return w.number(d, op.ScalarInt("", int64(i)).Value)
}

// real is like number, for a float.
func (w *worker) real(d dtype.DType, f float64) val {
	return w.number(d, op.ScalarFloat("", f).Value)
}

// count returns the i64 vector 0, 1, ..., n-1.
func (w *worker) count(n int) val {
	if n > maxCount {
		data := make([]int64, n)
		for i := range data {
			data[i] = int64(i)
		}
		return w.host(dtype.I64, shape.Of(n), dtype.Bytes(data))
	}
	return w.constant(dtype.I64, shape.Of(n), key{dtype.I64, 0, n + 1})
}

// maxCount is the greatest length of a vector from count that the device caches.
const maxCount = 1 << 16

// host returns a tensor with elements that a kernel computed in host memory.
func (w *worker) host(d dtype.DType, s shape.Shape, data []byte) val {
	if w.err != nil {
		return val{0, d, s}
	}
	made := w.made
	h, err := w.upload(op.Desc{DType: d, Shape: s}, data)
	w.made = made
	return w.keep(h, err, d, s)
}
