package interp

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// cast compiles a conversion. It converts the operand to the widest type of its class (int64, uint64 or float64) first. From there every
// type is reached with one rounding.
func (m *machine) cast(in *ir.Inst) step {
	v := in.Args[0]
	n := m.width(in.Out[0])
	switch m.k.Types[v] {
	case dtype.I32:
		return fromInt(m, in, vector[int32](m, v)[:n])
	case dtype.I64:
		return fromInt(m, in, vector[int64](m, v)[:n])
	case dtype.I16:
		return fromInt(m, in, vector[int16](m, v)[:n])
	case dtype.I8:
		return fromInt(m, in, vector[int8](m, v)[:n])
	case dtype.U32:
		return fromInt(m, in, vector[uint32](m, v)[:n])
	case dtype.U64:
		return fromInt(m, in, vector[uint64](m, v)[:n])
	case dtype.U16:
		return fromInt(m, in, vector[uint16](m, v)[:n])
	case dtype.U8, dtype.Bool:
		return fromInt(m, in, vector[uint8](m, v)[:n])
	case dtype.F32:
		return fromFloat(m, in, vector[float32](m, v)[:n], func(x float32) float64 { return float64(x) })
	case dtype.F64:
		return fromFloat(m, in, vector[float64](m, v)[:n], func(x float64) float64 { return x })
	case dtype.F16:
		return fromFloat(m, in, vector[dtype.Float16](m, v)[:n], func(x dtype.Float16) float64 { return float64(x.Float32()) })
	case dtype.BF16:
		return fromFloat(m, in, vector[dtype.BFloat16](m, v)[:n], func(x dtype.BFloat16) float64 { return float64(x.Float32()) })
	}
	return nil
}

type anyInt interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func fromInt[S anyInt](m *machine, in *ir.Inst, x []S) step {
	switch in.Type {
	case dtype.I32:
		return each(result[int32](m, in), x, func(x S) int32 { return int32(x) })
	case dtype.I64:
		return each(result[int64](m, in), x, func(x S) int64 { return int64(x) })
	case dtype.I16:
		return each(result[int16](m, in), x, func(x S) int16 { return int16(x) })
	case dtype.I8:
		return each(result[int8](m, in), x, func(x S) int8 { return int8(x) })
	case dtype.U32:
		return each(result[uint32](m, in), x, func(x S) uint32 { return uint32(x) })
	case dtype.U64:
		return each(result[uint64](m, in), x, func(x S) uint64 { return uint64(x) })
	case dtype.U16:
		return each(result[uint16](m, in), x, func(x S) uint16 { return uint16(x) })
	case dtype.U8:
		return each(result[uint8](m, in), x, func(x S) uint8 { return uint8(x) })
	case dtype.Bool:
		return each(result[bool](m, in), x, func(x S) bool { return x != 0 })
	case dtype.F32:
		return each(result[float32](m, in), x, func(x S) float32 { return float32(x) })
	case dtype.F64:
		return each(result[float64](m, in), x, func(x S) float64 { return float64(x) })
	case dtype.F16:
		return each(result[dtype.Float16](m, in), x, func(x S) dtype.Float16 { return dtype.ToFloat16(float32(x)) })
	case dtype.BF16:
		return each(result[dtype.BFloat16](m, in), x, func(x S) dtype.BFloat16 { return dtype.ToBFloat16(float32(x)) })
	}
	return nil
}

func fromFloat[S any](m *machine, in *ir.Inst, x []S, wide func(S) float64) step {
	switch in.Type {
	case dtype.I32:
		return toInt[S, int32](m, in, x, wide, -1<<31, 1<<31)
	case dtype.I64:
		return toInt[S, int64](m, in, x, wide, -1<<63, 1<<63)
	case dtype.I16:
		return toInt[S, int16](m, in, x, wide, -1<<15, 1<<15)
	case dtype.I8:
		return toInt[S, int8](m, in, x, wide, -1<<7, 1<<7)
	case dtype.U32:
		return toInt[S, uint32](m, in, x, wide, 0, 1<<32)
	case dtype.U64:
		return toInt[S, uint64](m, in, x, wide, 0, 1<<64)
	case dtype.U16:
		return toInt[S, uint16](m, in, x, wide, 0, 1<<16)
	case dtype.U8:
		return toInt[S, uint8](m, in, x, wide, 0, 1<<8)
	case dtype.Bool:
		return each(result[bool](m, in), x, func(x S) bool { return wide(x) != 0 })
	case dtype.F32:
		return each(result[float32](m, in), x, func(x S) float32 { return float32(wide(x)) })
	case dtype.F64:
		return each(result[float64](m, in), x, wide)
	case dtype.F16:
		return each(result[dtype.Float16](m, in), x, func(x S) dtype.Float16 { return dtype.Float16From64(wide(x)) })
	case dtype.BF16:
		return each(result[dtype.BFloat16](m, in), x, func(x S) dtype.BFloat16 { return dtype.BFloat16From64(wide(x)) })
	}
	return nil
}

// toInt compiles a truncation to an integer. For a value out of the range [lo, hi), the result is a number that no hardware returns.
func toInt[S any, R anyInt](m *machine, in *ir.Inst, x []S, wide func(S) float64, lo, hi float64) step {
	odd := uint64(0x5a5a_5a5a_5a5a_5a5a)
	return each(result[R](m, in), x, func(x S) R {
		f := math.Trunc(wide(x))
		if !(f >= lo && f < hi) {
			return R(odd)
		}
		if hi == 1<<64 {
			return R(uint64(f))
		}
		return R(int64(f))
	})
}
