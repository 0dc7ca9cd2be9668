package webgpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
)

// Options are settings of a driver.
type Options struct {
	Name, Version string // name and version of the backend
	// Cache is the folder in which results of probes are kept. If it is empty, they are not kept.
	Cache string
	// Patience is the time for which the device may make no progress before it counts as lost; 0 is two minutes.
	Patience time.Duration
}

// New returns a driver with the adapters of an API as devices: hardware first, software last.
func New(ctx context.Context, api API, o Options) (gpu.Driver, error) {
	adapters, err := api.Adapters(ctx)
	if err != nil {
		return nil, err
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	d := &driver{options: o, info: core.Info{Name: o.Name, Version: o.Version, Vendor: "burn"}}
	d.adapters = slices.Clone(adapters)
	slices.SortStableFunc(d.adapters, func(a, b Adapter) int { return rank(a.Facts()) - rank(b.Facts()) })
	for i, a := range d.adapters {
		f := a.Facts()
		info := core.DeviceInfo{Index: i, Name: f.Name, Kind: "gpu", Memory: f.Memory, Detail: detail(f)}
		if f.Software {
			info.Kind = "software"
		}
		d.info.Devices = append(d.info.Devices, info)
	}
	return d, nil
}

// rank returns the sort key of an adapter: discrete GPUs come first, software comes last.
func rank(f Facts) int {
	switch {
	case f.Software:
		return 2
	case f.Discrete:
		return 0
	}
	return 1
}

func detail(f Facts) string {
	parts := []string{f.Backend}
	if f.Driver != "" {
		parts = append(parts, "driver "+f.Driver)
	}
	if f.Software {
		parts = append(parts, "software, not a GPU")
	}
	l := f.Limits
	parts = append(parts, fmt.Sprintf("tensors of at most %d MiB", l.StorageBinding>>20),
		fmt.Sprintf("%d threads and %d KiB of a workgroup", l.WorkgroupThreads, l.WorkgroupStorage>>10), fmt.Sprintf("%d buffers of a kernel", l.StorageBuffers))
	if s := f.Subgroups; s[1] > 0 {
		parts = append(parts, fmt.Sprintf("subgroups of %d to %d", s[0], s[1]))
	}
	return strings.Join(append(parts, f.Version), "; ")
}

// driver implements gpu.Driver.
type driver struct {
	options  Options
	adapters []Adapter
	info     core.Info
	idle     idle
}

// Info implements gpu.Driver.
func (d *driver) Info() core.Info { return d.info }

// Open implements gpu.Driver.
func (d *driver) Open(ctx context.Context, index int) (gpu.Device, error) {
	if index < 0 || index >= len(d.adapters) {
		return nil, fmt.Errorf("%s: device %d of %d: %w", d.info.Name, index, len(d.adapters), core.ErrNotFound)
	}
	made, err := d.opened(ctx, index)
	if err != nil {
		return nil, fmt.Errorf("%s: device %d: %w", d.info.Name, index, err)
	}
	x, err := newDevice(d, index, made)
	if err != nil {
		made.close()
		return nil, fmt.Errorf("%s: device %d: %w", d.info.Name, index, sentinel(err))
	}
	return x, nil
}

// sentinel ensures that an error wraps a sentinel of package core.
func sentinel(err error) error {
	for _, s := range core.Sentinels() {
		if errors.Is(err, s) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", core.ErrKernel, err)
}
