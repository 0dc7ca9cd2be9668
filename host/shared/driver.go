package shared

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/engine"
)

// driver is the backend of a shared object. Its values are addresses.
type driver struct {
	lib    *library
	handle uintptr
	info   core.Info
}

// Open loads the shared object at path and opens its backend. The object is code of this process from then on: when it crashes,
// the process does. Errors: ErrNotFound if the file cannot be loaded, ErrProtocol if it is not a backend or has another ABI, and
// the backend's own errors.
func Open(path string, config core.Config) (core.Backend, error) {
	l, err := open(path)
	if err != nil {
		return nil, err
	}
	d := &driver{lib: l}
	c := borrow()
	defer c.release()
	if d.handle, err = c.get("backend", l.api.open, c.config(config)); err != nil {
		return nil, fmt.Errorf("shared: open %s: %w", l.path, err)
	}
	d.describe()
	return engine.New(d), nil
}

func (d *driver) describe() {
	i := load[cInfo](tell(d.lib.api.info, d.handle))
	d.info = core.Info{Name: text(i.name), Version: text(i.version), Vendor: text(i.vendor)}
	for k, v := range list[cDeviceInfo](i.devices, i.nDevices) {
		d.info.Devices = append(d.info.Devices, core.DeviceInfo{Index: k, Name: text(v.name), Kind: text(v.kind), Memory: v.memory,
			Detail: text(v.detail)})
	}
}

// Info implements engine.Driver.
func (d *driver) Info() core.Info { return d.info }

// Open implements engine.Driver.
func (d *driver) Open(_ context.Context, index int) (engine.Device[uintptr], error) {
	c := borrow()
	defer c.release()
	handle, err := c.get("device", d.lib.api.openDevice, d.handle, uintptr(index))
	if err != nil {
		return nil, fmt.Errorf("%s: open device %d: %w", d.info.Name, index, err)
	}
	v := &device{api: &d.lib.api, handle: handle}
	v.describe()
	if v.api.memory != 0 {
		return meter{v}, nil
	}
	return v, nil
}

// Close implements engine.Driver.
func (d *driver) Close() error {
	tell(d.lib.api.close, d.handle)
	return nil
}

// describe reads the claims of a device, and numbers the claims that this program knows.
func (v *device) describe() {
	c := load[cCapabilities](tell(v.api.capabilities, v.handle))
	v.caps = &core.Capabilities{Types: dtype.Set(c.types), Emulated: dtype.Set(c.emulated), Ops: map[string]core.OpCapability{},
		Limits: limits(c.limits), Deterministic: c.deterministic != 0, Features: []string{"programs", "memory_stats"}}
	if v.caps.Limits.Rank == 0 {
		v.caps.Limits.Rank = shape.MaxRank
	}
	v.number = map[op.Code]uint32{}
	for n, o := range list[cOp](c.ops, c.nOps) {
		name := text(o.name)
		v.caps.Ops[name] = core.OpCapability{Version: uint16(o.version), Operands: sets(o.operands, o.nOperands),
			Results: sets(o.results, o.nResults), Limits: limits(o.limits)}
		if code, ok := op.ByName(name); ok && uint32(op.Lookup(code).Version) == o.version {
			v.number[code] = uint32(n)
		}
	}
}

func limits(address uintptr) core.Limits {
	l := load[cLimits](address)
	return core.Limits{Rank: int(l.rank), Bytes: l.bytes, Elements: l.elements, Buffers: int(l.buffers)}
}

func sets(address uintptr, n uint32) (out []dtype.Set) {
	for _, s := range numbers[uint32](address, uint64(n)) {
		out = append(out, dtype.Set(s))
	}
	return out
}
