package export

import (
	"encoding/binary"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var le = binary.LittleEndian

// number returns the bytes of v as an element of type d. For integers v is rounded toward zero; v must be in range.
func number(d dtype.DType, v float64) []byte {
	switch d {
	case dtype.F64:
		return le.AppendUint64(nil, math.Float64bits(v))
	case dtype.F32:
		return le.AppendUint32(nil, math.Float32bits(float32(v)))
	case dtype.F16:
		return le.AppendUint16(nil, uint16(dtype.Float16From64(v)))
	case dtype.BF16:
		return le.AppendUint16(nil, uint16(dtype.BFloat16From64(v)))
	case dtype.Bool:
		if v != 0 {
			return []byte{1}
		}
		return []byte{0}
	}
	return integer(d, int64(v))
}

func integer(d dtype.DType, v int64) []byte { return le.AppendUint64(nil, uint64(v))[:d.Size()] }

// element returns the bytes of the scalar attribute v in type d, converted by the rules of cast: floats beyond the range of an
// integer type saturate.
func element(d dtype.DType, v op.Value) []byte {
	_, isInt := v.Bits()
	if d.IsFloat() || d == dtype.Bool {
		return number(d, v.Float())
	}
	if isInt {
		return integer(d, v.Int())
	}
	f, bits := v.Float(), 8*d.Size()
	lo, hi := -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	if d.Class() == dtype.Unsigned {
		lo, hi = 0, math.Ldexp(1, bits)
	}
	switch {
	case f != f:
		return integer(d, 0)
	case f <= lo && d.Class() == dtype.Unsigned:
		return integer(d, 0)
	case f <= lo:
		return integer(d, math.MinInt64>>(64-bits))
	case f >= hi && d.Class() == dtype.Unsigned:
		return integer(d, -1)
	case f >= hi:
		return integer(d, math.MaxInt64>>(64-bits))
	case f >= math.MaxInt64:
		return le.AppendUint64(nil, uint64(f))
	}
	return integer(d, int64(f))
}
