package tensor

import (
	"context"
	"errors"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Adopt returns a tensor that uses data itself if the device can read it in place, or if the backend can keep it to restore the tensor
// after a loss (for example a file that is mapped into memory); otherwise the tensor uses a copy. data holds the elements in row-major
// order, little-endian. It must not change until release is called, which happens once, from any goroutine, when nothing reads data any
// more. If Adopt returns an error, release is not called.
func (d *Device) Adopt(ctx context.Context, dt dtype.DType, s shape.Shape, data []byte, release func()) (*Tensor, error) {
	memory, ok := core.Extension[core.HostMemory](d.Core())
	if !ok {
		return d.adoptCopy(ctx, dt, s, data, release)
	}
	desc, err := describe("adopt", dt, s, data)
	if err != nil {
		return nil, err
	}
	t, err := d.define(desc, func(desc op.Desc) error { return memory.Adopt(d.stream, desc, data, release) })
	if errors.Is(err, core.ErrUnsupported) {
		return d.adoptCopy(ctx, dt, s, data, release)
	}
	return t, err
}

func (d *Device) adoptCopy(ctx context.Context, dt dtype.DType, s shape.Shape, data []byte, release func()) (*Tensor, error) {
	t, err := d.FromBytes(ctx, dt, s, data)
	runtime.KeepAlive(data)
	if err == nil {
		release()
	}
	return t, err
}
