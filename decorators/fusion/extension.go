package fusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// boundary ends the window of a stream before another command.
func (s *stream) boundary() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// programs is core.Programs: the programs of the host.
type programs struct {
	d     *device
	inner core.Programs
}

// Define implements core.Programs.
func (x programs) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	s, err := x.d.own("define", cs)
	if err != nil {
		return 0, err
	}
	s.boundary()
	id, err := x.inner.Define(ctx, s.inner, p, consts)
	if err == nil {
		outs := p.OutputDescs()
		x.d.mu.Lock()
		x.d.outputs[id] = outs
		x.d.mu.Unlock()
	}
	return id, err
}

// Run implements core.Programs.
func (x programs) Run(cs core.Stream, r core.Run) error {
	s, err := x.d.own("run", cs)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if err := x.inner.Run(s.inner, r); err != nil {
		return err
	}
	x.d.mu.Lock()
	defer x.d.mu.Unlock()
	for i, given := range r.Donated {
		if given {
			delete(x.d.types, r.Inputs[i])
		}
	}
	for i, o := range x.d.outputs[r.Program] {
		o.ID = r.Outputs[i]
		x.d.types[o.ID] = o
	}
	return nil
}

// Undefine implements core.Programs.
func (x programs) Undefine(id core.ProgramID) error {
	x.d.mu.Lock()
	delete(x.d.outputs, id)
	x.d.mu.Unlock()
	return x.inner.Undefine(id)
}

// hostMemory is core.HostMemory.
type hostMemory struct {
	d     *device
	inner core.HostMemory
}

// Adopt implements core.HostMemory.
func (h hostMemory) Adopt(cs core.Stream, d op.Desc, data []byte, release func()) error {
	s, err := h.d.own("adopt", cs)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.upload(len(data))
	err = h.inner.Adopt(s.inner, d, data, release)
	if errors.Is(err, core.ErrOutOfMemory) && s.hold != nil {
		s.passHeld()
		err = h.inner.Adopt(s.inner, d, data, release)
	}
	if err == nil {
		d.Shape = d.Shape.Clone()
		h.d.define(d)
	}
	return err
}

// View implements core.HostMemory.
func (h hostMemory) View(ctx context.Context, cs core.Stream, id op.TensorID, use func([]byte) error) error {
	s, err := h.d.own("view", cs)
	if err != nil {
		return err
	}
	s.boundary()
	if err := h.d.failure(id); err != nil {
		return err
	}
	return h.d.explain(h.inner.View(ctx, s.inner, id, use), id)
}

// peers is core.PeerCopy.
type peers struct {
	d     *device
	inner core.PeerCopy
}

// CopyFrom implements core.PeerCopy.
func (p peers) CopyFrom(cs core.Stream, d op.Desc, from core.Device, id op.TensorID) error {
	s, err := p.d.own("copy from", cs)
	if err != nil {
		return err
	}
	src, ok := from.(*device)
	if !ok || src.backend != p.d.backend {
		return fmt.Errorf("fusion: copy from a device of another backend: %w", core.ErrUnsupported)
	}
	return s.take(d, func(s core.Stream) error { return p.inner.CopyFrom(s, d, src.inner, id) })
}

// take ends the window, calls pass, which creates tensor out on the stream below, and records out.
func (s *stream) take(out op.Desc, pass func(core.Stream) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if err := pass(s.inner); err != nil {
		return err
	}
	out.Shape = out.Shape.Clone()
	s.dev.define(out)
	return nil
}

// collectives is core.Collectives.
type collectives struct {
	d     *device
	inner core.Collectives
}

// Join implements core.Collectives.
func (c collectives) Join(ctx context.Context, key string, rank, size int) (core.Group, error) {
	g, err := c.inner.Join(ctx, key, rank, size)
	if err != nil {
		return nil, err
	}
	return &group{d: c.d, inner: g}, nil
}

// group is a rank of a group.
type group struct {
	d     *device
	inner core.Group
}

func (g *group) take(what string, cs core.Stream, out op.Desc, pass func(core.Stream) error) error {
	s, err := g.d.own(what, cs)
	if err != nil {
		return err
	}
	return s.take(out, pass)
}

// AllReduce implements core.Group.
func (g *group) AllReduce(cs core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.take("all_reduce", cs, out, func(s core.Stream) error { return g.inner.AllReduce(s, by, in, out) })
}

// AllGather implements core.Group.
func (g *group) AllGather(cs core.Stream, in op.TensorID, out op.Desc) error {
	return g.take("all_gather", cs, out, func(s core.Stream) error { return g.inner.AllGather(s, in, out) })
}

// Broadcast implements core.Group.
func (g *group) Broadcast(cs core.Stream, root int, in op.TensorID, out op.Desc) error {
	return g.take("broadcast", cs, out, func(s core.Stream) error { return g.inner.Broadcast(s, root, in, out) })
}

// Close implements core.Group.
func (g *group) Close() error { return g.inner.Close() }

// memoryStats is core.MemoryStats: it submits held nodes first.
type memoryStats struct {
	d     *device
	inner core.MemoryStats
}

// Memory implements core.MemoryStats.
func (m memoryStats) Memory() core.Memory {
	m.d.flush()
	return m.inner.Memory()
}

// profiling implements core.Profiling. Nodes that were submitted before a call are not delayed beyond it.
type profiling struct {
	d     *device
	inner core.Profiling
}

// StartProfile implements core.Profiling.
func (p profiling) StartProfile(ctx context.Context) error {
	p.d.flush()
	return p.inner.StartProfile(ctx)
}

// StopProfile implements core.Profiling.
func (p profiling) StopProfile(ctx context.Context) (*core.Profile, error) {
	p.d.flush()
	return p.inner.StopProfile(ctx)
}
