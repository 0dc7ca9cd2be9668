package dtype

import "math"

// The storage types: floats of 8 and 4 bits and integers of 4 and 2 bits, one element a byte (the low bits; integers are sign-extended).
// They can be moved and cast, but no arithmetic is defined on them.
const (
	F8E4M3FN   DType = 14 // no infinities, one NaN; OCP FP8
	F8E5M2     DType = 15 // as IEEE 754; OCP FP8
	F8E4M3FNUZ DType = 16 // no infinities, no negative zero; the code 0x80 is NaN
	F8E5M2FNUZ DType = 17
	F8E8M0     DType = 18 // a power of two: a scale of the OCP MX formats
	F4E2M1     DType = 19 // no NaN, no infinities; OCP MX FP4
	I4         DType = 20
	U4         DType = 21
	I2         DType = 22
	U2         DType = 23
)

// Storage is the class of the storage types.
const Storage Class = 5

// SmallFloats, SmallInts and Smalls are the sets of storage types.
var (
	SmallFloats = SetOf(F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0, F4E2M1)
	SmallInts   = SetOf(I4, U4, I2, U2)
	Smalls      = SmallFloats | SmallInts
)

// minifloat describes the format of a small float: value = (-1)^s · 2^(e-bias) · 1.m, with denormals at e = 0.
type minifloat struct {
	exp, man int
	bias     int
	unsigned bool // no sign bit, no zero, no mantissa
	nuz      bool // 0x80 is the only NaN
	fn       bool // all ones is NaN, no infinity
	finite   bool // neither NaN nor infinity
}

var minifloats = map[DType]minifloat{
	F8E4M3FN:   {exp: 4, man: 3, bias: 7, fn: true},
	F8E5M2:     {exp: 5, man: 2, bias: 15},
	F8E4M3FNUZ: {exp: 4, man: 3, bias: 8, nuz: true},
	F8E5M2FNUZ: {exp: 5, man: 2, bias: 16, nuz: true},
	F8E8M0:     {exp: 8, bias: 127, unsigned: true},
	F4E2M1:     {exp: 2, man: 1, bias: 1, finite: true},
}

// decoded contains the value of each code of each small float.
var decoded = func() map[DType]*[256]float32 {
	t := map[DType]*[256]float32{}
	for d, m := range minifloats {
		var v [256]float32
		for i := range v {
			v[i] = m.decode(byte(i))
		}
		t[d] = &v
	}
	return t
}()

// FromSmall stores the exact values of bytes of storage type d in dst.
func FromSmall(d DType, src []byte, dst []float32) {
	switch d {
	case I4, I2:
		for i, b := range src {
			dst[i] = float32(int8(b))
		}
	case U4, U2:
		for i, b := range src {
			dst[i] = float32(b)
		}
	default:
		t := decoded[d]
		for i, b := range src {
			dst[i] = t[b]
		}
	}
}

// ToSmall rounds f to storage type d. For floats, f is rounded to nearest, ties to even. With saturate, infinities and numbers out of range
// become the greatest finite value. Without it, they become infinity, or NaN if the format has no infinity, or the greatest value in
// F4E2M1, which has neither. For F8E8M0, f is rounded to the nearest power of two, ties up; zero becomes the least power, and negative
// numbers become NaN. Integers truncate toward zero and keep the low bits; NaN becomes 0.
func ToSmall(d DType, f float64, saturate bool) byte {
	switch d {
	case I4, U4, I2, U2:
		if f != f {
			return 0
		}
		return IntToSmall(d, int64(min(max(f, -0x1p62), 0x1p62)))
	}
	m, ok := minifloats[d]
	if !ok {
		return 0
	}
	return m.encode(f, saturate)
}

// IntToSmall converts an integer to the integer storage type d by keeping its low bits.
func IntToSmall(d DType, v int64) byte {
	switch d {
	case I4:
		return byte(int8(v<<4) >> 4)
	case U4:
		return byte(v) & 15
	case I2:
		return byte(int8(v<<6) >> 6)
	}
	return byte(v) & 3
}

func (m minifloat) decode(b byte) float32 {
	if m.unsigned {
		if b == 0xff {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(b)-m.bias))
	}
	sign := 1.0
	if b>>(m.exp+m.man)&1 != 0 {
		sign = -1
	}
	e, f := int(b)>>m.man&(1<<m.exp-1), int(b)&(1<<m.man-1)
	top := 1<<m.exp - 1
	switch {
	case m.nuz && b == 0x80, m.fn && e == top && f == 1<<m.man-1, !m.fn && !m.nuz && !m.finite && e == top && f != 0:
		return float32(math.NaN())
	case !m.fn && !m.nuz && !m.finite && e == top:
		return float32(math.Inf(int(sign)))
	case e == 0:
		return float32(sign * math.Ldexp(float64(f), 1-m.bias-m.man))
	}
	return float32(sign * math.Ldexp(float64(1<<m.man+f), e-m.bias-m.man))
}

func (m minifloat) nan() byte {
	switch {
	case m.nuz:
		return 0x80
	case m.unsigned:
		return 0xff
	case m.finite: // the format has no NaN: zero with the sign bit, as in ml_dtypes
		return 1 << (m.exp + m.man)
	case m.fn:
		return 1<<(m.exp+m.man) - 1
	}
	return (1<<m.exp-1)<<m.man | 1<<(m.man-1)
}

// greatest returns the code of the greatest finite value, and the code for values above it: infinity, or NaN if the format has no infinity,
// or the same code if it has neither.
func (m minifloat) greatest() (code, over byte) {
	all := byte(1<<(m.exp+m.man) - 1)
	switch {
	case m.finite:
		return all, all
	case m.nuz:
		return all, 0x80
	case m.fn:
		return all - 1, all
	}
	inf := byte((1<<m.exp - 1) << m.man)
	return inf - 1, inf
}

func (m minifloat) encode(f float64, saturate bool) byte {
	if f != f {
		return m.nan()
	}
	if m.unsigned {
		return m.power(f, saturate)
	}
	sign := byte(0)
	if math.Signbit(f) {
		sign = 1 << (m.exp + m.man)
	}
	code, over := m.greatest()
	a := math.Abs(f)
	// Within one sign, codes ascend with values. So the code is the number of steps within the binade of a, plus the codes of all lower
	// binades.
	e := 1 - m.bias // a = 1.m × 2^e, or denormal
	if a != 0 {
		_, x := math.Frexp(a)
		e = max(x-1, e)
	}
	steps := math.RoundToEven(math.Ldexp(a, m.man-e))
	n := int(steps) + (e+m.bias-1)<<m.man
	switch {
	case math.IsInf(a, 0) || n > int(code):
		if !saturate {
			if over == m.nan() || m.nuz {
				return m.signed(over, sign)
			}
			return over | sign
		}
		return code | sign
	case n == 0 && m.nuz:
		return 0 // no negative zero
	}
	return byte(n) | sign
}

// signed adds a sign to a code of NaN, unless the format has only one NaN.
func (m minifloat) signed(code, sign byte) byte {
	if m.nuz {
		return code
	}
	return code | sign
}

// power returns the code of f in F8E8M0.
func (m minifloat) power(f float64, saturate bool) byte {
	if f <= 0 || math.IsInf(f, 1) {
		switch {
		case f < 0:
			return 0xff
		case f == 0:
			return 0
		case saturate:
			return 0xfe
		}
		return 0xff
	}
	frac, e := math.Frexp(f) // f = frac × 2^e, frac in [1/2, 1)
	if frac < 0.75 {
		e--
	}
	switch n := e + m.bias; {
	case n < 0:
		return 0
	case n > 0xfe && saturate:
		return 0xfe
	case n > 0xfe:
		return 0xff
	default:
		return byte(n)
	}
}
