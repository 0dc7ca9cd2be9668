package ref

import (
	"math"
	"math/big"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Round returns f rounded once to float type d, ties to even.
func Round(d dtype.DType, f float64) float64 {
	switch d {
	case dtype.F32:
		return float64(float32(f))
	case dtype.F16:
		return float64(dtype.Float16From64(f).Float32())
	case dtype.BF16:
		return float64(dtype.BFloat16From64(f).Float32())
	}
	return f
}

// Wrap reduces i to integer type d: it keeps the low bits of d's width, extended by sign or zeros. For bool it returns 1 if any
// bit is set, for a storage type the code in the low byte.
func Wrap(d dtype.DType, i int64) int64 {
	switch d {
	case dtype.I32:
		return int64(int32(i))
	case dtype.I16:
		return int64(int16(i))
	case dtype.I8:
		return int64(int8(i))
	case dtype.U32:
		return int64(uint32(i))
	case dtype.U16:
		return int64(uint16(i))
	case dtype.U8:
		return int64(uint8(i))
	case dtype.Bool:
		return truth(i != 0)
	}
	if dtype.Smalls.Has(d) {
		return int64(codeOf(d, i))
	}
	return i
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// limits returns the least and greatest values of an integer type. The greatest u64 is returned as its bits, -1.
func limits(d dtype.DType) (least, greatest int64) {
	bits := 8 * d.Size()
	switch d.Class() {
	case dtype.Signed:
		return -1 << (bits - 1), 1<<(bits-1) - 1
	case dtype.Boolean:
		return 0, 1
	}
	return 0, Wrap(d, -1)
}

// lessInt reports whether a is less than b, as values of integer type d.
func lessInt(d dtype.DType, a, b int64) bool {
	if d == dtype.U64 {
		return uint64(a) < uint64(b)
	}
	return a < b
}

// floatToInt truncates toward zero and saturates; NaN becomes 0.
func floatToInt(d dtype.DType, f float64) int64 {
	least, greatest := limits(d)
	top := math.Ldexp(1, 8*d.Size()) // 2^bits
	if d.Class() == dtype.Signed {
		top /= 2
	}
	switch f = math.Trunc(f); {
	case math.IsNaN(f):
		return 0
	case d == dtype.Bool:
		return truth(f != 0)
	case f >= top:
		return greatest
	case f <= float64(least):
		return least
	case d == dtype.U64:
		return int64(uint64(f))
	}
	return int64(f)
}

// intToFloat returns the value of type to nearest to integer i of type from, ties to even.
func intToFloat(to, from dtype.DType, i int64) float64 {
	exact := new(big.Float).SetPrec(64).SetInt64(i)
	if from == dtype.U64 {
		exact.SetUint64(uint64(i))
	}
	digits := map[dtype.DType]uint{dtype.F64: 53, dtype.F32: 24, dtype.F16: 11, dtype.BF16: 8}[to]
	f, _ := exact.SetMode(big.ToNearestEven).SetPrec(digits).Float64()
	return Round(to, f) // overflows to infinity
}

// convert returns element p of t in type to, by the rule of cast.
func convert(t Tensor, p int, to dtype.DType) Tensor {
	out, from := Zeros(op.DescOf(to)), t.Desc.DType
	switch {
	case from.IsFloat() && to.IsFloat():
		out.F[0] = Round(to, t.F[p])
	case from.IsFloat() && to == dtype.Bool:
		out.I[0] = truth(t.F[p] != 0) // NaN differs from 0 as well
	case from.IsFloat():
		out.I[0] = floatToInt(to, t.F[p])
	case to.IsFloat():
		out.F[0] = intToFloat(to, from, t.I[p])
	default:
		out.I[0] = Wrap(to, t.I[p])
	}
	return out
}

// scalar returns the value of a scalar attribute in type d, by the rule of cast.
func scalar(v op.Value, d dtype.DType) Tensor {
	if bits, isInt := v.Bits(); isInt {
		return convert(Tensor{Desc: op.DescOf(dtype.I64), I: []int64{int64(bits)}}, 0, d)
	}
	return convert(Tensor{Desc: op.DescOf(dtype.F64), F: []float64{v.Float()}}, 0, d)
}
