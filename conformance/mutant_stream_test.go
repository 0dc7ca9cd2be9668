package conformance_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// tampered is a backend with planted faults. A function that is nil plants none.
type tampered struct {
	core.Backend
	device func(core.Device) core.Device // changes each device, outside all other changes
	stream func(core.Stream) core.Stream // changes each stream
	extend func(target any)              // changes the extension that target points to
	hangs  bool                          // the fault is caught by the time limit of a case
	limit  time.Duration                 // that time limit, several times what the case takes without the fault
	slow   time.Duration                 // time to sleep before each node, if Backend is nil
}

func (b tampered) Open(ctx context.Context, device int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, device)
	if err != nil {
		return nil, err
	}
	d = &tamperedDevice{d, b}
	if b.device != nil {
		d = b.device(d)
	}
	return d, nil
}

type tamperedDevice struct {
	core.Device
	b tampered
}

func (d *tamperedDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	if err != nil || d.b.stream == nil {
		return s, err
	}
	return d.b.stream(s), nil
}

// Extend returns extensions that pass the streams of the good device to the good device.
func (d *tamperedDevice) Extend(target any) bool {
	if !d.Device.Extend(target) {
		return false
	}
	switch t := target.(type) {
	case *core.Programs:
		*t = programsOver{*t}
	case *core.HostMemory:
		*t = hostMemoryOver{*t}
	case *core.PeerCopy:
		*t = peerCopyOver{*t}
	case *core.Collectives:
		*t = collectivesOver{*t}
	}
	if d.b.extend != nil {
		d.b.extend(target)
	}
	return true
}

// base is the common part of changed streams over a good stream. Wait passes on the event of the good stream.
type base struct{ core.Stream }

func (b base) under() core.Stream { return under(b.Stream) }

func (b base) Wait(e core.Event) error { return b.Stream.Wait(goodEvent(e)) }

// under returns the good stream below all changes of s.
func under(s core.Stream) core.Stream {
	if b, ok := s.(interface{ under() core.Stream }); ok {
		return b.under()
	}
	return s
}

// answer is a ticket or an event whose Wait is replaced.
type answer struct {
	core.Ticket
	wait func(ctx context.Context, good core.Ticket) error
}

func (a answer) Wait(ctx context.Context) error { return a.wait(ctx, a.Ticket) }

// goodEvent returns the event of the good stream below all changes of e.
func goodEvent(e core.Event) core.Event {
	if a, ok := e.(answer); ok {
		return goodEvent(a.Ticket)
	}
	return e
}

type programsOver struct{ core.Programs }

func (p programsOver) Define(ctx context.Context, s core.Stream, q *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	return p.Programs.Define(ctx, under(s), q, consts)
}

func (p programsOver) Run(s core.Stream, r core.Run) error { return p.Programs.Run(under(s), r) }

type hostMemoryOver struct{ core.HostMemory }

func (h hostMemoryOver) Adopt(s core.Stream, d op.Desc, data []byte, release func()) error {
	return h.HostMemory.Adopt(under(s), d, data, release)
}

func (h hostMemoryOver) View(ctx context.Context, s core.Stream, id op.TensorID, use func(data []byte) error) error {
	return h.HostMemory.View(ctx, under(s), id, use)
}

type peerCopyOver struct{ core.PeerCopy }

func (p peerCopyOver) CopyFrom(s core.Stream, d op.Desc, src core.Device, id op.TensorID) error {
	return p.PeerCopy.CopyFrom(under(s), d, goodDevice(src), id)
}

// goodDevice returns the device below all changes of d.
func goodDevice(d core.Device) core.Device {
	switch t := d.(type) {
	case *tamperedDevice:
		return goodDevice(t.Device)
	case *changing[core.PeerCopy]:
		return goodDevice(t.Device)
	}
	return d
}

type collectivesOver struct{ core.Collectives }

func (c collectivesOver) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	g, err := c.Collectives.Join(ctx, key, rank, size)
	return groupOver{g}, err
}

type groupOver struct{ core.Group }

func (g groupOver) AllReduce(s core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.Group.AllReduce(under(s), by, in, out)
}

func (g groupOver) AllGather(s core.Stream, in op.TensorID, out op.Desc) error {
	return g.Group.AllGather(under(s), in, out)
}

func (g groupOver) Broadcast(s core.Stream, root int, in op.TensorID, out op.Desc) error {
	return g.Group.Broadcast(under(s), root, in, out)
}

// vector returns the descriptor of an f32 tensor with the given dimensions.
func vector(dims ...int) op.Desc { return op.DescOf(dtype.F32, dims...) }

// Faults of streams.

// reading replaces Wait of the tickets of reads.
type reading struct {
	base
	wait func(ctx context.Context, good core.Ticket) error
}

func (r reading) Read(id op.TensorID, dst []byte) core.Ticket {
	return answer{r.Stream.Read(id, dst), r.wait}
}

// signaling replaces Wait of events.
type signaling struct {
	base
	wait func(ctx context.Context, good core.Ticket) error
}

func (s signaling) Signal() core.Event { return answer{s.Stream.Signal(), s.wait} }

// submitting changes the nodes and frees of each Submit.
type submitting struct {
	base
	change func(nodes []op.Node, free []op.TensorID) ([]op.Node, []op.TensorID)
}

func (s submitting) Submit(nodes []op.Node, free []op.TensorID) error {
	return s.Stream.Submit(s.change(slices.Clone(nodes), slices.Clone(free)))
}

// borrower keeps the caller's data of the last Write without a copy, and writes it at the next Read.
type borrower struct {
	base
	d    op.Desc
	data []byte
}

func (b *borrower) Write(_ context.Context, d op.Desc, data []byte) error {
	b.d, b.data = d, data
	return nil
}

func (b *borrower) Read(id op.TensorID, dst []byte) core.Ticket {
	if err := b.Stream.Write(context.Background(), b.d, b.data); err != nil {
		return core.Failed(err)
	}
	return b.Stream.Read(id, dst)
}

// zombie accepts every Submit, even after Close, and does nothing.
type zombie struct{ base }

func (zombie) Submit([]op.Node, []op.TensorID) error { return nil }

// Faults in waiting for tickets and events.

// quiet loses failures.
func quiet(ctx context.Context, good core.Ticket) error {
	_ = good.Wait(ctx)
	return nil
}

// mumbled replaces errors by errors with the same text that wrap nothing.
func mumbled(ctx context.Context, good core.Ticket) error {
	if err := good.Wait(ctx); err != nil {
		return errors.New(err.Error())
	}
	return nil
}
