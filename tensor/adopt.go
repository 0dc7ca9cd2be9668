package tensor

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Adopt makes a tensor of data itself where the device can use it in place, or keep it for the time after a loss, as a file that is
// mapped into memory can be; else of a copy. data holds the elements in row-major order, little-endian, and must not change
// until release is called, once, from any goroutine, when nothing reads it any more. With an error release is not called.
func (d *Device) Adopt(ctx context.Context, dt dtype.DType, s shape.Shape, data []byte, release func()) (*Tensor, error) {
	direct, ok := core.As[core.DirectIO](d.stream)
	if !ok {
		return d.adoptCopy(ctx, dt, s, data, release)
	}
	desc := op.Desc{DType: dt, Shape: s.Clone()}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	if !dt.Valid() || len(data) != desc.Bytes() {
		return nil, fmt.Errorf("tensor: adopt %d bytes for %v, want %d: %w", len(data), desc, desc.Bytes(), core.ErrShape)
	}
	d.mu.Lock()
	if err := d.flush(); err != nil {
		d.mu.Unlock()
		return nil, err
	}
	desc.ID = d.nextID()
	err := direct.Adopt(ctx, desc, data, release)
	d.mu.Unlock()
	if errors.Is(err, core.ErrUnsupported) {
		return d.adoptCopy(ctx, dt, s, data, release)
	}
	if err != nil {
		return nil, err
	}
	return d.handle(desc, d.scope), nil
}

func (d *Device) adoptCopy(ctx context.Context, dt dtype.DType, s shape.Shape, data []byte, release func()) (*Tensor, error) {
	t, err := d.FromBytes(ctx, dt, s, data)
	runtime.KeepAlive(data)
	if err == nil {
		release()
	}
	return t, err
}
