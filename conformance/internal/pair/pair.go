// Package pair joins two backends with one device each into a backend with two devices. It exists for tests of claims that differ
// between the devices of a backend.
package pair

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
)

// backend opens device 0 of the first and device 0 of the second.
type backend struct{ first, second core.Backend }

// New returns a backend with first's device as device 0 and second's as device 1. It owns both backends.
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
