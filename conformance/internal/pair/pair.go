// Package pair combines the devices of two backends into one backend. Tests use it for backends whose devices have different
// capabilities. It must not be used outside tests.
package pair

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
)

// backend is the backend that New returns.
type backend struct{ first, second core.Backend }

// New returns a backend with device 0 of first as device 0, and device 0 of second as device 1. Close closes both backends.
func New(first, second core.Backend) core.Backend { return backend{first, second} }

func (b backend) Info() core.Info {
	info := b.first.Info()
	other := b.second.Info().Devices[0]
	other.Index = 1
	info.Devices = append(info.Devices[:1:1], other)
	return info
}

func (b backend) Open(ctx context.Context, index int) (core.Device, error) {
	switch index {
	case 0:
		return b.first.Open(ctx, 0)
	case 1:
		return b.second.Open(ctx, 0)
	}
	return nil, core.ErrNotFound
}

func (b backend) Close() error { return errors.Join(b.first.Close(), b.second.Close()) }
