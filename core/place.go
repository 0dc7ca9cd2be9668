package core

import "context"

// Place is a device of an open backend, as host.Open and OpenPlace find it by its spec.
type Place struct {
	Backend   Backend
	Index     int
	Spec      string // in full, as it can be opened again: "process:cpu:0"
	Transport string // "builtin" or "process"
}

// Open opens the device.
func (p *Place) Open(ctx context.Context) (Device, error) { return p.Backend.Open(ctx, p.Index) }

// With returns the device behind a decorator, such as autodiff.Wrap. Closing either closes the backend.
func (p *Place) With(wrap func(Backend) Backend) *Place {
	q := *p
	q.Backend = wrap(p.Backend)
	return &q
}

// Close closes the backend, and with it every device of it and, for a plugin, its process.
func (p *Place) Close() error { return p.Backend.Close() }
