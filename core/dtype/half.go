package dtype

import "math"

// Float16 is an IEEE 754 binary16 number, stored as its bits.
type Float16 uint16

// BFloat16 is the upper half of an IEEE 754 binary32 number, stored as its bits.
type BFloat16 uint16

// ToFloat16 rounds to nearest, ties to even; values beyond the range become infinite and NaN stays NaN.
func ToFloat16(f float32) Float16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN: keep it quiet, with the upper payload bits
		return Float16(sign | 0x7e00 | uint16(abs>>13)&0x1ff)
	case abs >= 0x477ff000: // 65520 and above round to infinity
		return Float16(sign | 0x7c00)
	case abs >= 0x38800000: // normal
		return Float16(sign | uint16(roundShift(abs-0x38000000, 13)))
	case abs < 0x33000000: // below half of the least denormal
		return Float16(sign)
	}
	// Denormal: value = m × 2^(e-150) with the hidden bit, in units of 2^-24.
	shift := 126 - abs>>23
	return Float16(sign | uint16(roundShift(abs&0x7fffff|0x800000, shift)))
}

func roundShift(v, shift uint32) uint32 {
	half := uint32(1) << (shift - 1)
	return (v + half - 1 + v>>shift&1) >> shift
}

// Float32 returns the exact value of h.
func (h Float16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h & 0x3ff)
	switch exp {
	case 0:
		f := float32(man) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// ToBFloat16 rounds to nearest, ties to even; NaN stays NaN.
func ToBFloat16(f float32) BFloat16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return BFloat16(b>>16 | 0x40)
	}
	return BFloat16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the exact value of h.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// Float16From64 rounds once from float64, so that a float64 source is never rounded twice.
func Float16From64(f float64) Float16 { return ToFloat16(roundToOdd(f)) }

// BFloat16From64 rounds once from float64.
func BFloat16From64(f float64) BFloat16 { return ToBFloat16(roundToOdd(f)) }

// roundToOdd narrows to float32 so that a second rounding to fewer bits equals a single one: an inexact result has its
// last bit set (Boldo and Melquiond, "When double rounding is odd", 2005).
func roundToOdd(f float64) float32 {
	n := float32(f)
	if float64(n) == f || f != f || math.IsInf(float64(n), 0) && math.IsInf(f, 0) {
		return n
	}
	b := math.Float32bits(n)
	if math.Abs(float64(n)) > math.Abs(f) { // toward zero first; infinity becomes the greatest finite value
		b--
	}
	return math.Float32frombits(b | 1)
}
