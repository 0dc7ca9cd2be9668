package tensor

import (
	"context"
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// From returns a tensor of the given dimensions with elements in row-major order; without dimensions it is a vector. data may be
// reused afterwards. From panics with *Error if the number of elements does not fit the dimensions.
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

// Scalar returns a tensor of rank 0.
func Scalar[T dtype.Native](d *Device, v T) *Tensor {
	return d.write(dtype.Of[T](), shape.Of(), dtype.Bytes([]T{v}))
}

// write is like FromBytes, for arguments that are checked already. The next wait returns its errors.
func (d *Device) write(dt dtype.DType, s shape.Shape, data []byte) *Tensor {
	desc := op.Desc{DType: dt, Shape: s}
	t, err := d.define(desc, func(desc op.Desc) error { return d.stream.Write(context.Background(), desc, data) })
	if err != nil {
		return d.faulty(desc, err)
	}
	return t
}

// faulty returns a tensor that does not exist on the device, because of err.
func (d *Device) faulty(desc op.Desc, err error) *Tensor {
	d.mu.Lock()
	desc.ID = d.nextID()
	d.complain(err)
	d.dev.faults.set(desc.ID, err)
	n := d.sent
	d.mu.Unlock()
	return d.handle(desc, n, d.scope)
}

// Full returns a tensor whose elements are all v.
func (d *Device) Full(dt dtype.DType, v float64, dims ...int) *Tensor {
	return d.Op(op.Full, nil, op.ScalarFloat("value", v), op.Type("dtype", dt), op.Ints("shape", dims...))[0]
}

// Zeros returns a tensor of zeros.
func (d *Device) Zeros(dt dtype.DType, dims ...int) *Tensor { return d.Full(dt, 0, dims...) }

// Ones returns a tensor of ones.
func (d *Device) Ones(dt dtype.DType, dims ...int) *Tensor { return d.Full(dt, 1, dims...) }

// Iota returns the vector 0, 1, ..., n-1.
func (d *Device) Iota(dt dtype.DType, n int) *Tensor {
	return d.Op(op.Iota, nil, op.Type("dtype", dt), op.Ints("shape", n))[0]
}

// Arange returns start, start+step, ... before end. The numbers are computed in f64 for floats, else as integers; start and step
// must then be whole numbers.
func (d *Device) Arange(dt dtype.DType, start, end, step float64) *Tensor {
	if step == 0 || math.IsNaN((end-start)/step) || math.IsInf((end-start)/step, 0) {
		fail("arange: from %v to %v by %v, want finite numbers and a step: %w", start, end, step, core.ErrAttr)
	}
	n := max(0, int(math.Ceil((end-start)/step)))
	if !dt.IsFloat() {
		if start != math.Trunc(start) || step != math.Trunc(step) {
			fail("arange: %v from %v by %v, want a whole start and step for a type that is not a float: %w", dt, start, step, core.ErrAttr)
		}
		var m temps
		return m.done(m.of(m.of(m.of(d.Iota(dtype.I64, n)).MulScalar(step)).AddScalar(start)).Cast(dt))
	}
	return d.Op(op.LinSpace, nil, op.Float("start", start), op.Float("stop", start+float64(n)*step), op.Int("count", n),
		op.Flag("endpoint", false), op.Type("dtype", dt))[0]
}

// LinSpace returns n evenly spaced floats from start to stop, both included.
func (d *Device) LinSpace(dt dtype.DType, start, stop float64, n int) *Tensor {
	return d.Op(op.LinSpace, nil, op.Float("start", start), op.Float("stop", stop), op.Int("count", n), op.Type("dtype", dt))[0]
}

// Eye returns a matrix with 1 on its diagonal and 0 elsewhere.
func (d *Device) Eye(dt dtype.DType, rows, columns int) *Tensor {
	return d.Op(op.Eye, nil, op.Int("rows", rows), op.Int("columns", columns), op.Type("dtype", dt))[0]
}

// TrilMask returns bools that are true where column - row is at most offset, in the last two of the given dimensions.
func (d *Device) TrilMask(offset int, dims ...int) *Tensor {
	var m temps
	return m.done(m.of(d.Full(dtype.Bool, 1, dims...)).Tril(offset))
}

// TriuMask returns bools that are true where column - row is at least offset, in the last two of the given dimensions.
func (d *Device) TriuMask(offset int, dims ...int) *Tensor {
	var m temps
	return m.done(m.of(d.Full(dtype.Bool, 1, dims...)).Triu(offset))
}

// DiagMask returns bools that are true where column - row is offset, in the last two of the given dimensions.
func (d *Device) DiagMask(offset int, dims ...int) *Tensor {
	var m temps
	return m.done(m.of(d.TrilMask(offset, dims...)).Triu(offset))
}

// FullLike returns a tensor of t's type and shape whose elements are all v.
func (t *Tensor) FullLike(v float64) *Tensor {
	return t.within().Full(t.desc.DType, v, t.desc.Shape...)
}

// ZerosLike returns zeros of t's type and shape.
func (t *Tensor) ZerosLike() *Tensor { return t.FullLike(0) }

// OnesLike returns ones of t's type and shape.
func (t *Tensor) OnesLike() *Tensor { return t.FullLike(1) }
