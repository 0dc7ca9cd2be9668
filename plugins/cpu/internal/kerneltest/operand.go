package kerneltest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Operand contains the elements of a tensor, little endian, in row-major order.
type Operand struct {
	Desc op.Desc
	Data []byte
}

// Floats returns a tensor of numbers, which are rounded to type d; d may be an integer type. If there are fewer numbers than elements, it
// repeats the numbers.
func Floats(d dtype.DType, dims []int, v ...float64) Operand {
	o := empty(d, dims)
	for i := range o.Desc.Shape.Size() {
		o.SetFloat(i, v[i%len(v)])
	}
	return o
}

// Ints returns a tensor of integers of an integer type d, or bool. If there are fewer integers than elements, it repeats the integers.
func Ints(d dtype.DType, dims []int, v ...int64) Operand {
	o := empty(d, dims)
	for i := range o.Desc.Shape.Size() {
		o.setBits(i, uint64(v[i%len(v)]))
	}
	return o
}

// Random returns a tensor of numbers between lo and hi, integers if d is an integer type.
func Random(r *rand.Rand, d dtype.DType, lo, hi float64, dims ...int) Operand {
	o := empty(d, dims)
	for i := range o.Desc.Shape.Size() {
		o.SetFloat(i, lo+(hi-lo)*r.Float64())
	}
	return o
}

// Sprinkle replaces about one in n elements by one of the values, which it uses in turn, and returns the tensor.
func (o Operand) Sprinkle(r *rand.Rand, n int, values ...float64) Operand {
	for i, k := 0, 0; i < o.Desc.Shape.Size(); i++ {
		if r.IntN(n) == 0 {
			o.SetFloat(i, values[k%len(values)])
			k++
		}
	}
	return o
}

func empty(d dtype.DType, dims []int) Operand {
	o := Operand{Desc: op.DescOf(d, dims...)}
	o.Data = make([]byte, o.Desc.Bytes())
	return o
}

func descs(in []Operand) []op.Desc {
	var all []op.Desc
	for _, o := range in {
		all = append(all, o.Desc)
	}
	return all
}

func (o Operand) bits(i int) uint64 {
	var word [8]byte
	size := o.Desc.DType.Size()
	copy(word[:], o.Data[i*size:][:size])
	return binary.LittleEndian.Uint64(word[:])
}

func (o Operand) setBits(i int, bits uint64) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], bits)
	size := o.Desc.DType.Size()
	copy(o.Data[i*size:][:size], word[:])
}

// Float returns element i of a float type.
func (o Operand) Float(i int) float64 {
	bits := o.bits(i)
	switch o.Desc.DType {
	case dtype.F64:
		return math.Float64frombits(bits)
	case dtype.F32:
		return float64(math.Float32frombits(uint32(bits)))
	case dtype.F16:
		return float64(dtype.Float16(bits).Float32())
	}
	return float64(dtype.BFloat16(bits).Float32())
}

// SetFloat sets element i to v, rounded to the type.
func (o Operand) SetFloat(i int, v float64) {
	switch o.Desc.DType {
	case dtype.F64:
		o.setBits(i, math.Float64bits(v))
	case dtype.F32:
		o.setBits(i, uint64(math.Float32bits(float32(v))))
	case dtype.F16:
		o.setBits(i, uint64(dtype.Float16From64(v)))
	case dtype.BF16:
		o.setBits(i, uint64(dtype.BFloat16From64(v)))
	default:
		o.setBits(i, uint64(int64(math.Round(v))))
	}
}

// Int returns element i of an integer type or bool. It returns an element of u64 as an int64 with the same bits.
func (o Operand) Int(i int) int64 {
	shift := 64 - 8*o.Desc.DType.Size()
	if o.Desc.DType.Class() == dtype.Signed {
		return int64(o.bits(i)) << shift >> shift
	}
	return int64(o.bits(i))
}
