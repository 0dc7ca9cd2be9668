package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
)

// backend is a core.Backend over a Driver.
type backend[V any] struct {
	driver Driver[V]
	title  string

	mu         sync.Mutex
	closed     bool
	devices    map[*device[V]]struct{}
	rendezvous rendezvousTable
}

// New returns a backend of a driver.
func New[V any](d Driver[V]) core.Backend {
	return &backend[V]{driver: d, title: d.Info().Name, devices: map[*device[V]]struct{}{}}
}

// Info implements core.Backend.
func (b *backend[V]) Info() core.Info { return b.driver.Info() }

// name returns the backend's name, for errors.
func (b *backend[V]) name() string { return b.title }

// Open implements core.Backend.
func (b *backend[V]) Open(ctx context.Context, index int) (core.Device, error) {
	if n := len(b.driver.Info().Devices); index < 0 || index >= n {
		return nil, fmt.Errorf("%s: device %d, there are %d: %w", b.name(), index, n, core.ErrNotFound)
	}
	if ctx.Err() != nil {
		return nil, b.canceled(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("%s: backend: %w", b.name(), core.ErrClosed)
	}
	author, err := b.driver.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	d := newDevice(b, author)
	b.devices[d] = struct{}{}
	return d, nil
}

// Close implements core.Backend.
func (b *backend[V]) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	open := make([]*device[V], 0, len(b.devices))
	for d := range b.devices {
		open = append(open, d)
	}
	b.mu.Unlock()
	for _, d := range open {
		_ = d.Close()
		<-d.gone // another goroutine may be closing it
	}
	return b.driver.Close()
}

func (b *backend[V]) forget(d *device[V]) {
	b.mu.Lock()
	delete(b.devices, d)
	b.mu.Unlock()
}

func (b *backend[V]) canceled(ctx context.Context) error {
	return fmt.Errorf("%s: %w: %w", b.name(), core.ErrCanceled, context.Cause(ctx))
}
