package onnx

import (
	"encoding/binary"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Elements on the host are stored as little-endian bytes, as the op contract defines them.

// appendFloat appends v as an element of type d, converted by the rules of cast.
func appendFloat(b []byte, d dtype.DType, v float64) []byte {
	if dtype.Smalls.Has(d) {
		return append(b, dtype.ToSmall(d, v, true))
	}
	le := binary.LittleEndian
	switch d {
	case dtype.F64:
		return le.AppendUint64(b, math.Float64bits(v))
	case dtype.F32:
		return le.AppendUint32(b, math.Float32bits(float32(v)))
	case dtype.F16:
		return le.AppendUint16(b, uint16(dtype.Float16From64(v)))
	case dtype.BF16:
		return le.AppendUint16(b, uint16(dtype.BFloat16From64(v)))
	case dtype.Bool:
		if v != 0 {
			return append(b, 1)
		}
		return append(b, 0)
	}
	return appendInt(b, d, saturate(d, v))
}

// saturate truncates v toward zero and clamps it to the range of the integer type d; NaN becomes 0. An unsigned 64-bit value is
// returned as an int64 with the same bits.
func saturate(d dtype.DType, v float64) int64 {
	if v != v {
		return 0
	}
	bits := 8 * d.Size()
	lo, hi := -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	if d.Class() == dtype.Unsigned {
		lo, hi = 0, math.Ldexp(1, bits)
	}
	switch v = math.Trunc(v); {
	case v <= lo && d.Class() == dtype.Unsigned:
		return 0
	case v <= lo:
		return -1 << (bits - 1)
	case v >= hi && d.Class() == dtype.Unsigned:
		return int64(^uint64(0) >> (64 - bits))
	case v >= hi:
		return 1<<(bits-1) - 1
	case v >= math.Ldexp(1, 63):
		return int64(uint64(v))
	}
	return int64(v)
}

// appendInt appends v as an element of type d; integers keep their low bits.
func appendInt(b []byte, d dtype.DType, v int64) []byte {
	le := binary.LittleEndian
	switch d {
	case dtype.I64, dtype.U64:
		return le.AppendUint64(b, uint64(v))
	case dtype.I32, dtype.U32:
		return le.AppendUint32(b, uint32(v))
	case dtype.I16, dtype.U16:
		return le.AppendUint16(b, uint16(v))
	case dtype.I8, dtype.U8:
		return append(b, byte(v))
	case dtype.Bool:
		if v != 0 {
			return append(b, 1)
		}
		return append(b, 0)
	case dtype.F32:
		return le.AppendUint32(b, math.Float32bits(float32(v)))
	case dtype.I4, dtype.U4, dtype.I2, dtype.U2:
		return append(b, dtype.IntToSmall(d, v))
	}
	return appendFloat(b, d, float64(v))
}

// appendNumber appends the value of a scalar attribute as an element of type d.
func appendNumber(b []byte, d dtype.DType, v op.Value) []byte {
	if _, isInt := v.Bits(); isInt {
		return appendInt(b, d, v.Int())
	}
	return appendFloat(b, d, v.Float())
}

// toFloats converts elements of type d to float64.
func toFloats(d dtype.DType, b []byte) []float64 {
	size := d.Size()
	out := make([]float64, len(b)/size)
	for i := range out {
		switch e := b[i*size:]; {
		case dtype.AnyFloats.Has(d):
			out[i] = dtype.FloatAt(d, b, i)
		case d == dtype.U64:
			out[i] = float64(binary.LittleEndian.Uint64(e))
		default:
			out[i] = float64(toInt64(d, e))
		}
	}
	return out
}

// toInts converts elements of type d to int; floats are truncated.
func toInts(d dtype.DType, b []byte) []int {
	size := d.Size()
	out := make([]int, len(b)/size)
	if dtype.AnyFloats.Has(d) {
		for i, v := range toFloats(d, b) {
			out[i] = toInt(saturate(dtype.I64, v))
		}
		return out
	}
	for i := range out {
		out[i] = toInt(toInt64(d, b[i*size:]))
	}
	return out
}

// toInt64 converts the first element of e, an integer or bool of type d.
func toInt64(d dtype.DType, e []byte) int64 {
	le := binary.LittleEndian
	switch d {
	case dtype.I64, dtype.U64:
		return int64(le.Uint64(e))
	case dtype.I32:
		return int64(int32(le.Uint32(e)))
	case dtype.U32:
		return int64(le.Uint32(e))
	case dtype.I16:
		return int64(int16(le.Uint16(e)))
	case dtype.U16:
		return int64(le.Uint16(e))
	case dtype.I8, dtype.I4, dtype.I2:
		return int64(int8(e[0]))
	}
	return int64(e[0])
}
