package ref

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Tensor is a tensor in memory, its elements in row-major order. Exactly one of F and I is used.
type Tensor struct {
	Desc op.Desc
	// F holds the elements of float types as numbers: f16 1.5 is 1.5 here.
	F []float64
	// I holds the elements of all other types: u64 as its bits, bool as 0 or 1, storage types as their codes.
	I []int64
}

// Zeros returns a tensor of zeros.
func Zeros(d op.Desc) Tensor {
	t := Tensor{Desc: d}
	if d.DType.IsFloat() {
		t.F = make([]float64, d.Shape.Size())
	} else {
		t.I = make([]int64, d.Shape.Size())
	}
	return t
}

// Clone returns a copy that shares no elements with t.
func (t Tensor) Clone() Tensor {
	return Tensor{Desc: t.Desc, F: slices.Clone(t.F), I: slices.Clone(t.I)}
}

// FromBytes decodes little-endian elements in row-major order, the format of core.Stream's Write. It returns ErrShape unless data has
// exactly the tensor's size.
func FromBytes(d op.Desc, data []byte) (Tensor, error) {
	if len(data) != d.Bytes() {
		return Tensor{}, fmt.Errorf("ref: %d bytes of data, want %d for %v: %w", len(data), d.Bytes(), d, core.ErrShape)
	}
	t, size := Zeros(d), d.DType.Size()
	for i := range d.Shape.Size() {
		var wide [8]byte
		copy(wide[:], data[i*size:][:size])
		bits := binary.LittleEndian.Uint64(wide[:])
		switch d.DType {
		case dtype.F64:
			t.F[i] = math.Float64frombits(bits)
		case dtype.F32:
			t.F[i] = float64(math.Float32frombits(uint32(bits)))
		case dtype.F16:
			t.F[i] = float64(dtype.Float16(bits).Float32())
		case dtype.BF16:
			t.F[i] = float64(dtype.BFloat16(bits).Float32())
		default:
			t.I[i] = Wrap(d.DType, int64(bits))
		}
	}
	return t, nil
}

// Bytes is the inverse of FromBytes.
func (t Tensor) Bytes() []byte {
	size := t.Desc.DType.Size()
	out := make([]byte, 0, t.Desc.Bytes()+8)
	for i := range t.Desc.Shape.Size() {
		var bits uint64
		switch t.Desc.DType {
		case dtype.F64:
			bits = math.Float64bits(t.F[i])
		case dtype.F32:
			bits = uint64(math.Float32bits(float32(t.F[i])))
		case dtype.F16:
			bits = uint64(dtype.Float16From64(t.F[i]))
		case dtype.BF16:
			bits = uint64(dtype.BFloat16From64(t.F[i]))
		default:
			bits = uint64(t.I[i])
		}
		out = binary.LittleEndian.AppendUint64(out, bits)[:(i+1)*size]
	}
	return out
}

// pick returns a tensor of t's elements at positions from. Position -1 means the element of fill.
func (t Tensor) pick(d op.Desc, from []int, fill Tensor) Tensor {
	out := Zeros(d)
	for i, p := range from {
		src := t
		if p < 0 {
			src, p = fill, 0
		}
		out.set(i, src, p)
	}
	return out
}

// set copies element p of src, which has the same type, to element i.
func (t Tensor) set(i int, src Tensor, p int) {
	if t.Desc.DType.IsFloat() {
		t.F[i] = src.F[p]
	} else {
		t.I[i] = src.I[p]
	}
}
