package lower

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// small is the layout of a float of 8 or 4 bits: value = (-1)^s · 2^(e-bias) · 1.m, with denormals at e = 0.
type small struct {
	exponent, mantissa, bias int
	greatest, over, nan      uint64 // codes of the greatest finite value, of the value beyond it, and of NaN
	infinite                 bool   // over is an infinity, and the codes above it are NaN
	unsignedZero             bool   // there is no -0, and NaN has no sign
	noNaN                    bool
}

// smalls are the formats, except f8e8m0, which consists only of an exponent.
var smalls = map[dtype.DType]small{
	dtype.F8E4M3FN:   {exponent: 4, mantissa: 3, bias: 7, greatest: 0x7e, over: 0x7f, nan: 0x7f},
	dtype.F8E5M2:     {exponent: 5, mantissa: 2, bias: 15, greatest: 0x7b, over: 0x7c, nan: 0x7e, infinite: true},
	dtype.F8E4M3FNUZ: {exponent: 4, mantissa: 3, bias: 8, greatest: 0x7f, over: 0x80, nan: 0x80, unsignedZero: true},
	dtype.F8E5M2FNUZ: {exponent: 5, mantissa: 2, bias: 16, greatest: 0x7f, over: 0x80, nan: 0x80, unsignedZero: true},
	dtype.F4E2M1:     {exponent: 2, mantissa: 1, bias: 1, greatest: 7, over: 7, nan: 8, noNaN: true},
}

func word(b *ir.Builder, n uint64) ir.Value { return b.Const(dtype.U32, n) }

// castSmall returns code x of storage type from, converted to type to.
func castSmall(b *ir.Builder, from, to dtype.DType, x ir.Value, saturate bool) ir.Value {
	if dtype.SmallInts.Has(from) {
		byteType := dtype.U8
		if from == dtype.I4 || from == dtype.I2 {
			byteType = dtype.I8 // the sign is extended
		}
		x = b.Bitcast(byteType, x)
		if dtype.SmallInts.Has(to) {
			return lowBits(b, to, b.Cast(dtype.I32, x))
		}
		return cast(b, byteType, to, x, saturate)
	}
	if from == dtype.F8E8M0 && to == dtype.Bool {
		return b.Const(dtype.Bool, 1) // no code has the value 0; as f32 the least value is subnormal, and hardware may treat it as 0
	}
	return cast(b, dtype.F32, to, decode(b, from, b.Cast(dtype.U32, x)), saturate)
}

// decode returns the value of a code of a small float.
func decode(b *ir.Builder, from dtype.DType, code ir.Value) ir.Value {
	shl := func(v ir.Value, n int) ir.Value { return b.Binary(ir.Shl, v, word(b, uint64(n))) }
	nan := b.Float(dtype.F32, math.NaN())
	if from == dtype.F8E8M0 {
		f := b.Select(b.Eq(code, word(b, 0)), word(b, 0x00400000), shl(code, 23))
		return b.Select(b.Eq(code, word(b, 0xff)), nan, b.Bitcast(dtype.F32, f))
	}
	m := smalls[from]
	width := m.exponent + m.mantissa
	rest := b.And(code, word(b, 1<<width-1))
	sign := shl(b.And(b.Binary(ir.Shr, code, word(b, uint64(width))), word(b, 1)), 31)
	normal := b.Add(shl(rest, 23-m.mantissa), word(b, uint64(127-m.bias)<<23))
	denormal := b.Bitcast(dtype.U32, b.Mul(b.Cast(dtype.F32, rest), b.Float(dtype.F32, math.Ldexp(1, 1-m.bias-m.mantissa))))
	f := b.Bitcast(dtype.F32, b.Or(sign, b.Select(b.Lt(rest, word(b, 1<<m.mantissa)), denormal, normal)))
	switch {
	case m.noNaN:
		return f
	case m.unsignedZero:
		return b.Select(b.Eq(code, word(b, m.nan)), nan, f)
	case m.infinite:
		infinity := b.Bitcast(dtype.F32, b.Or(sign, word(b, 0x7f800000)))
		return b.Select(b.Lt(word(b, m.over), rest), nan, b.Select(b.Eq(rest, word(b, m.over)), infinity, f))
	}
	return b.Select(b.Eq(rest, word(b, m.nan)), nan, f)
}

// toSmall returns element x of type from, converted to a code of storage type to.
func toSmall(b *ir.Builder, from, to dtype.DType, x ir.Value, saturate bool) ir.Value {
	c := b.Cast(compute(from), x)
	wide := bits(compute(from)) == 64
	switch {
	case dtype.SmallInts.Has(to) && from.IsFloat():
		// Beyond this magnitude the low bits of a whole number are 0.
		limit, i := 0x1p30, dtype.I32
		if wide {
			limit, i = 0x1p62, dtype.I64
		}
		f := compute(from)
		return lowBits(b, to, b.Cast(i, b.Select(b.Lt(b.Unary(ir.Abs, c), b.Float(f, limit)), c, b.Float(f, 0))))
	case dtype.SmallInts.Has(to):
		return lowBits(b, to, c)
	case from == dtype.Bool:
		c = b.Cast(dtype.F32, c)
	case from == dtype.F64:
		c = oddNarrow(b, c)
	case from.IsInt():
		c = oddFloat(b, c)
	}
	return encode(b, to, c, saturate)
}

// lowBits returns an integer reduced to the bits of a small integer type.
func lowBits(b *ir.Builder, to dtype.DType, x ir.Value) ir.Value {
	x = b.Cast(dtype.U32, x)
	n := uint64(4)
	if to == dtype.I2 || to == dtype.U2 {
		n = 2
	}
	x = b.And(x, word(b, 1<<n-1))
	if to == dtype.I4 || to == dtype.I2 {
		half := word(b, 1<<(n-1))
		x = b.Sub(b.Binary(ir.Xor, x, half), half) // extends the sign
	}
	return b.Cast(dtype.U8, x)
}

// encode returns the code of an f32 in a small float type.
func encode(b *ir.Builder, to dtype.DType, x ir.Value, saturate bool) ir.Value {
	raw := b.Bitcast(dtype.U32, x)
	a := b.And(raw, word(b, 0x7fffffff))
	isNaN := b.Lt(word(b, 0x7f800000), a)
	shr := func(v ir.Value, n int) ir.Value { return b.Binary(ir.Shr, v, word(b, uint64(n))) }
	if to == dtype.F8E8M0 {
		over := uint64(0xff)
		if saturate {
			over = 0xfe
		}
		tie := b.Select(b.Lt(a, word(b, 1<<23)), word(b, 0x200000), word(b, 0x400000)) // for denormals, 1.5·2^-127 is the tie
		n := shr(b.Add(a, tie), 23)
		n = b.Select(b.Lt(word(b, 0xfe), n), word(b, over), n)
		bad := b.Or(isNaN, b.And(b.Ne(a, word(b, 0)), b.Ne(raw, a)))
		return b.Cast(dtype.U8, b.Select(bad, word(b, 0xff), n))
	}
	m := smalls[to]
	down := 23 - m.mantissa
	// Codes of one sign have the order of their values, so rounding may carry into the exponent.
	half := b.Add(word(b, 1<<(down-1)-1), b.And(shr(a, down), word(b, 1)))
	normal := b.Sub(shr(b.Add(a, half), down), word(b, uint64(127-m.bias)<<m.mantissa))
	scaled := b.Mul(b.Bitcast(dtype.F32, a), b.Float(dtype.F32, math.Ldexp(1, m.bias-1+m.mantissa)))
	isSmall := b.Lt(a, word(b, uint64(128-m.bias)<<23))
	denormal := b.Cast(dtype.U32, b.Unary(ir.Round, b.Select(isSmall, scaled, b.Float(dtype.F32, 0))))
	n := b.Select(isSmall, denormal, normal)
	sign := b.Binary(ir.Shl, shr(raw, 31), word(b, uint64(m.exponent+m.mantissa)))
	over := b.Or(word(b, m.over), sign)
	if saturate {
		over = b.Or(word(b, m.greatest), sign)
	} else if m.unsignedZero {
		over = word(b, m.over)
	}
	code := b.Or(n, sign)
	if m.unsignedZero {
		code = b.Select(b.Eq(n, word(b, 0)), n, code)
	}
	code = b.Select(b.Lt(word(b, m.greatest), n), over, code)
	return b.Cast(dtype.U8, b.Select(isNaN, word(b, m.nan), code))
}
