package client

import (
	"context"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// profileTimeout bounds the calls, one of which brings a whole profile.
const profileTimeout = 6 * wire.CallTimeout

// profiled bounds a call about profiles.
func (d *device) profiled(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := d.gone(); err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, canceled(d.b.proc.name, ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, profileTimeout)
	return ctx, cancel, nil
}

// StartProfile implements core.Profiling.
func (d *device) StartProfile(ctx context.Context) error {
	ctx, cancel, err := d.profiled(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	answer, err := d.b.caller.StartProfile(ctx, d.handle)
	if err != nil {
		return d.callError(ctx, err)
	}
	return answer
}

// StopProfile implements core.Profiling.
func (d *device) StopProfile(ctx context.Context) (*core.Profile, error) {
	ctx, cancel, err := d.profiled(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	p, answer, err := d.b.caller.StopProfile(ctx, d.handle)
	if err != nil {
		return nil, d.callError(ctx, err)
	}
	return p, answer
}
