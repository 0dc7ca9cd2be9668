// Package pair makes one backend with two devices of two backends with one each. It is for tests of what a backend says of each of its
// devices apart.
package pair

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
)

// backend opens device 0 of the first and device 0 of the second.
type backend struct{ first, second core.Backend }

// New gives a backend whose device 0 is that of first and whose device 1 is that of second. It owns both.
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
