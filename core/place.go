package core

import "context"

// Place is a device of an open backend: host.Open and OpenPlace return it for a spec.
type Place struct {
	Backend   Backend
	Index     int
	Spec      string // the complete spec, with which it can be opened again: "process:cpu:0"
	Transport string // "builtin" or "process"
}

// Open opens the device.
func (p *Place) Open(ctx context.Context) (Device, error) { return p.Backend.Open(ctx, p.Index) }

// With returns the place with its backend wrapped by a decorator, such as autodiff.Wrap. Closing either place closes the backend.
func (p *Place) With(wrap func(Backend) Backend) *Place {
	q := *p
	q.Backend = wrap(p.Backend)
	return &q
}

// Close closes the backend, all of its devices and, for a plugin, its process.
func (p *Place) Close() error { return p.Backend.Close() }
