package shared

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/wire"
)

// Backend is the backend of a shared object. Open makes it.
type Backend struct {
	lib    *library
	handle uintptr
	info   core.Info
	caps   *core.Capabilities
	names  []string           // of the ops, by number
	number map[op.Code]uint32 // of the claimed ops

	mu      sync.Mutex
	closed  bool
	streams map[*stream]struct{}
}

var _ core.Backend = (*Backend)(nil)

// Open loads the shared object at path and opens its backend. The object is code of this process from then on: when it
// crashes, the process does. Errors: ErrNotFound when the file cannot be loaded, ErrProtocol when it is no backend or one
// of another ABI, and what the backend answers.
func Open(path string, c core.Config) (*Backend, error) {
	l, err := open(path)
	if err != nil {
		return nil, err
	}
	b := &Backend{lib: l, number: map[op.Code]uint32{}, streams: map[*stream]struct{}{}}
	var a arena
	if err := call(nil, l.api.open, a.config(c), uintptr(unsafe.Pointer(&b.handle))); err != nil {
		return nil, fmt.Errorf("shared: open %s: %w", l.path, err)
	}
	runtime.KeepAlive(a)
	if b.handle == 0 {
		return nil, fmt.Errorf("shared: open %s: %w: no backend came back", l.path, core.ErrProtocol)
	}
	b.describe()
	return b, nil
}

// describe asks the backend for its info and claims.
func (b *Backend) describe() {
	address, _, _ := purego.SyscallN(b.lib.api.info, b.handle)
	i := load[cInfo](address)
	b.info = core.Info{Name: text(i.name), Version: text(i.version), Vendor: text(i.vendor)}
	for k, d := range list[cDevice](i.devices, i.nDevices) {
		b.info.Devices = append(b.info.Devices, core.DeviceInfo{Index: k, Name: text(d.name), Kind: text(d.kind), Memory: d.memory,
			Detail: text(d.detail)})
	}
	address, _, _ = purego.SyscallN(b.lib.api.capabilities, b.handle)
	c := load[cCapabilities](address)
	b.caps = &core.Capabilities{Types: dtype.Set(c.types) & dtype.Any, Ops: map[string]core.OpCapability{}, MaxRank: min(int(c.maxRank), shape.MaxRank),
		MaxBytes: c.maxBytes, Deterministic: c.deterministic != 0}
	b.caps.Features = []string{wire.FeatureBatches}
	if b.lib.api.memory != 0 {
		b.caps.Features = append(b.caps.Features, wire.FeatureMemory)
	}
	if b.lib.api.supports == 0 {
		b.caps.Features = append(b.caps.Features, wire.FeatureExact)
	}
	for n, o := range list[cOp](c.ops, c.nOps) {
		name := text(o.name)
		b.names = append(b.names, name)
		b.caps.Ops[name] = core.OpCapability{Version: uint16(o.version), Types: dtype.Set(o.types) & dtype.Any}
		if code, ok := op.ByName(name); ok && uint32(op.Lookup(code).Version) == o.version {
			b.number[code] = uint32(n)
		}
	}
}

// Info implements core.Backend.
func (b *Backend) Info() core.Info { return b.info }

// Capabilities implements core.Backend.
func (b *Backend) Capabilities() *core.Capabilities { return b.caps }

// Supports implements core.Backend: the claims decide, and then the backend's own function if it has one.
func (b *Backend) Supports(n *op.Node, in []op.Desc) error {
	if err := b.caps.Check(n, in); err != nil || b.lib.api.supports == 0 {
		return err
	}
	number, ok := b.number[n.Op]
	if !ok {
		return fmt.Errorf("%v: %w", n.Op, core.ErrUnsupported)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.closedError()
	}
	var a arena
	node, descs := a.node(number, n, map[string]uintptr{}), a.descs(in)
	err := call(b.names, b.lib.api.supports, b.handle, node, descs)
	runtime.KeepAlive(a)
	return err
}

// OpenStream implements core.Backend.
func (b *Backend) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	if ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, b.closedError()
	case device < 0 || device >= len(b.info.Devices):
		return nil, fmt.Errorf("%s: device %d, want one below %d: %w", b.info.Name, device, len(b.info.Devices), core.ErrNotFound)
	}
	s := &stream{backend: b, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := call(b.names, b.lib.api.openStream, b.handle, uintptr(device), uintptr(unsafe.Pointer(&s.handle))); err != nil {
		return nil, fmt.Errorf("%s: open a stream: %w", b.info.Name, err)
	}
	b.streams[s] = struct{}{}
	go s.work()
	if b.lib.api.memory != 0 {
		return statsStream{s}, nil
	}
	return s, nil
}

// Close implements core.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	streams := b.streams
	b.streams = nil
	b.mu.Unlock()
	for s := range streams {
		_ = s.Close() // closed already is no matter
	}
	purego.SyscallN(b.lib.api.close, b.handle)
	return nil
}

func (b *Backend) forget(s *stream) {
	b.mu.Lock()
	delete(b.streams, s)
	b.mu.Unlock()
}

func (b *Backend) closedError() error {
	return fmt.Errorf("%s: backend: %w", b.info.Name, core.ErrClosed)
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("shared: %w: %w", core.ErrCanceled, context.Cause(ctx))
}
