package webgpu

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	idleTime = 10 * time.Second // time for which a closed device is kept
	idleMost = 2                // most kept devices of an adapter
)

// idle holds devices of the implementation that were closed without a fault, for later calls that open the adapter: creating a device takes
// a long time, and a kept device has its pipelines already.
type idle struct {
	mu      sync.Mutex
	devices map[int][]*pipelines // by adapter
	closed  bool
}

// opened returns a device of an adapter with its pipelines: a device that idle holds, or a new device.
func (d *driver) opened(ctx context.Context, index int) (*pipelines, error) {
	d.idle.mu.Lock()
	for list := d.idle.devices[index]; len(list) > 0; list = d.idle.devices[index] {
		x := list[len(list)-1]
		d.idle.devices[index] = list[:len(list)-1]
		if x.calls.Lost() == nil {
			d.idle.mu.Unlock()
			return x, nil
		}
		x.close()
	}
	d.idle.mu.Unlock()
	calls, err := d.adapters[index].Open(ctx)
	if err != nil {
		return nil, err
	}
	return newPipelines(calls, d.adapters[index].Facts().Together), nil
}

// keep keeps a device of the implementation for idleTime. It closes the device if idleMost devices of the adapter are kept already, or
// the driver is closed.
func (d *driver) keep(index int, x *pipelines) {
	d.idle.mu.Lock()
	defer d.idle.mu.Unlock()
	if d.idle.closed || len(d.idle.devices[index]) >= idleMost {
		x.close()
		return
	}
	if d.idle.devices == nil {
		d.idle.devices = map[int][]*pipelines{}
	}
	d.idle.devices[index] = append(d.idle.devices[index], x)
	x.kept++
	number := x.kept
	time.AfterFunc(idleTime, func() {
		d.idle.mu.Lock()
		defer d.idle.mu.Unlock()
		if i := slices.Index(d.idle.devices[index], x); i >= 0 && x.kept == number {
			d.idle.devices[index] = slices.Delete(d.idle.devices[index], i, i+1)
			x.close()
		}
	})
}

// Close implements gpu.Driver.
func (d *driver) Close() error {
	d.idle.mu.Lock()
	defer d.idle.mu.Unlock()
	d.idle.closed = true
	for index, list := range d.idle.devices {
		for _, x := range list {
			x.close()
		}
		delete(d.idle.devices, index)
	}
	return nil
}

// close closes the device of the implementation.
func (x *pipelines) close() {
	x.release()
	x.calls.Close()
}
