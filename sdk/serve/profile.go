package serve

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
)

// profiled returns core.Profiling of the device with a handle.
func (s *server) profiled(handle uint64) (core.Profiling, error) {
	d, err := s.find(handle)
	if err != nil {
		return nil, err
	}
	if d.profiling == nil {
		return nil, fmt.Errorf("profile: %w", core.ErrUnsupported)
	}
	return d.profiling, nil
}

// StartProfile begins to record what a device executes.
func (s *server) StartProfile(ctx context.Context, handle uint64) error {
	x, err := s.profiled(handle)
	if err != nil {
		return err
	}
	return s.guard("start profile", func() error { return x.StartProfile(ctx) })
}

// StopProfile ends the recording of a device.
func (s *server) StopProfile(ctx context.Context, handle uint64) (p *core.Profile, err error) {
	x, err := s.profiled(handle)
	if err != nil {
		return nil, err
	}
	err = s.guard("stop profile", func() error {
		if p, err = x.StopProfile(ctx); err == nil && p == nil {
			return fmt.Errorf("a profile without content: %w", core.ErrKernel)
		}
		return err
	})
	return p, err
}
