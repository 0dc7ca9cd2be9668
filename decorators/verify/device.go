package verify

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// device checks the commands for the device below it against a table of the tensors and programs that are alive.
type device struct {
	*world
	inner   core.Device
	index   int
	target  program.Target
	tickets atomic.Int64 // reads that nobody has waited for

	table
	open   map[*stream]struct{}
	lent   map[*lent]struct{}
	closed bool
}

var _ core.Device = (*device)(nil)

// Capabilities implements core.Device.
func (d *device) Capabilities() *core.Capabilities { return d.inner.Capabilities() }

// NewIDs implements core.Device.
func (d *device) NewIDs(n int) op.TensorID {
	first := d.inner.NewIDs(n)
	if n < 1 {
		return first
	}
	d.mu.Lock()
	twice := d.issued.Add(uint64(first), uint64(first)+uint64(n)-1)
	d.mu.Unlock()
	if twice {
		_ = d.blame("new ids", first, nil, "the backend gives %d ids from %v out, want new ones: some were given out before", n, first)
	}
	return first
}

// OpenStream implements core.Device.
func (d *device) OpenStream(ctx context.Context) (core.Stream, error) {
	inner, err := d.inner.OpenStream(ctx)
	if err != nil {
		return nil, d.answer("open stream", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &stream{world: d.world, dev: d, inner: inner, order: d.streams.Open()}
	if !d.closed {
		d.open[s] = struct{}{}
	}
	return s, nil
}

// allows reports whether a node may be submitted, or why not.
func (d *device) allows(n *op.Node, in []op.Desc) error {
	if err := op.Check(n, in); err != nil {
		return err
	}
	return d.target.Supports(n, in)
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
	case *core.MemoryStats, *core.Pinning, *core.Selective, *core.Profiling:
		return d.inner.Extend(target)
	}
	return false
}

// Close reports live tensors and programs, and closes the device below.
func (d *device) Close() error {
	d.end()
	err := d.inner.Close()
	d.returned()
	return d.answer("close", err)
}

// end reports live tensors and programs once, and removes them from the table.
func (d *device) end() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.closed = true
	delete(d.devices, d)
	leak := d.alive()
	d.mu.Unlock()
	if d.onLeak != nil && leak.Tensors+leak.Programs > 0 {
		d.onLeak(leak)
	}
}

// alive describes the live tensors and programs. The caller holds mu.
func (d *device) alive() Leak {
	leak := Leak{Device: d.index, Programs: len(d.programs)}
	var ids []op.TensorID
	for id, t := range d.tensors {
		if !t.uncertain {
			leak.Tensors++
			leak.Bytes += int64(t.desc.Bytes())
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids[:min(len(ids), maxLeaks)] {
		t := d.tensors[id]
		leak.First = append(leak.First, fmt.Sprintf("%v %v made by %v", id, t.desc, t.made))
	}
	var names []string
	for _, p := range d.programs {
		names = append(names, fmt.Sprintf("program %q made by %v", p.p.Name, p.made))
	}
	slices.Sort(names)
	leak.First = append(leak.First, names[:min(len(names), maxLeaks-len(leak.First))]...)
	return leak
}

// returned ends the streams of a device that the backend has closed, and checks that the backend released the memory that was lent to it.
func (d *device) returned() {
	d.mu.Lock()
	for s := range d.open {
		d.leave(s)
	}
	kept := d.lent
	d.lent = map[*lent]struct{}{}
	d.mu.Unlock()
	if d.tickets.Load() > 0 { // pending reads hold memory
		return
	}
	for l := range kept {
		_ = d.blame(l.cmd.String(), l.id, nil, "release of %v was not called, want one call before Close returns", l.id)
	}
}

// leave ends a stream that the backend has closed. The host then knows that its commands are done or dropped. The caller holds mu.
func (d *device) leave(s *stream) {
	if s.order.Closed {
		return
	}
	for _, t := range d.tensors {
		if d.streams.IsOpen(t.made, s.order) {
			t.uncertain = true
		}
	}
	d.streams.Close(s.order)
	delete(d.open, s)
}

// own returns s as a stream of the device.
func (d *device) own(what string, s core.Stream) (*stream, error) {
	own, ok := s.(*stream)
	if ok && own.dev == d {
		return own, nil
	}
	f := &Fault{Kind: Usage, Command: what, Err: fmt.Errorf("got a stream of another device, want one of this: %w", core.ErrAttr)}
	d.report(f)
	return nil, f
}
