package tensor

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// Data waits for t and returns its elements in row-major order. T must be t's element type; otherwise Data panics with *Error.
func Data[T dtype.Native](ctx context.Context, t *Tensor) ([]T, error) {
	if want := dtype.Of[T](); want != t.desc.DType {
		panic(&Error{fmt.Errorf("data: %v as %v: %w", t.desc, want, core.ErrDType)})
	}
	out := make([]T, t.Size())
	return out, t.ReadInto(ctx, dtype.Bytes(out))
}

// Read waits for t and copies its elements to dst, which must have t's size. T must be t's element type; otherwise Read panics
// with *Error.
func Read[T dtype.Native](ctx context.Context, t *Tensor, dst []T) error {
	if want := dtype.Of[T](); want != t.desc.DType {
		panic(&Error{fmt.Errorf("read: %v as %v: %w", t.desc, want, core.ErrDType)})
	}
	return t.ReadInto(ctx, dtype.Bytes(dst))
}

// DataAs is like Data, after a cast to T on the device.
func DataAs[T dtype.Native](ctx context.Context, t *Tensor) ([]T, error) {
	m := temps{from: t}
	c := m.of(t.Cast(dtype.Of[T]()))
	defer m.done(nil)
	return Data[T](ctx, c)
}

// Item waits for t and returns its element. t must have one element, of type T; otherwise Item panics with *Error.
func Item[T dtype.Native](ctx context.Context, t *Tensor) (T, error) {
	var none T
	if t.Size() != 1 {
		fail("item: %v has %d elements, want 1: %w", t.desc, t.Size(), core.ErrShape)
	}
	v, err := Data[T](ctx, t)
	if err != nil {
		return none, err
	}
	return v[0], nil
}

// Float64 waits for t and returns its element as float64. t must have one element, of any type; otherwise Float64 panics with
// *Error.
func (t *Tensor) Float64(ctx context.Context) (float64, error) {
	if t.Size() != 1 {
		fail("float64: %v has %d elements, want 1: %w", t.desc, t.Size(), core.ErrShape)
	}
	b, err := t.Bytes(ctx)
	if err != nil {
		return 0, err
	}
	return Float64s(t.desc.DType, b)[0], nil
}
