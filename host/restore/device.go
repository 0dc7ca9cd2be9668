package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// device is a core.Device that outlives processes: when a process is lost, a device of the next process replaces the inner one.
type device struct {
	b     *Backend
	index int
	caps  *core.Capabilities // capabilities when it was opened
	had   extensions         // extensions when it was opened

	// Guarded by Backend.world.
	inner core.Device
	ext   extensions

	// Guarded by Backend.mu.
	streams  map[*stream]struct{}
	programs map[core.ProgramID]*definition
	last     core.ProgramID
	closed   bool
}

var _ core.Device = (*device)(nil)

// extensions contains the extensions of the inner device. A field is nil if the device does not have the extension.
type extensions struct {
	programs    core.Programs
	memory      core.MemoryStats
	host        core.HostMemory
	peer        core.PeerCopy
	collectives core.Collectives
	selective   core.Selective
	profiling   core.Profiling
}

// use sets the device to which commands are sent.
func (d *device) use(inner core.Device) {
	d.inner = inner
	d.ext = extensionsOf(inner)
}

func extensionsOf(d core.Device) (x extensions) {
	x.programs, _ = core.Extension[core.Programs](d)
	x.memory, _ = core.Extension[core.MemoryStats](d)
	x.host, _ = core.Extension[core.HostMemory](d)
	x.peer, _ = core.Extension[core.PeerCopy](d)
	x.collectives, _ = core.Extension[core.Collectives](d)
	x.selective, _ = core.Extension[core.Selective](d)
	x.profiling, _ = core.Extension[core.Profiling](d)
	return x
}

// Capabilities returns the capabilities that the device had when it was opened.
func (d *device) Capabilities() *core.Capabilities { return d.caps }

// NewIDs implements core.Device.
func (d *device) NewIDs(n int) op.TensorID { return d.b.ids.New(n) }

// OpenStream implements core.Device.
func (d *device) OpenStream(ctx context.Context) (core.Stream, error) {
	s := &stream{d: d}
	err := d.b.again(ctx, func() string { return "opening a stream" }, func() (core.Ticket, error) {
		if err := d.usable(); err != nil {
			return nil, err
		}
		inner, err := d.inner.OpenStream(ctx)
		if err != nil {
			return nil, err
		}
		s.inner = inner
		d.b.mu.Lock()
		defer d.b.mu.Unlock()
		d.streams[s] = struct{}{}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (d *device) usable() error {
	d.b.mu.Lock()
	defer d.b.mu.Unlock()
	if d.closed {
		return closedError("device")
	}
	return nil
}

// Extend implements core.Device. HostMemory is always available: the journal keeps adopted memory instead of a copy.
func (d *device) Extend(target any) bool {
	d.b.world.RLock()
	defer d.b.world.RUnlock()
	has := true
	switch t := target.(type) {
	case *core.Programs:
		if has = d.ext.programs != nil; has {
			*t = programs{d}
		}
	case *core.MemoryStats:
		if has = d.ext.memory != nil; has {
			*t = d
		}
	case *core.HostMemory:
		*t = hostMemory{d}
	case *core.PeerCopy:
		if has = d.ext.peer != nil; has {
			*t = peers{d}
		}
	case *core.Collectives:
		if has = d.ext.collectives != nil; has {
			*t = collectives{d}
		}
	case *core.Selective:
		if has = d.ext.selective != nil; has {
			*t = d
		}
	case *core.Profiling:
		if has = d.ext.profiling != nil; has {
			*t = d
		}
	default:
		has = false
	}
	return has
}

// Memory implements core.MemoryStats with the answer of the running process.
func (d *device) Memory() core.Memory {
	d.b.world.RLock()
	defer d.b.world.RUnlock()
	return d.ext.memory.Memory()
}

// Supports implements core.Selective.
func (d *device) Supports(n *op.Node, in []op.Desc) error {
	return d.b.again(context.Background(), func() string { return "asking about " + n.Op.String() }, func() (core.Ticket, error) {
		x := d.ext.selective
		return call(func(context.Context) error { return x.Supports(n, in) }), nil
	})
}

// call is a ticket whose Wait makes the call.
type call func(ctx context.Context) error

func (c call) Wait(ctx context.Context) error { return c(ctx) }

// Close implements core.Device.
func (d *device) Close() error {
	b := d.b
	b.world.RLock()
	defer b.world.RUnlock()
	if err := d.usable(); err != nil {
		return err
	}
	b.mu.Lock()
	d.closed = true
	for s := range d.streams {
		s.closed = true
	}
	epoch, down := b.epoch, b.lost != nil
	b.mu.Unlock()
	var err error
	if !down {
		err = d.inner.Close()
	}
	b.mu.Lock()
	b.devices = slices.DeleteFunc(b.devices, func(x *device) bool { return x == d })
	b.mu.Unlock()
	b.forget(func(e *entry) bool { return e.s.d == d })
	return b.closedBy(epoch, err)
}

// stream returns s as a stream of this package, or ErrAttr if s belongs to another device.
func (d *device) stream(s core.Stream) (*stream, error) {
	own, ok := s.(*stream)
	if !ok || own.d != d {
		return nil, fmt.Errorf("restore: a stream of another device: %w", core.ErrAttr)
	}
	return own, nil
}

// hostMemory implements core.HostMemory for a device.
type hostMemory struct{ d *device }

// lent is memory that the journal and devices use. The memory is released when its last user drops it.
type lent struct {
	users   atomic.Int32
	release func()
}

func (l *lent) drop() {
	if l.users.Add(-1) == 0 {
		l.release()
	}
}

// Adopt implements core.HostMemory: data is kept for the next process without a copy, until neither the tensor nor its dependents need it.
// For example, no copy is made of a memory-mapped file.
func (x hostMemory) Adopt(cs core.Stream, desc op.Desc, data []byte, release func()) error {
	s, err := x.d.stream(cs)
	if err != nil {
		return err
	}
	l := &lent{release: release}
	l.users.Store(1)
	return s.put(context.Background(), desc, data, l, func(ctx context.Context, on core.Stream) error {
		if x.d.ext.host != nil {
			l.users.Add(1)
			err := x.d.ext.host.Adopt(on, desc, data, l.drop)
			if err == nil {
				return nil
			}
			l.users.Add(-1)
			if !errors.Is(err, core.ErrUnsupported) {
				return err
			}
		}
		return on.Write(ctx, desc, data)
	})
}

// View implements core.HostMemory.
func (x hostMemory) View(ctx context.Context, cs core.Stream, id op.TensorID, use func(data []byte) error) error {
	s, err := x.d.stream(cs)
	if err != nil {
		return err
	}
	var result error
	err = x.d.b.again(ctx, func() string { return fmt.Sprintf("viewing %v", id) }, func() (core.Ticket, error) {
		host, on := x.d.ext.host, s.inner
		if host == nil {
			return nil, fmt.Errorf("restore: view: %w", core.ErrUnsupported)
		}
		if err := s.ready(id); err != nil {
			return nil, err
		}
		return call(func(ctx context.Context) error {
			used := false
			err := host.View(ctx, on, id, func(data []byte) error {
				used, result = true, use(data)
				return nil
			})
			if used {
				return nil
			}
			return err
		}), nil
	})
	if err != nil {
		return err
	}
	return result
}

// peers implements core.PeerCopy for a device.
type peers struct{ d *device }

// CopyFrom implements core.PeerCopy.
func (x peers) CopyFrom(cs core.Stream, desc op.Desc, from core.Device, id op.TensorID) error {
	s, err := x.d.stream(cs)
	if err != nil {
		return err
	}
	src, ok := from.(*device)
	if !ok || src.b != x.d.b {
		return fmt.Errorf("restore: copy from a device of another backend: %w", core.ErrUnsupported)
	}
	desc.Shape = desc.Shape.Clone()
	e := &entry{s: s, what: "copy", ins: []tensorID{id}, outs: []op.Desc{desc}, from: src}
	e.play = func(r *replay, on core.Stream, _ []bool) error {
		if err := follow(on, r.at[src].Signal()); err != nil {
			return err
		}
		if err := x.d.ext.peer.CopyFrom(on, desc, src.inner, id); err != nil {
			return err
		}
		return follow(r.at[src], on.Signal()) // src must not free the tensor before the copy is done
	}
	return s.one(e, nil, func() error { return x.d.ext.peer.CopyFrom(s.inner, desc, src.inner, id) })
}
