package cuda

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// libraries are the libraries loaded into this process. They stay loaded until it ends.
var libraries = sync.OnceValue(func() *nv.Libraries { return nv.Open(nv.DefaultSearch()) })

// driver is NVIDIA's driver with the libraries that were found.
type driver struct {
	libs  *nv.Libraries
	cuda  calls
	cache string // folder of compiled kernels, empty for none
	info  core.Info
}

var _ gpu.Driver = (*driver)(nil)

func newDriver(libs *nv.Libraries, cache string) (*driver, error) {
	if libs.Driver == nil {
		return nil, fmt.Errorf("cuda: %w: %s", core.ErrNotFound, libs.Report.Row("driver").Missing())
	}
	cuda, err := newCalls(libs.Driver)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", sentinel(err))
	}
	d := &driver{libs: libs, cuda: cuda, cache: cache, info: core.Info{Name: Name, Version: Version, Vendor: "burn"}}
	for i := range libs.Driver.Devices {
		info, err := d.describe(i)
		if err != nil {
			return nil, fmt.Errorf("cuda: device %d: %w", i, sentinel(err))
		}
		d.info.Devices = append(d.info.Devices, info)
	}
	return d, nil
}

// describe returns the description of a device that is not opened yet.
func (d *driver) describe(i int) (core.DeviceInfo, error) {
	info := core.DeviceInfo{Index: i, Kind: "gpu"}
	dev, err := d.cuda.Device(i)
	if err != nil {
		return info, err
	}
	name, err := d.cuda.Name(dev)
	if err != nil {
		return info, err
	}
	total, err := d.cuda.TotalMemory(dev)
	if err != nil {
		return info, err
	}
	f, err := readFacts(d.cuda, dev)
	if err != nil {
		return info, err
	}
	details := []string{fmt.Sprintf("compute capability %d.%d, %d multiprocessors", f.capability/10, f.capability%10, f.units)}
	for i := range d.libs.Report {
		row := &d.libs.Report[i]
		detail := row.Detail()
		if row.Key == "driver" && row.Err == nil {
			detail += " by " + callsBy
		}
		details = append(details, detail)
	}
	info.Name, info.Memory, info.Detail = name, int64(total), strings.Join(details, "; ")
	return info, nil
}

// Info implements gpu.Driver.
func (d *driver) Info() core.Info { return d.info }

// Open implements gpu.Driver.
func (d *driver) Open(_ context.Context, index int) (gpu.Device, error) {
	x, err := d.open(index)
	if err != nil {
		return nil, fmt.Errorf("cuda: device %d: %w", index, sentinel(err))
	}
	return x, nil
}

func (d *driver) open(index int) (*device, error) {
	if index < 0 || index >= len(d.info.Devices) {
		return nil, fmt.Errorf("there are %d: %w", len(d.info.Devices), core.ErrNotFound)
	}
	dev, err := d.cuda.Device(index)
	if err != nil {
		return nil, err
	}
	ctx, err := streams.Primary(d.cuda, dev)
	if err != nil {
		return nil, err
	}
	return newDevice(d, dev, ctx)
}

// Close implements gpu.Driver.
func (d *driver) Close() error { return nil }

func sentinel(err error) error { return streams.Sentinel(err) }

// named adds to an error of a library the action that failed.
func named(what string, err error) error { return streams.Named(Name, what, err) }
