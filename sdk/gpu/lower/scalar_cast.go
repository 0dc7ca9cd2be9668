package lower

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

var inf = math.Inf(1)

// cast returns element x of type from, converted to type to as the row of cast defines. The operand and the result have the types in which
// elements are stored.
func cast(b *ir.Builder, from, to dtype.DType, x ir.Value, saturate bool) ir.Value {
	switch {
	case from == to:
		return x
	case dtype.Smalls.Has(from):
		return castSmall(b, from, to, x, saturate)
	case dtype.Smalls.Has(to):
		return toSmall(b, from, to, x, saturate)
	}
	c := b.Cast(compute(from), x)
	switch {
	case to == dtype.Bool:
		return b.Ne(c, b.Cast(compute(from), b.Const(from, 0)))
	case from.IsFloat() && to.IsFloat():
		return narrow(b, to, c)
	case from.IsFloat():
		return b.Cast(to, toInt(b, to, c))
	case to == dtype.BF16 && bits(from) > 16:
		return b.Cast(to, oddFloat(b, c))
	case to.IsFloat():
		return b.Cast(to, b.Cast(compute(to), c))
	}
	return b.Cast(to, x)
}

// narrow rounds a float of 32 or 64 bits to another float type, once.
func narrow(b *ir.Builder, to dtype.DType, x ir.Value) ir.Value {
	if b.TypeOf(x) == dtype.F64 && to.Size() == 2 {
		x = oddNarrow(b, x)
	}
	return b.Cast(to, x)
}

// toInt returns a float of 32 or 64 bits converted to integer type to, in the type of the computation. It truncates and saturates, and
// converts NaN to 0.
func toInt(b *ir.Builder, to dtype.DType, x ir.Value) ir.Value {
	f, i := b.TypeOf(x), compute(to)
	low, high := bounds(to)
	top, bottom := math.Ldexp(1, bits(to)), 0.0
	if to.Class() == dtype.Signed {
		top /= 2
		bottom = -top
	}
	above, below := b.Le(b.Float(f, top), x), b.Le(x, b.Float(f, bottom))
	inside := b.And(b.Lt(x, b.Float(f, top)), b.Lt(b.Float(f, bottom), x))
	y := b.Cast(i, b.Select(inside, x, b.Float(f, 0)))
	return b.Select(above, b.Const(i, high), b.Select(below, b.Const(i, low), y))
}

// oddFloat returns an integer converted to f32 and rounded to odd: truncated, with the last bit set if that is inexact. Rounding the result
// to fewer bits equals rounding the integer.
func oddFloat(b *ir.Builder, x ir.Value) ir.Value {
	d := b.TypeOf(x)
	word := dtype.U32
	if d.Size() == 8 {
		word = dtype.U64
	}
	a, sign := x, ir.Value(0)
	if d.Class() == dtype.Signed {
		below := b.Lt(x, b.Const(d, 0))
		a = b.Select(below, b.Unary(ir.Neg, x), x)
		sign = b.Select(below, b.Const(dtype.U32, 1<<31), b.Const(dtype.U32, 0))
	}
	a = b.Bitcast(word, a)
	f := b.Cast(dtype.F32, a)
	overflow := b.Le(b.Float(dtype.F32, math.Ldexp(1, bits(word))), f)
	back := b.Cast(word, b.Select(overflow, b.Float(dtype.F32, 0), f))
	up := b.Or(overflow, b.Lt(a, back))
	r := b.Bitcast(dtype.U32, f)
	r = b.Select(up, b.Sub(r, b.Const(dtype.U32, 1)), r)
	r = b.Select(b.Or(overflow, b.Ne(a, back)), b.Or(r, b.Const(dtype.U32, 1)), r)
	if sign != 0 {
		r = b.Or(r, sign)
	}
	return b.Bitcast(dtype.F32, r)
}

// oddNarrow returns an f64 converted to f32 and rounded to odd: truncated, with the last bit set if that is inexact.
func oddNarrow(b *ir.Builder, x ir.Value) ir.Value {
	f := b.Cast(dtype.F32, x)
	back := b.Cast(dtype.F64, f)
	r := b.Bitcast(dtype.U32, f)
	up := b.Lt(b.Unary(ir.Abs, x), b.Unary(ir.Abs, back))
	r = b.Select(up, b.Sub(r, b.Const(dtype.U32, 1)), r)
	inexact := b.And(b.Ne(x, back), b.Eq(x, x))
	return b.Bitcast(dtype.F32, b.Select(inexact, b.Or(r, b.Const(dtype.U32, 1)), r))
}
