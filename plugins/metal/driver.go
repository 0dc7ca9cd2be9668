package metal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// driver implements gpu.Driver.
type driver struct {
	devices  []calls.Device
	matrices [][]ir.MMA // by device
	info     core.Info
	patience time.Duration
}

func newDriver(api calls.API, patience time.Duration) (*driver, error) {
	all, err := api.Devices()
	if err != nil {
		return nil, err
	}
	d := &driver{devices: slices.Clone(all), patience: patience, info: core.Info{Name: Name, Version: Version, Vendor: "burn"}}
	slices.SortStableFunc(d.devices, func(a, b calls.Device) int { return rank(a.Facts()) - rank(b.Facts()) })
	for i, x := range d.devices {
		f := x.Facts()
		m, err := matrices(x)
		note := "simdgroup matrices"
		if err != nil {
			note = "no simdgroup matrices: " + err.Error()
		}
		d.matrices = append(d.matrices, m)
		d.info.Devices = append(d.info.Devices, core.DeviceInfo{Index: i, Name: f.Name, Kind: "gpu", Memory: f.Memory, Detail: detail(f) + "; " + note})
	}
	return d, nil
}

// rank returns the sort key of a device: integrated GPUs of Macs with Intel processors come after all others, and devices that can be
// unplugged come last.
func rank(f calls.Facts) int {
	switch {
	case f.External:
		return 2
	case f.Unified && !slices.ContainsFunc(f.Families, isApple): // slower than the discrete GPU of the same Mac
		return 1
	}
	return 0
}

func isApple(family string) bool { return strings.HasPrefix(family, "Apple") }

func detail(f calls.Facts) string {
	memory := "memory of its own"
	if f.Unified {
		memory = "memory of the processor"
	}
	return fmt.Sprintf("%s; %s; buffers of at most %d MiB; %d KiB of a threadgroup; %s", strings.Join(f.Families, ", "), memory, f.Largest>>20, f.Shared>>10, f.System)
}

// Info implements gpu.Driver.
func (d *driver) Info() core.Info { return d.info }

// Close implements gpu.Driver.
func (d *driver) Close() error {
	for _, x := range d.devices {
		x.Release()
	}
	return nil
}

// Open implements gpu.Driver.
func (d *driver) Open(_ context.Context, index int) (gpu.Device, error) {
	if index < 0 || index >= len(d.devices) {
		return nil, fmt.Errorf("metal: device %d of %d: %w", index, len(d.devices), core.ErrNotFound)
	}
	x, err := newDevice(d.devices[index], d.matrices[index], d.patience)
	if err != nil {
		return nil, fmt.Errorf("metal: device %d: %w", index, err)
	}
	return x, nil
}
