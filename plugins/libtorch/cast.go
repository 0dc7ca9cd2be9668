package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var (
	opIsNaN     = aten("isnan")
	opMaximum   = aten("maximum")
	opMinimum   = aten("minimum")
	opNextAfter = aten("nextafter")
)

// cast converts like the op cast. torch's conversion is undefined for floats outside the range of the integer type, and rounds twice from
// f64 and from wide integers to 16-bit floats.
func (w *worker) cast(x val, d dtype.DType) val {
	switch {
	case x.d == d:
		return x
	case x.d.IsFloat() && d.IsInt():
		return w.floatToInt(x, d)
	case d.Size() == 2 && d.IsFloat() && x.d.Size() > 4, d == dtype.BF16 && x.d.IsInt() && x.d.Size() == 4:
		return w.convert(w.oddly(w.to(x, dtype.F64)), d)
	}
	return w.convert(x, d)
}

// floatToInt truncates toward zero and saturates; NaN is 0.
func (w *worker) floatToInt(x val, d dtype.DType) val {
	lo, hi := bounds(d)
	wide := dtype.F32 // a type that represents lo and hi exactly
	if d.Size() >= 4 || x.d == dtype.F64 {
		wide = dtype.F64
	}
	x = w.to(x, wide)
	x = w.where(w.unTo(opIsNaN, x, dtype.Bool), w.real(wide, 0), x)
	if d.Size() < 8 {
		x = w.bin(opMaximum, x, w.real(wide, float64(lo)), wide)
		x = w.bin(opMinimum, x, w.real(wide, float64(hi)), wide)
		return w.convert(x, d)
	}
	// No float equals the greatest value of i64: elements of at least 2^63 are replaced by it afterwards.
	over := w.bin(opLess, w.real(wide, 0x1p63-1024), x, dtype.Bool)
	x = w.bin(opMaximum, x, w.real(wide, float64(lo)), wide)
	x = w.bin(opMinimum, x, w.real(wide, 0x1p63-1024), wide)
	return w.where(over, w.number(d, op.ScalarInt("", hi).Value), w.convert(x, d))
}

// oddly rounds the f64 tensor x to f32 so that a second rounding, to 16 bits, has the same result as one direct rounding of x (rounding to
// odd: if the f32 value is inexact, its last bit is 1).
func (w *worker) oddly(x val) val {
	y := w.convert(x, dtype.F32)
	back := w.convert(y, dtype.F64)
	odd := w.bin(opAnd, w.bits(y, dtype.I32), w.whole(dtype.I32, 1), dtype.I32)
	even := w.bin(opEqual, odd, w.whole(dtype.I32, 0), dtype.Bool)
	inexact := w.un(opNot, w.bin(opEqual, back, x, dtype.Bool))
	number := w.un(opNot, w.unTo(opIsNaN, y, dtype.Bool))
	finite := w.bin(opLess, w.un(opAbs, y), w.real(dtype.F32, 1/zero), dtype.Bool)
	step := w.bin(opAnd, w.bin(opAnd, even, inexact, dtype.Bool), w.bin(opAnd, number, finite, dtype.Bool), dtype.Bool)
	up := w.bin(opLess, back, x, dtype.Bool)
	toward := w.where(up, w.real(dtype.F32, 1/zero), w.real(dtype.F32, -1/zero))
	return w.where(step, w.bin(opNextAfter, y, toward, dtype.F32), y)
}

var opAbs = aten("abs")

// zero is a divisor that produces infinities.
var zero = 0.0
