package fusion

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// device records the types of its tensors, and contains the cache of plans that its streams share.
type device struct {
	*backend
	inner    core.Device
	target   program.Target
	programs core.Programs // nil if the device below lacks this extension; nodes are then passed on
	cache    *cache
	most     int64 // greatest number of bytes of live results in a window

	mu      sync.Mutex // guards what follows; taken after stream.mu
	types   map[op.TensorID]op.Desc
	outputs map[core.ProgramID][]op.Desc // outputs of programs that the host defined
	streams map[*stream]struct{}

	failing sync.Mutex // guards what follows
	failed  map[op.TensorID]error
	recent  [16]ran // a ring of the last runs
	runs    int

	compiling sync.Mutex // guards definer
	definer   core.Stream
}

var _ core.Device = (*device)(nil)

func newDevice(b *backend, inner core.Device, index int) *device {
	d := &device{backend: b, inner: inner, types: map[op.TensorID]op.Desc{}, outputs: map[core.ProgramID][]op.Desc{},
		streams: map[*stream]struct{}{}, failed: map[op.TensorID]error{}}
	info := b.inner.Info()
	name := info.Name
	if d.most = b.memory; d.most == 0 {
		d.most = DefaultMemory
		for _, i := range info.Devices {
			if i.Index == index {
				d.most = max(d.most, i.Memory/2)
			}
		}
	}
	d.target = core.TargetOf(name, inner)
	d.programs, _ = core.Extension[core.Programs](inner)
	d.cache = newCache(&b.config, fmt.Sprintf("%s:%d", name, index))
	if d.programs == nil {
		d.cache.count(func(s *Stats) { s.reason("the device has no programs", 0) })
	}
	if b.report != nil {
		b.report.enter(d)
	}
	return d
}

// Capabilities implements core.Device.
func (d *device) Capabilities() *core.Capabilities { return d.inner.Capabilities() }

// NewIDs implements core.Device.
func (d *device) NewIDs(n int) op.TensorID { return d.inner.NewIDs(n) }

// OpenStream implements core.Device.
func (d *device) OpenStream(ctx context.Context) (core.Stream, error) {
	inner, err := d.inner.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	s := &stream{dev: d, inner: inner}
	s.w.Init(d.typeOf, &d.hash)
	d.mu.Lock()
	d.streams[s] = struct{}{}
	d.mu.Unlock()
	return s, nil
}

// typeOf returns the type and shape of a live tensor.
func (d *device) typeOf(id op.TensorID) (op.Desc, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.types[id]
	return t, ok
}

// compile compiles and defines a plan, and reports whether it can be run.
func (d *device) compile(p *plan) bool {
	d.compiling.Lock()
	defer d.compiling.Unlock()
	if made, ok := d.cache.isMade(p); made {
		return ok
	}
	err := d.prepare(p)
	d.cache.settle(p, err)
	for _, id := range d.cache.discarded() {
		_ = d.programs.Undefine(id) // fails if the device is lost, and its programs with it
	}
	return err == nil
}

// forget records that a tensor was freed.
func (d *device) forget(id op.TensorID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.types, id)
}

// define records new tensors.
func (d *device) define(ts ...op.Desc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range ts {
		d.types[t.ID] = t
	}
}

// flush submits the held nodes of all streams to the device below, before a call that concerns the whole device.
func (d *device) flush() {
	d.mu.Lock()
	open := make([]*stream, 0, len(d.streams))
	for s := range d.streams {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		s.mu.Lock()
		s.passHeld()
		s.mu.Unlock()
	}
}

// own returns s as a stream of the device.
func (d *device) own(what string, s core.Stream) (*stream, error) {
	own, ok := s.(*stream)
	if !ok || own.dev != d {
		return nil, fmt.Errorf("fusion: %s: a stream of another device: %w", what, core.ErrAttr)
	}
	return own, nil
}

// Extend implements core.Device: see Wrap.
func (d *device) Extend(target any) bool {
	switch t := target.(type) {
	case *core.Programs:
		return core.WrapExtension(d.inner, t, func(x core.Programs) core.Programs { return programs{d, x} })
	case *core.HostMemory:
		return core.WrapExtension(d.inner, t, func(x core.HostMemory) core.HostMemory { return hostMemory{d, x} })
	case *core.PeerCopy:
		return core.WrapExtension(d.inner, t, func(x core.PeerCopy) core.PeerCopy { return peers{d, x} })
	case *core.Collectives:
		return core.WrapExtension(d.inner, t, func(x core.Collectives) core.Collectives { return collectives{d, x} })
	case *core.MemoryStats:
		return core.WrapExtension(d.inner, t, func(x core.MemoryStats) core.MemoryStats { return memoryStats{d, x} })
	case *core.Profiling:
		return core.WrapExtension(d.inner, t, func(x core.Profiling) core.Profiling { return profiling{d, x} })
	case *core.Pinning, *core.Selective:
		return d.inner.Extend(target)
	}
	return false
}

// Close closes the device below, which ends the waits of its streams, and drops held nodes.
func (d *device) Close() error {
	d.backend.mu.Lock()
	delete(d.backend.devices, d)
	d.backend.mu.Unlock()
	err := d.inner.Close()
	d.end()
	return err
}

// end drops the held nodes of a device that is closed.
func (d *device) end() {
	d.mu.Lock()
	open := d.streams
	d.streams = map[*stream]struct{}{}
	d.mu.Unlock()
	for s := range open {
		s.mu.Lock()
		s.end()
		s.mu.Unlock()
	}
	if d.report != nil {
		d.report.leave(d)
	}
}
