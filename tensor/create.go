package tensor

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// From makes a tensor of the given dimensions from elements in row-major order; without dimensions it is a vector. data
// may be reused afterwards.
func From[T dtype.Native](d *Device, data []T, dims ...int) *Tensor {
	s := shape.Shape(dims)
	if dims == nil {
		s = shape.Of(len(data))
	}
	if err := s.Check(); err != nil {
		panic(&Error{fmt.Errorf("from: %w", err)})
	}
	if s.Size() != len(data) {
		panic(&Error{fmt.Errorf("from: %d elements, want %d for shape %v: %w", len(data), s.Size(), s, core.ErrShape)})
	}
	return d.write(dtype.Of[T](), s.Clone(), dtype.Bytes(data))
}

// Scalar makes a tensor of rank 0.
func Scalar[T dtype.Native](d *Device, v T) *Tensor {
	return d.write(dtype.Of[T](), shape.Of(), dtype.Bytes([]T{v}))
}

// write is FromBytes for checked arguments, with faults left for the next wait.
func (d *Device) write(dt dtype.DType, s shape.Shape, data []byte) *Tensor {
	desc := op.Desc{DType: dt, Shape: s}
	d.mu.Lock()
	err := d.flush()
	desc.ID = d.nextID()
	if err == nil {
		err = d.stream.Write(context.Background(), desc, data)
	}
	if err != nil && d.failed == nil {
		d.failed = err
	}
	d.mu.Unlock()
	return d.handle(desc, d.scope)
}

// Full makes a tensor with every element v.
func (d *Device) Full(dt dtype.DType, v float64, dims ...int) *Tensor {
	return d.Op(op.Full, nil, op.ScalarFloat("value", v), op.Type("dtype", dt), op.Ints("shape", dims...))[0]
}

// Zeros makes a tensor of zeros.
func (d *Device) Zeros(dt dtype.DType, dims ...int) *Tensor { return d.Full(dt, 0, dims...) }

// Ones makes a tensor of ones.
func (d *Device) Ones(dt dtype.DType, dims ...int) *Tensor { return d.Full(dt, 1, dims...) }

// Iota makes the vector 0, 1, ..., n-1.
func (d *Device) Iota(dt dtype.DType, n int) *Tensor {
	return d.Op(op.Iota, nil, op.Type("dtype", dt), op.Ints("shape", n))[0]
}

// Uniform makes f32 numbers drawn evenly from [0, 1), equal on every backend for the same seed: 24 random bits each.
func (d *Device) Uniform(seed int, dims ...int) *Tensor {
	bits := d.Op(op.RandomBits, nil, op.Int("seed", seed), op.Ints("shape", dims...), op.Type("dtype", dtype.I32))[0]
	mask := d.Op(op.Full, nil, op.ScalarInt("value", 1<<24-1), op.Type("dtype", dtype.I32), op.Ints("shape"))[0]
	return bits.And(mask).Cast(dtype.F32).MulScalar(1.0 / (1 << 24))
}

// To copies t to another device, or returns t if it is there already. It waits for t.
func (t *Tensor) To(ctx context.Context, d *Device) (*Tensor, error) {
	if t.dev == d.engine {
		return t, nil
	}
	b, err := t.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	return d.FromBytes(ctx, t.desc.DType, t.desc.Shape, b)
}

// Data waits for t and gives its elements in row-major order. T must be t's element type.
func Data[T dtype.Native](ctx context.Context, t *Tensor) ([]T, error) {
	if want := dtype.Of[T](); want != t.desc.DType {
		panic(&Error{fmt.Errorf("data: %v as %v: %w", t.desc, want, core.ErrDType)})
	}
	out := make([]T, t.Size())
	return out, t.ReadInto(ctx, dtype.Bytes(out))
}

// Read waits for t and fills dst, of t's size. T must be t's element type.
func Read[T dtype.Native](ctx context.Context, t *Tensor, dst []T) error {
	if want := dtype.Of[T](); want != t.desc.DType {
		panic(&Error{fmt.Errorf("read: %v as %v: %w", t.desc, want, core.ErrDType)})
	}
	return t.ReadInto(ctx, dtype.Bytes(dst))
}
