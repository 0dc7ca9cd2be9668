package restore

import (
	"context"

	"github.com/goburn/burn/core"
)

// StartProfile implements core.Profiling on the current process. A recording ends with its process: after a loss, StopProfile returns
// ErrNotFound.
func (d *device) StartProfile(ctx context.Context) error {
	x, err := d.profiling()
	if err != nil {
		return err
	}
	return x.StartProfile(ctx)
}

// StopProfile implements core.Profiling.
func (d *device) StopProfile(ctx context.Context) (*core.Profile, error) {
	x, err := d.profiling()
	if err != nil {
		return nil, err
	}
	return x.StopProfile(ctx)
}

// profiling returns the profiling extension of the current process, or an error that says why there is no such extension.
func (d *device) profiling() (core.Profiling, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.b.world.RLock()
	defer d.b.world.RUnlock()
	if d.ext.profiling == nil {
		return nil, missing("profiles")
	}
	return d.ext.profiling, nil
}
