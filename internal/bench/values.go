package bench

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// Data returns the elements of an operand in row-major order, little-endian. Operands with different seeds differ.
func (o Operand) Data(seed int) ([]byte, error) {
	n := o.Shape.Size()
	out := make([]byte, n*o.DType.Size())
	switch {
	case o.DType == dtype.F32 && (o.Fill == Signed || o.Fill == Positive):
		for i := range n {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(o.unit(i, seed))))
		}
	case o.DType == dtype.F64 && (o.Fill == Signed || o.Fill == Positive):
		for i := range n {
			binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(o.unit(i, seed)))
		}
	case o.DType == dtype.F16 && (o.Fill == Signed || o.Fill == Positive):
		for i := range n {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(dtype.ToFloat16(float32(o.unit(i, seed)))))
		}
	case o.DType == dtype.Bool && o.Fill == Truth:
		for i := range n {
			out[i] = byte(mix(i, seed) >> 11 & 1)
		}
	case o.DType == dtype.I64 && o.Fill == Index:
		for i := range n {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(mix(i, seed))%uint64(max(1, o.Below)))
		}
	case o.DType == dtype.I32 && o.Fill == Index:
		for i := range n {
			binary.LittleEndian.PutUint32(out[4*i:], mix(i, seed)%uint32(max(1, o.Below)))
		}
	default:
		return nil, fmt.Errorf("bench: operand %v%v: no values of fill %d for this type", o.DType, o.Shape, o.Fill)
	}
	return out, nil
}

// unit returns element i, which f32 represents exactly.
func (o Operand) unit(i, seed int) float64 {
	v := (float64(mix(i, seed)) + 1) / (1 << 24)
	if o.Fill == Signed {
		return 2*v - 1
	}
	return v
}

// mix returns element i of a permutation of the 24-bit numbers in which neighbours are unrelated. seed selects the first element.
func mix(i, seed int) uint32 {
	const mask = 1<<24 - 1
	x := (uint32(i) + uint32(seed)*0x51ED27) & mask
	for range 2 {
		x = x * 0x9E3779B1 & mask
		x ^= x >> 13
		x = x * 0x85EBCA6B & mask
		x ^= x >> 11
	}
	return x
}

func tensor(d dtype.DType, f Fill, dims ...int) Operand {
	return Operand{DType: d, Shape: shape.Shape(dims), Fill: f}
}

func f32(dims ...int) Operand      { return tensor(dtype.F32, Signed, dims...) }
func positive(dims ...int) Operand { return tensor(dtype.F32, Positive, dims...) }
func truth(dims ...int) Operand    { return tensor(dtype.Bool, Truth, dims...) }

func index(below int, dims ...int) Operand {
	o := tensor(dtype.I64, Index, dims...)
	o.Below = below
	return o
}
