package router_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// planted is a backend that lacks some ops and that a test can lose.
type planted struct {
	core.Backend
	lacks    []string
	bare     bool         // has no programs and no host memory
	lost     atomic.Bool  // every call returns ErrBackendLost
	until    atomic.Int64 // above 0: the backend is lost after this many calls
	programs atomic.Int64 // number of programs that are defined
}

func plant(t testing.TB, lacks ...string) *planted {
	return &planted{Backend: processor(t), lacks: lacks}
}

// gone counts a call. It returns an error if the backend is lost.
func (p *planted) gone() error {
	if p.until.Load() > 0 && p.until.Add(-1) == 0 {
		p.lost.Store(true)
	}
	if p.lost.Load() {
		return fmt.Errorf("planted: %w", core.ErrBackendLost)
	}
	return nil
}

func (p *planted) Open(ctx context.Context, i int) (core.Device, error) {
	if err := p.gone(); err != nil {
		return nil, err
	}
	d, err := p.Backend.Open(ctx, i)
	return &plantedDevice{d, p}, err
}

type plantedDevice struct {
	core.Device
	p *planted
}

func (d *plantedDevice) Capabilities() *core.Capabilities {
	c := *d.Device.Capabilities()
	c.Ops = maps.Clone(c.Ops)
	for _, name := range d.p.lacks {
		delete(c.Ops, name)
	}
	return &c
}

func (d *plantedDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	if err := d.p.gone(); err != nil {
		return nil, err
	}
	s, err := d.Device.OpenStream(ctx)
	return &plantedStream{s, d.p}, err
}

func (d *plantedDevice) Extend(target any) bool {
	switch t := target.(type) {
	case *core.MemoryStats:
		return d.Device.Extend(target)
	case *core.HostMemory:
		return !d.p.bare && core.WrapExtension(d.Device, t, func(x core.HostMemory) core.HostMemory { return plantedMemory{x, d.p} })
	case *core.Programs:
		return !d.p.bare && core.WrapExtension(d.Device, t, func(x core.Programs) core.Programs { return plantedPrograms{x, d.p} })
	}
	return false
}

type plantedMemory struct {
	core.HostMemory
	p *planted
}

func (x plantedMemory) Adopt(s core.Stream, d op.Desc, data []byte, release func()) error {
	if err := x.p.gone(); err != nil {
		return err
	}
	return x.HostMemory.Adopt(s.(*plantedStream).Stream, d, data, release)
}

func (x plantedMemory) View(ctx context.Context, s core.Stream, id op.TensorID, use func([]byte) error) error {
	if err := x.p.gone(); err != nil {
		return err
	}
	return x.HostMemory.View(ctx, s.(*plantedStream).Stream, id, use)
}

type plantedPrograms struct {
	core.Programs
	p *planted
}

func (x plantedPrograms) Define(ctx context.Context, s core.Stream, q *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	if err := x.p.gone(); err != nil {
		return 0, err
	}
	for i := range q.Nodes {
		if name := q.Nodes[i].Op.String(); slices.Contains(x.p.lacks, name) {
			return 0, fmt.Errorf("planted: %s: %w", name, core.ErrUnsupported)
		}
	}
	id, err := x.Programs.Define(ctx, s.(*plantedStream).Stream, q, consts)
	if err == nil {
		x.p.programs.Add(1)
	}
	return id, err
}

func (x plantedPrograms) Run(s core.Stream, r core.Run) error {
	if err := x.p.gone(); err != nil {
		return err
	}
	return x.Programs.Run(s.(*plantedStream).Stream, r)
}

func (x plantedPrograms) Undefine(id core.ProgramID) error {
	x.p.programs.Add(-1)
	return x.Programs.Undefine(id)
}

type plantedStream struct {
	core.Stream
	p *planted
}

func (s *plantedStream) Submit(nodes []op.Node, free []op.TensorID) error {
	if err := s.p.gone(); err != nil {
		return err
	}
	for i := range nodes {
		if name := nodes[i].Op.String(); slices.Contains(s.p.lacks, name) {
			return fmt.Errorf("planted: %s: %w", name, core.ErrUnsupported)
		}
	}
	return s.Stream.Submit(nodes, free)
}

func (s *plantedStream) Write(ctx context.Context, d op.Desc, data []byte) error {
	if err := s.p.gone(); err != nil {
		return err
	}
	return s.Stream.Write(ctx, d, data)
}

func (s *plantedStream) Read(id op.TensorID, dst []byte) core.Ticket {
	if err := s.p.gone(); err != nil {
		return core.Failed(err)
	}
	return &plantedTicket{s.Stream.Read(id, dst), s.p}
}

func (s *plantedStream) Signal() core.Event {
	if err := s.p.gone(); err != nil {
		return core.Failed(err)
	}
	return &plantedTicket{s.Stream.Signal(), s.p}
}

func (s *plantedStream) Wait(e core.Event) error {
	if err := s.p.gone(); err != nil {
		return err
	}
	if own, ok := e.(*plantedTicket); ok {
		return s.Stream.Wait(own.Ticket.(core.Event))
	}
	return s.Stream.Wait(e)
}

type plantedTicket struct {
	core.Ticket
	p *planted
}

func (t *plantedTicket) Wait(ctx context.Context) error {
	if err := t.p.gone(); err != nil {
		return err
	}
	return t.Ticket.Wait(ctx)
}
