package elementwise

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// smallKernel returns the kernel that converts between storage types (of 8 bits and less), or between storage types and other types.
func smallKernel(from, to dtype.DType, sat bool) kernel.Func {
	if dtype.Smalls.Has(from) {
		return fromSmall(from, to, sat)
	}
	switch from {
	case dtype.F64:
		return toSmallFloat[float64](to, sat)
	case dtype.F32, dtype.F16, dtype.BF16:
		return toSmallFloat[float32](to, sat)
	case dtype.I64:
		return toSmallInt[int64](to, sat)
	case dtype.I32:
		return toSmallInt[int32](to, sat)
	case dtype.I16:
		return toSmallInt[int16](to, sat)
	case dtype.I8:
		return toSmallInt[int8](to, sat)
	case dtype.U64:
		return toSmallInt[uint64](to, sat)
	case dtype.U32:
		return toSmallInt[uint32](to, sat)
	case dtype.U16:
		return toSmallInt[uint16](to, sat)
	}
	return toSmallInt[uint8](to, sat)
}

func toSmallFloat[T float](to dtype.DType, sat bool) kernel.Func {
	return one(func(d []uint8, x []T) {
		for i, v := range x {
			d[i] = dtype.ToSmall(to, float64(v), sat)
		}
	})
}

func toSmallInt[T integer](to dtype.DType, sat bool) kernel.Func {
	if dtype.SmallInts.Has(to) {
		return one(func(d []uint8, x []T) {
			for i, v := range x {
				d[i] = dtype.IntToSmall(to, int64(v))
			}
		})
	}
	return one(func(d []uint8, x []T) {
		for i, v := range x {
			d[i] = dtype.ToSmall(to, float64(v), sat)
		}
	})
}

// fromSmall returns a kernel that looks up the value of each of the 256 codes.
func fromSmall(from, to dtype.DType, sat bool) kernel.Func {
	codes, values := make([]byte, 256), make([]float32, 256)
	for i := range codes {
		codes[i] = byte(i)
	}
	dtype.FromSmall(from, codes, values)
	ints := dtype.SmallInts.Has(from)
	switch to {
	case dtype.F64:
		return lookUp(table(values, func(v float32) float64 { return float64(v) }))
	case dtype.F32, dtype.F16, dtype.BF16:
		return lookUp(values) // result.store rounds
	case dtype.Bool:
		return lookUp(table(values, func(v float32) uint8 { return truth(v != 0) }))
	case dtype.I64:
		return lookUp(whole[int64](values, ints))
	case dtype.I32:
		return lookUp(whole[int32](values, ints))
	case dtype.I16:
		return lookUp(whole[int16](values, ints))
	case dtype.I8:
		return lookUp(whole[int8](values, ints))
	case dtype.U64:
		return lookUp(whole[uint64](values, ints))
	case dtype.U32:
		return lookUp(whole[uint32](values, ints))
	case dtype.U16:
		return lookUp(whole[uint16](values, ints))
	case dtype.U8:
		return lookUp(whole[uint8](values, ints))
	}
	return lookUp(table(values, func(v float32) uint8 { return dtype.ToSmall(to, float64(v), sat) }))
}

func table[R any](values []float32, f func(v float32) R) []R {
	t := make([]R, len(values))
	for i, v := range values {
		t[i] = f(v)
	}
	return t
}

// whole converts floats to integers. ints means that it keeps the low bits; otherwise it converts as the op cast does.
func whole[R integer](values []float32, ints bool) []R {
	if ints {
		return table(values, func(v float32) R { return R(int64(v)) })
	}
	t := make([]R, len(values))
	saturate(t, values)
	return t
}

func lookUp[R any](t []R) kernel.Func {
	return one(func(d []R, x []uint8) {
		for i, v := range x {
			d[i] = t[v]
		}
	})
}
