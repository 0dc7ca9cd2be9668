// Package small is a correct backend with little memory, which computes with the kernels of conformance/ref. With it, tests show that the
// suite does not fail a device only because a case needs more memory than the device has. It must not be used outside tests.
package small

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/engine"
)

// Driver is an engine.Driver whose devices have Memory bytes each for the elements of tensors.
type Driver struct {
	Memory int64
	// Stated is the number of bytes of memory in the device's description.
	Stated int64
	// Lost is the number of bytes that leak with every node that fails because memory is short.
	Lost int64
}

// New opens the backend.
func New(d *Driver) core.Backend { return engine.New[*ref.Tensor](d) }

// Info implements engine.Driver.
func (d *Driver) Info() core.Info {
	return core.Info{Name: "small", Version: "1.0.0", Vendor: "burn",
		Devices: []core.DeviceInfo{{Name: "small", Kind: "npu", Memory: d.Stated, Detail: "little memory"}}}
}

// Open implements engine.Driver.
func (d *Driver) Open(context.Context, int) (engine.Device[*ref.Tensor], error) {
	v := &device{d: d, caps: &core.Capabilities{Types: dtype.Required, Ops: map[string]core.OpCapability{}, Limits: core.Limits{Rank: shape.MaxRank},
		Deterministic: true, Features: []string{"programs", "memory_stats"}}}
	for _, c := range op.All() {
		row := op.Lookup(c)
		if row.Class != op.Primitive || !ref.Has(c) {
			continue
		}
		first := dtype.Set(dtype.Required)
		if len(row.Operands) > 0 {
			first &= row.Operands[0].Types
		}
		v.caps.Ops[row.Name] = core.Claim(row, first)
	}
	return v, nil
}

// Close implements engine.Driver.
func (d *Driver) Close() error { return nil }

type device struct {
	d    *Driver
	caps *core.Capabilities
	used atomic.Int64
}

// take reserves the memory of a tensor.
func (v *device) take(d op.Desc) error {
	n := int64(d.Bytes())
	if used := v.used.Add(n); used > v.d.Memory {
		v.used.Add(v.d.Lost - n)
		return fmt.Errorf("%d of %d bytes are in use, want %d more: %w", used-n, v.d.Memory, n, core.ErrOutOfMemory)
	}
	return nil
}

// Capabilities implements engine.Device.
func (v *device) Capabilities() *core.Capabilities { return v.caps }

// Upload implements engine.Device.
func (v *device) Upload(d op.Desc, data []byte) (*ref.Tensor, error) {
	if err := v.take(d); err != nil {
		return nil, err
	}
	t, err := ref.FromBytes(d, data)
	if err != nil {
		v.used.Add(-int64(d.Bytes()))
		return nil, err
	}
	return &t, nil
}

// Download implements engine.Device.
func (v *device) Download(dst []byte, _ op.Desc, t *ref.Tensor) error {
	copy(dst, t.Bytes())
	return nil
}

// Release implements engine.Device.
func (v *device) Release(t *ref.Tensor) { v.used.Add(-int64(t.Desc.Bytes())) }

// OpenQueue implements engine.Device.
func (v *device) OpenQueue() (engine.Queue[*ref.Tensor], error) { return v, nil }

// Close implements engine.Device and engine.Queue.
func (v *device) Close() {}

// Execute implements engine.Queue.
func (v *device) Execute(c *engine.Call[*ref.Tensor]) error {
	if row := op.Lookup(c.Node.Op); c.Node.Version != row.Version || v.caps.Ops[row.Name].Version == 0 {
		return fmt.Errorf("version %d: %w", c.Node.Version, core.ErrUnsupported)
	}
	for i, d := range c.Node.Outputs {
		if err := v.take(d); err != nil {
			for _, d := range c.Node.Outputs[:i] {
				v.used.Add(-int64(d.Bytes()))
			}
			return err
		}
	}
	in := make([]ref.Tensor, len(c.In))
	for i, t := range c.In {
		in[i] = *t
		in[i].Desc = c.Descs[i]
	}
	outs, err := ref.Eval(c.Node, in)
	if err != nil {
		for _, d := range c.Node.Outputs {
			v.used.Add(-int64(d.Bytes()))
		}
		return err
	}
	for i := range outs {
		c.Out[i] = &outs[i]
	}
	return nil
}
