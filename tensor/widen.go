package tensor

import "github.com/goburn/burn/core/dtype"

// Float64s converts elements of any type, in the format of Tensor.Bytes, to float64. 64-bit integers may lose low bits. For F64
// the result shares the memory of data.
func Float64s(d dtype.DType, data []byte) []float64 {
	switch d {
	case dtype.F64:
		return dtype.Slice[float64](data)
	case dtype.F32:
		return widen(dtype.Slice[float32](data), func(v float32) float64 { return float64(v) })
	case dtype.F16:
		return widen(dtype.Slice[dtype.Float16](data), func(v dtype.Float16) float64 { return float64(v.Float32()) })
	case dtype.BF16:
		return widen(dtype.Slice[dtype.BFloat16](data), func(v dtype.BFloat16) float64 { return float64(v.Float32()) })
	case dtype.U64:
		return widen(dtype.Slice[uint64](data), func(v uint64) float64 { return float64(v) })
	}
	if dtype.Smalls.Has(d) {
		v := make([]float32, len(data))
		dtype.FromSmall(d, data, v)
		return widen(v, func(v float32) float64 { return float64(v) })
	}
	return widen(Int64s(d, data), func(v int64) float64 { return float64(v) })
}

// Int64s converts integer and bool elements, in the format of Tensor.Bytes, to int64. Numbers of type u64 keep their bits, floats
// of 8 and 4 bits are returned as their codes, and for other floats the result is nil. For I64 and U64 the result shares the
// memory of data.
func Int64s(d dtype.DType, data []byte) []int64 {
	switch d {
	case dtype.I64, dtype.U64:
		return dtype.Slice[int64](data)
	case dtype.I32:
		return widen(dtype.Slice[int32](data), func(v int32) int64 { return int64(v) })
	case dtype.I16:
		return widen(dtype.Slice[int16](data), func(v int16) int64 { return int64(v) })
	case dtype.I8:
		return widen(dtype.Slice[int8](data), func(v int8) int64 { return int64(v) })
	case dtype.U32:
		return widen(dtype.Slice[uint32](data), func(v uint32) int64 { return int64(v) })
	case dtype.U16:
		return widen(dtype.Slice[uint16](data), func(v uint16) int64 { return int64(v) })
	case dtype.I4, dtype.I2:
		return widen(data, func(v byte) int64 { return int64(int8(v)) })
	}
	if d.IsFloat() {
		return nil
	}
	return widen(data, func(v byte) int64 { return int64(v) })
}

func widen[S, D any](in []S, f func(S) D) []D {
	out := make([]D, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
