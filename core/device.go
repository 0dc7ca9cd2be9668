package core

// Device is one device of an open backend: where streams are opened. host.Open makes it from a spec.
type Device struct {
	Backend   Backend
	Index     int
	Spec      string // in full, as it can be opened again: "process:cpu:0"
	Transport string // "builtin" or "process"
}

// With is the device behind a decorator, such as autodiff.Wrap. Closing either closes the backend.
func (d *Device) With(wrap func(Backend) Backend) *Device {
	e := *d
	e.Backend = wrap(d.Backend)
	return &e
}

// Close closes the backend, and with it every stream on it and, for a plugin, its process.
func (d *Device) Close() error { return d.Backend.Close() }
