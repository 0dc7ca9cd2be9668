package ref

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// convertSmall returns element p of t in type to, where either is a storage type. Storage types are kept as their codes in I.
func convertSmall(t Tensor, p int, to dtype.DType, saturate bool) Tensor {
	from := t.Desc.DType
	if !dtype.Smalls.Has(from) {
		out := Zeros(op.DescOf(to))
		switch {
		case from.IsFloat():
			out.I[0] = int64(dtype.ToSmall(to, t.F[p], saturate))
		case dtype.SmallInts.Has(to):
			out.I[0] = int64(dtype.IntToSmall(to, t.I[p]))
		default:
			out.I[0] = int64(dtype.ToSmall(to, intToFloat(dtype.F64, from, t.I[p]), saturate))
		}
		return out
	}
	value := make([]float32, 1)
	dtype.FromSmall(from, []byte{byte(t.I[p])}, value)
	wide := Tensor{Desc: op.DescOf(dtype.F32), F: []float64{float64(value[0])}}
	switch {
	case from == to:
		return Tensor{Desc: op.DescOf(to), I: []int64{t.I[p]}}
	case dtype.Smalls.Has(to):
		return convertSmall(wide, 0, to, saturate)
	case dtype.SmallInts.Has(from) && to.IsInt(): // keeps the low bits, as between integers
		out := Zeros(op.DescOf(to))
		out.I[0] = Wrap(to, int64(value[0]))
		return out
	}
	return convert(wide, 0, to)
}

// codeOf returns the code of storage type d in the low bits of i, as it is stored.
func codeOf(d dtype.DType, i int64) byte {
	switch {
	case dtype.SmallInts.Has(d):
		return dtype.IntToSmall(d, i)
	case d == dtype.F4E2M1:
		return byte(i) & 15
	}
	return byte(i)
}
