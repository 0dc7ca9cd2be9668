package client

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/wire"
)

// withOptions gives s the optional interfaces that the plugin's stream has.
func withOptions(s *stream, flags uint64) core.Stream {
	p, m := programs{s: s}, memory{s: s}
	switch has := flags & (wire.HasPrograms | wire.HasMemory); has {
	case wire.HasPrograms | wire.HasMemory:
		return &struct {
			*stream
			*programs
			*memory
		}{s, &p, &m}
	case wire.HasPrograms:
		return &struct {
			*stream
			*programs
		}{s, &p}
	case wire.HasMemory:
		return &struct {
			*stream
			*memory
		}{s, &m}
	}
	return s
}

// programs is core.Programs over the wire. Programs are numbered on this side.
type programs struct {
	s    *stream
	last atomic.Uint64
}

var _ core.Programs = (*programs)(nil)

// Define sends the whole program and waits until the backend has taken it.
func (p *programs) Define(ctx context.Context, prog *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	s := p.s
	if err := s.current(consts); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, canceled(s.b.proc.name, ctx)
	}
	if err := s.begin(); err != nil {
		return 0, err
	}
	s.flush()
	r, number := s.requests.add(nil), p.last.Add(1)
	if err := s.enc.Define(r.id, number, prog, consts); err != nil {
		s.requests.drop(r)
		s.mu.Unlock()
		return 0, err
	}
	s.flush()
	s.mu.Unlock()
	if err := s.wait(ctx, r); err != nil {
		return 0, err
	}
	return core.ProgramID(number), nil
}

// Run appends one execution.
func (p *programs) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	s := p.s
	if err := wire.FitsRun(len(inputs), len(outputs)); err != nil {
		return err
	}
	if err := s.current(inputs); err != nil {
		return err
	}
	if err := s.current(outputs); err != nil {
		return err
	}
	if id == 0 || uint64(id) > p.last.Load() {
		return fmt.Errorf("run: program %d: %w", id, core.ErrNotFound)
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.enc.Run(uint64(id), inputs, outputs)
	s.ahead.run(uint64(id), outputs)
	return s.added()
}

// Undefine gives a program up.
func (p *programs) Undefine(id core.ProgramID) error {
	s := p.s
	if id == 0 || uint64(id) > p.last.Load() {
		return fmt.Errorf("undefine: program %d: %w", id, core.ErrNotFound)
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.enc.Undefine(uint64(id))
	s.ahead.undefine(uint64(id))
	return s.added()
}

// memory is core.MemoryStats over the wire.
type memory struct {
	s    *stream
	last atomic.Pointer[core.Memory]
}

var _ core.MemoryStats = (*memory)(nil)

// memoryWait bounds Memory, which has no context.
const memoryWait = time.Second

// Memory asks the plugin. When there is no answer in time, it gives the last one.
func (m *memory) Memory() core.Memory {
	s := m.s
	if s.begin() == nil {
		r := s.requests.add(nil)
		s.push(wire.MemoryFrame(r.id))
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), memoryWait)
		defer cancel()
		select {
		case err := <-r.done:
			if err == nil {
				m.last.Store(&r.usage)
			}
		case <-ctx.Done():
			s.requests.drop(r)
		}
	}
	if u := m.last.Load(); u != nil {
		return *u
	}
	return core.Memory{}
}
