package libtorch

import (
	"slices"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var arithmetic = map[op.Code]rule{
	op.Add:   {run: func(w *worker) { w.out[0] = w.add(w.in[0], w.in[1]) }, types: numbers, needs: needsAdd},
	op.Sub:   {run: func(w *worker) { w.out[0] = w.sub(w.in[0], w.in[1]) }, types: numbers, needs: needsAdd},
	op.Div:   {run: div, types: numbers, needs: needsAdd},
	op.Rem:   {run: rem, types: numbers},
	op.Max:   {run: func(w *worker) { w.extreme(opMaximum, opAnd) }, types: numbers},
	op.Min:   {run: func(w *worker) { w.extreme(opMinimum, opOr) }, types: numbers},
	op.Equal: {run: func(w *worker) { w.out[0] = w.bin(opEqual, w.in[0], w.in[1], dtype.Bool) }, types: anyType},
	op.Less:  {run: func(w *worker) { w.out[0] = w.bin(opLess, w.in[0], w.in[1], dtype.Bool) }, types: numbers},
	op.IsNaN: {run: func(w *worker) { w.out[0] = w.unTo(opIsNaN, w.in[0], dtype.Bool) }, types: floats},
	op.Where: {run: where, types: dtype.Bools},
}

var (
	opDiv         = aten("div.Tensor")
	opDivMode     = aten("div.Tensor_mode")
	opFloorDivide = aten("floor_divide")
	opFmod        = aten("fmod.Tensor")
	opNeg         = aten("neg")
)

func (w *worker) add(a, b val) val {
	if a.d.IsFloat() {
		return w.addFloat(a, b, 1)
	}
	return w.addInt(a, b, 1)
}

func (w *worker) sub(a, b val) val {
	if a.d.IsFloat() {
		return w.addFloat(a, b, -1)
	}
	return w.addInt(a, b, -1)
}

// where calls torch's operator, which takes a branch for each element. If one of the two values is +0, where masks the bits of the other
// value instead, which is several times faster if the branches cannot be predicted.
func where(w *worker) {
	c, a, b := w.in[0], w.in[1], w.in[2]
	s := w.n.Outputs[0].Shape
	bits, ok := bitsOf[a.d]
	if !ok || s.Size() < 1<<12 || !w.dev.reads {
		w.out[0] = w.where(c, a, b)
		return
	}
	second, first := w.isZero(b), w.isZero(a)
	if !first && !second {
		w.out[0] = w.where(c, a, b)
		return
	}
	kept, mask := a, w.un(opNeg, w.convert(c, bits)) // all bits where c holds
	if !second {
		kept, mask = b, w.un(opNot, mask)
	}
	w.out[0] = w.expand(w.bits(w.bin(opAnd, w.bits(kept, bits), mask, bits), a.d), s)
}

// isZero reports whether x is +0: one element in host memory, broadcast to the shape.
func (w *worker) isZero(x val) bool {
	if x.s.Size() == 0 || w.err != nil {
		return false
	}
	for i, stride := range w.view(x).Strides {
		if x.s[i] > 1 && stride != 0 {
			return false
		}
	}
	p, err := w.thread.Data(x.h)
	w.fail(err)
	return err == nil && p != nil && !slices.ContainsFunc(unsafe.Slice((*byte)(p), x.d.Size()), func(b byte) bool { return b != 0 })
}

// harmless returns b with 0 and -1 replaced by 1, because integer division by them may trap. none and minus are true where b is 0
// and where it is -1; for unsigned types, which have no -1, minus has handle 0.
func (w *worker) harmless(b val) (safe, none, minus val) {
	none = w.bin(opEqual, b, w.whole(b.d, 0), dtype.Bool)
	one := w.whole(b.d, 1)
	safe = w.where(none, one, b)
	if b.d.Class() == dtype.Signed {
		minus = w.bin(opEqual, b, w.whole(b.d, -1), dtype.Bool)
		safe = w.where(minus, one, safe)
	}
	return safe, none, minus
}

func div(w *worker) {
	a, b := w.in[0], w.in[1]
	if a.d.IsFloat() {
		w.out[0] = w.bin(opDiv, a, b, a.d)
		return
	}
	safe, none, minus := w.harmless(b)
	s := w.broadcast(a.s, b.s)
	var y val
	if w.dev.lists {
		y = w.call(opDivMode, a.d, s, func(t *torch.Thread) {
			t.Tensor(a.h)
			t.Tensor(safe.h)
			t.SomeText("trunc")
		})
	} else { // a multiple has the same quotient under all rounding rules
		y = w.bin(opFloorDivide, w.sub(a, w.bin(opFmod, a, safe, a.d)), safe, a.d)
	}
	if minus.h != 0 {
		y = w.where(minus, w.un(opNeg, a), y)
	}
	w.out[0] = w.where(none, w.whole(a.d, -1), y)
}

func rem(w *worker) {
	a, b := w.in[0], w.in[1]
	if a.d.IsFloat() { // in f64, because torch's fmod of f32 returns NaN if the quotient is large
		w.out[0] = w.to(w.floatRem(w.to(a, dtype.F64), w.to(b, dtype.F64), a.d == dtype.F64), a.d)
		return
	}
	safe, none, _ := w.harmless(b)
	w.out[0] = w.where(none, a, w.bin(opFmod, a, safe, a.d))
}

// floatRem returns the remainder in f64. If far is set, because the operands were f64 already, the quotient may be too large for
// one step. floatRem then first computes the remainders by b times powers of two, which does not change the result.
func (w *worker) floatRem(a, b val, far bool) val {
	if far {
		step := w.real(dtype.F64, 0x1p700)
		large := w.bin(opMul, b, step, dtype.F64)
		a = w.bin(opFmod, a, w.bin(opMul, large, step, dtype.F64), dtype.F64)
		a = w.bin(opFmod, a, large, dtype.F64)
	}
	return w.bin(opFmod, a, b, dtype.F64)
}

// bitsOf contains the integer type of the same size for each float type.
var bitsOf = map[dtype.DType]dtype.DType{dtype.F64: dtype.I64, dtype.F32: dtype.I32, dtype.F16: dtype.I16, dtype.BF16: dtype.I16}

// extreme computes max or min by operator o. torch returns either one of two zeros of different sign. Where operands are equal, the
// operator join combines their bits instead.
func (w *worker) extreme(o, join *torch.Operator) {
	a, b := w.in[0], w.in[1]
	y := w.bin(o, a, b, a.d)
	if i, ok := bitsOf[a.d]; ok {
		same := w.bits(w.bin(join, w.bits(a, i), w.bits(b, i), i), a.d)
		y = w.where(w.bin(opEqual, a, b, dtype.Bool), same, y)
	}
	w.out[0] = y
}
