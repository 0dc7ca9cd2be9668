package kernel

import (
	"math"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Scalar converts an attribute to an element of type d, with the rules of the op cast. It returns the element in the low bits of a word.
func Scalar(d dtype.DType, v op.Value) uint64 {
	bits, isInt := v.Bits()
	i, f := int64(bits), v.Float()
	switch d {
	case dtype.F64:
		return math.Float64bits(f)
	case dtype.F32:
		if isInt {
			return uint64(math.Float32bits(float32(i)))
		}
		return uint64(math.Float32bits(float32(f)))
	case dtype.F16:
		return uint64(dtype.Float16From64(f))
	case dtype.BF16:
		if isInt {
			f = sticky(i)
		}
		return uint64(dtype.BFloat16From64(f))
	case dtype.Bool:
		if isInt && i != 0 || !isInt && f != 0 {
			return 1
		}
		return 0
	}
	mask := ^uint64(0) >> (64 - 8*d.Size())
	if isInt {
		return bits & mask
	}
	if d.Class() == dtype.Unsigned {
		switch {
		case !(f > 0):
			return 0
		case f >= math.Ldexp(1, 8*d.Size()):
			return mask
		}
		return uint64(f)
	}
	limit := math.Ldexp(1, 8*d.Size()-1)
	switch {
	case f != f:
		return 0
	case f >= limit:
		return mask >> 1
	case f <= -limit:
		return (mask>>1 + 1) & mask
	}
	return uint64(int64(f)) & mask
}

// sticky converts i to float64 so that a second rounding, to fewer bits, has the same result as a single rounding of i. If bits are lost, it
// sets the last bit that is kept (a sticky bit).
func sticky(i int64) float64 {
	if i > -1<<53 && i < 1<<53 {
		return float64(i)
	}
	if i < 0 {
		return -StickyUint(uint64(-i))
	}
	return StickyUint(uint64(i))
}

// StickyInt returns a float64 that rounds to the same 16-bit float as i.
func StickyInt(i int64) float64 { return sticky(i) }

// StickyUint is like StickyInt, for unsigned integers.
func StickyUint(u uint64) float64 {
	if u>>53 != 0 && u&0x7ff != 0 {
		u = u&^0x7ff | 1<<11
	}
	return float64(u)
}

// FromBits returns the element of type T that is stored in the low bits of bits.
func FromBits[T any](bits uint64) T { return *(*T)(unsafe.Pointer(&bits)) }

// ByteValue returns the value of a byte of type i8 or u8.
func ByteValue(d dtype.DType, b byte) int32 {
	if d == dtype.I8 {
		return int32(int8(b))
	}
	return int32(b)
}
