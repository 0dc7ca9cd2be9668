package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/engine"
)

// driver is the backend. It has one device, which uses the memory of the process.
type driver struct{}

// Info implements engine.Driver.
func (driver) Info() core.Info {
	return core.Info{Name: "plain", Version: "1.0.0", Vendor: "burn",
		Devices: []core.DeviceInfo{{Name: "host memory", Kind: "cpu", Detail: "plain loops in Go"}}}
}

// Open implements engine.Driver.
func (driver) Open(context.Context, int) (engine.Device[array], error) { return device{}, nil }

// Close implements engine.Driver.
func (driver) Close() error { return nil }

// device creates arrays and executes nodes synchronously: it is its own queue. The garbage collector frees arrays, so that they
// may share memory.
type device struct{}

// maxBytes is the greatest size of a result. A larger one is refused as out of memory before it is allocated.
const maxBytes = 1 << 32

var capabilities = func() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.Required, Ops: map[string]core.OpCapability{}, Limits: core.Limits{Rank: shape.MaxRank},
		Deterministic: true, Features: []string{"programs", "memory_stats"}}
	types := map[op.Code]dtype.Set{}
	for d, table := range kernels {
		for code := range table {
			types[code] |= dtype.SetOf(d)
		}
	}
	types[op.Where] = dtype.Bools // its kernels depend on the type of the second operand
	for code, set := range types {
		row := op.Lookup(code)
		c.Ops[row.Name] = core.Claim(row, set)
	}
	return c
}()

// Capabilities implements engine.Device.
func (device) Capabilities() *core.Capabilities { return capabilities }

// Upload implements engine.Device.
func (device) Upload(d op.Desc, data []byte) (array, error) {
	return formats[d.DType].upload(d, data), nil
}

// Download implements engine.Device.
func (device) Download(dst []byte, d op.Desc, a array) error {
	copy(dst, formats[d.DType].download(a))
	return nil
}

// Release implements engine.Device.
func (device) Release(array) {}

// OpenQueue implements engine.Device.
func (d device) OpenQueue() (engine.Queue[array], error) { return d, nil }

// Close implements engine.Device and engine.Queue.
func (device) Close() {}

// call is one node to compute. Kernels read In and set Out.
type call = engine.Call[array]

// Execute implements engine.Queue.
func (device) Execute(c *call) error {
	for _, d := range c.Node.Outputs {
		if d.Bytes() > maxBytes {
			return fmt.Errorf("result %v: %w", d, core.ErrOutOfMemory)
		}
	}
	d := slices.Concat(c.Descs, c.Node.Outputs)[0].DType
	if c.Node.Op == op.Where {
		d = c.Descs[1].DType
	}
	run := kernels[d][c.Node.Op]
	if run == nil || c.Node.Version != op.Lookup(c.Node.Op).Version {
		return fmt.Errorf("version %d for %v: %w", c.Node.Version, d, core.ErrUnsupported)
	}
	return run(c)
}
