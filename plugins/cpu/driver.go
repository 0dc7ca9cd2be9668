package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/sdk/engine"
)

// driver contains the threads and the memory that all devices share.
type driver struct {
	pool    *par.Pool
	memory  *mem.Pool
	sharing sharing
	// singleThreadShort says that short programs are to run on one thread.
	singleThreadShort bool
}

var _ engine.Driver[kernel.Array] = (*driver)(nil)

// Info implements engine.Driver. There is one device.
func (d *driver) Info() core.Info {
	return core.Info{Name: Name, Version: Version, Vendor: "burn", Devices: []core.DeviceInfo{{
		Name:   "cpu",
		Kind:   "cpu",
		Memory: d.memory.Limit(),
		Detail: fmt.Sprintf("%s, %d threads, %s", runtime.GOOS, d.pool.Threads(), cpuid.String()),
	}}}
}

// Open implements engine.Driver.
func (d *driver) Open(context.Context, int) (engine.Device[kernel.Array], error) {
	return &device{driver: d, env: kernel.Env{Pool: d.pool, Account: d.memory.NewAccount()}}, nil
}

// Close implements engine.Driver.
func (d *driver) Close() error {
	d.pool.Close()
	d.memory.Trim()
	return nil
}

var capabilities = sync.OnceValue(func() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.Any | dtype.Smalls, Ops: map[string]core.OpCapability{}, Limits: core.Limits{Rank: shape.MaxRank},
		Deterministic: true, Features: []string{"programs", "memory_stats", "host_memory", "peer_copy", "collectives", "profiling"}}
	for code, rule := range rules() {
		row := op.Lookup(code)
		c.Ops[row.Name] = core.Claim(row, rule.Types)
	}
	return c
})
