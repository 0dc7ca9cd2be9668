package cpu

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/sdk/engine"
)

// device is the memory of one opened device. Its values are arrays, which each hold a reference to a buffer.
type device struct {
	driver *driver
	env    kernel.Env
}

var (
	_ engine.Device[kernel.Array]  = (*device)(nil)
	_ engine.Planner[kernel.Array] = (*device)(nil)
	_ engine.Adopter[kernel.Array] = (*device)(nil)
	_ engine.Viewer[kernel.Array]  = (*device)(nil)
	_ engine.Meter                 = (*device)(nil)
	_ engine.Extender              = (*device)(nil)
)

// Capabilities implements engine.Device.
func (d *device) Capabilities() *core.Capabilities { return capabilities() }

// Upload implements engine.Device.
func (d *device) Upload(desc op.Desc, data []byte) (kernel.Array, error) {
	buf, err := d.env.Account.New(len(data))
	if err != nil {
		return kernel.Array{}, err
	}
	to := buf.Bytes()
	if desc.DType == dtype.Bool {
		for i, v := range data {
			to[i] = min(v, 1)
		}
	} else {
		copy(to, data)
	}
	return kernel.Array{Buf: buf, DType: desc.DType, View: shape.Contiguous(desc.Shape)}, nil
}

// Download implements engine.Device.
func (d *device) Download(dst []byte, _ op.Desc, a kernel.Array) error {
	kernel.Read(d.env.Pool, dst, a)
	return nil
}

// Release implements engine.Device.
func (d *device) Release(a kernel.Array) { a.Buf.Release() }

// Adopt implements engine.Adopter. It accepts memory that is aligned to 64 bytes, for elements of any type but bool: bools
// need Upload, which normalises their bytes to 0 or 1.
func (d *device) Adopt(desc op.Desc, data []byte, release func()) (kernel.Array, error) {
	if desc.DType == dtype.Bool || len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%mem.Align != 0 {
		return kernel.Array{}, fmt.Errorf("memory is not aligned to %d bytes, or of type bool: %w", mem.Align, core.ErrUnsupported)
	}
	buf, err := d.env.Account.Adopt(data, release)
	if err != nil {
		return kernel.Array{}, err
	}
	return kernel.Array{Buf: buf, DType: desc.DType, View: shape.Contiguous(desc.Shape)}, nil
}

// View implements engine.Viewer.
func (d *device) View(_ op.Desc, a kernel.Array) ([]byte, bool) {
	if !a.View.IsContiguous() {
		return nil, false
	}
	if a.Size() == 0 {
		return nil, true
	}
	size := a.DType.Size()
	from := a.View.Offset * size
	return a.Buf.Bytes()[from : from+a.Size()*size], true
}

// Memory implements engine.Meter. reserved is the memory of the backend with all its devices.
func (d *device) Memory() (inUse, reserved int64) {
	return d.env.Account.InUse(), d.env.Account.Pool().Reserved()
}

// Extend implements engine.Extender, for tests that open the backend with guard bands and call CheckGuards.
func (d *device) Extend(target any) bool {
	g, ok := target.(*interface{ CheckGuards() error })
	if ok {
		*g = d
	}
	return ok
}

// CheckGuards returns an error that describes the first write into a guard band of the backend's tensors. Without the option guard_bands it
// returns nil. It does not wait for queued commands: call Sync before.
func (d *device) CheckGuards() error { return d.env.Account.Pool().CheckGuards() }

// OpenQueue implements engine.Device.
func (d *device) OpenQueue() (engine.Queue[kernel.Array], error) {
	return &queue{device: d, alone: kernel.Env{Pool: d.env.Pool.Alone(), Account: d.env.Account}}, nil
}

// Plan implements engine.Planner.
func (d *device) Plan(ctx context.Context, q engine.Queue[kernel.Array], p *program.Program, consts []engine.Const[kernel.Array]) (engine.Plan[kernel.Array], error) {
	arrays := make([]kernel.Array, len(consts))
	for i, c := range consts {
		arrays[i] = c.Value
	}
	return q.(*queue).build(ctx, p, arrays)
}

// Close implements engine.Device.
func (d *device) Close() {}
