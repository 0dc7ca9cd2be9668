package lower

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// number converts a scalar attribute to type d, as cast does. It returns the result in the bits of ir.Arg.
func number(v op.Value, d dtype.DType) uint64 {
	raw, isInt := v.Bits()
	if isInt {
		return intBits(int64(raw), d)
	}
	f := v.Float()
	if d.IsFloat() || dtype.Smalls.Has(d) {
		return floatBits(f, d)
	}
	f = math.Trunc(f)
	low, high := bounds(d)
	top := math.Ldexp(1, bits(d))
	if d.Class() == dtype.Signed {
		top /= 2
	}
	switch {
	case d == dtype.Bool:
		if v.Float() != 0 {
			return 1
		}
		return 0
	case f != f:
		return 0
	case f >= top:
		return high
	case d.Class() == dtype.Unsigned && f <= 0, f <= -top:
		return low
	case d == dtype.U64:
		return uint64(f)
	}
	return uint64(int64(f))
}

// floatBits rounds f to a float or storage type.
func floatBits(f float64, d dtype.DType) uint64 {
	switch d {
	case dtype.F64:
		return math.Float64bits(f)
	case dtype.F32:
		return uint64(math.Float32bits(float32(f)))
	case dtype.F16:
		return uint64(dtype.Float16From64(f))
	case dtype.BF16:
		return uint64(dtype.BFloat16From64(f))
	}
	return uint64(dtype.ToSmall(d, f, true))
}

// fromBits is the inverse of floatBits for types other than storage types.
func fromBits(d dtype.DType, bits uint64) float64 {
	switch d {
	case dtype.F32:
		return float64(math.Float32frombits(uint32(bits)))
	case dtype.F16:
		return float64(dtype.Float16(bits).Float32())
	case dtype.BF16:
		return float64(dtype.BFloat16(bits).Float32())
	}
	return math.Float64frombits(bits)
}

// intBits returns integer i in type d.
func intBits(i int64, d dtype.DType) uint64 {
	switch {
	case d == dtype.Bool:
		if i != 0 {
			return 1
		}
		return 0
	case dtype.SmallInts.Has(d):
		return uint64(dtype.IntToSmall(d, i))
	case d == dtype.BF16:
		return floatBits(float64(oddFloat32(i)), d)
	case d == dtype.F32:
		return uint64(math.Float32bits(float32(i)))
	case d.IsFloat():
		return floatBits(float64(i), d)
	}
	shift := 64 - bits(d)
	if d.Class() == dtype.Signed {
		return uint64(i << shift >> shift)
	}
	return uint64(i) << shift >> shift
}

// oddFloat32 returns i in f32, rounded to odd: truncated, with the last bit set if that is inexact. A further rounding to fewer bits then
// returns the correctly rounded result.
func oddFloat32(i int64) float32 {
	f := float32(i)
	whole := math.MaxInt64 // the value of f, or the greatest int64 if f was rounded up to 2^63
	if float64(f) < 1<<63 {
		whole = int(f)
	} else if i == math.MaxInt64 {
		return math.Nextafter32(f, 0)
	}
	switch {
	case int64(whole) == i:
		return f
	case i > 0 && int64(whole) > i, i < 0 && int64(whole) < i:
		f = math.Nextafter32(f, 0)
	}
	return math.Float32frombits(math.Float32bits(f) | 1)
}

// bounds returns the least and the greatest integer of type d.
func bounds(d dtype.DType) (low, high uint64) {
	if d.Class() == dtype.Signed {
		return uint64(int64(-1) << (bits(d) - 1)), uint64(int64(1)<<(bits(d)-1) - 1)
	}
	return 0, ^uint64(0) >> (64 - bits(d))
}
