package cpu

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// Define implements core.Programs.
func (s *stream) Define(ctx context.Context, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	if err := p.Check(); err != nil {
		return 0, fmt.Errorf("cpu: define %q: %w", p.Name, err)
	}
	if len(consts) != len(p.Consts) {
		return 0, fmt.Errorf("cpu: define %q: %d constants, want %d: %w", p.Name, len(consts), len(p.Consts), core.ErrAttr)
	}
	if err := s.arrive(ctx); err != nil {
		return 0, err
	}
	defer s.exec.Unlock()
	arrays := make([]kernel.Array, len(consts))
	for i, id := range consts {
		t := s.live[id]
		switch {
		case t == nil:
			return 0, fmt.Errorf("cpu: define %q: constant %d, %v: %w", p.Name, i, id, s.missing(id))
		case t.err != nil:
			return 0, t.err
		case t.DType != p.Consts[i].DType || !t.View.Shape.Equal(p.Consts[i].Shape):
			return 0, fmt.Errorf("cpu: define %q: constant %d is %v%v, want %v: %w", p.Name, i, t.DType, t.View.Shape, p.Consts[i], core.ErrShape)
		}
		arrays[i] = t.Array
	}
	pl, err := s.build(ctx, p, arrays)
	if err != nil {
		return 0, fmt.Errorf("cpu: define %q: %w", p.Name, err)
	}
	s.next++
	s.programs[s.next] = pl
	return s.next, nil
}

// Run implements core.Programs.
func (s *stream) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	return s.push(func(q *queue) {
		from := len(q.ids)
		q.ids = append(append(q.ids, inputs...), outputs...)
		q.commands = append(q.commands, command{kind: doRun, id: uint64(id), from: from, to: from + len(inputs), end: len(q.ids)})
	})
}

// Undefine implements core.Programs.
func (s *stream) Undefine(id core.ProgramID) error {
	return s.push(func(q *queue) { q.commands = append(q.commands, command{kind: doUndefine, id: uint64(id)}) })
}

func (s *stream) undefine(id core.ProgramID) {
	pl := s.programs[id]
	if pl == nil {
		s.fail(fmt.Errorf("cpu: undefine program %d: %w", id, core.ErrNotFound))
		return
	}
	delete(s.programs, id)
	pl.free()
}

// executeRun binds inputs, runs the plan and defines the outputs; with an error, all of them carry it.
func (s *stream) executeRun(id core.ProgramID, inputs, outputs []op.TensorID) {
	err, fresh := s.run(id, inputs, outputs)
	if err == nil {
		return
	}
	if fresh {
		s.fail(err)
	}
	for _, o := range outputs {
		s.define(o, kernel.Array{}, err)
	}
}

// run reports an error, and whether it began here and not in an input.
func (s *stream) run(id core.ProgramID, inputs, outputs []op.TensorID) (err error, fresh bool) {
	pl := s.programs[id]
	if pl == nil {
		return fmt.Errorf("cpu: run program %d: %w", id, core.ErrNotFound), true
	}
	if len(inputs) != len(pl.inputs) || len(outputs) != len(pl.outputs) {
		return fmt.Errorf("cpu: run %q: %d inputs and %d outputs, want %d and %d: %w", pl.name, len(inputs), len(outputs),
			len(pl.inputs), len(pl.outputs), core.ErrAttr), true
	}
	frame := pl.frame
	for i, in := range inputs {
		t := s.live[in]
		d := &pl.inputs[i]
		switch {
		case t == nil:
			return fmt.Errorf("cpu: run %q: input %d, %v: %w", pl.name, i, in, s.missing(in)), true
		case t.err != nil:
			return t.err, false
		case t.DType != d.DType || !t.View.Shape.Equal(d.Shape):
			return fmt.Errorf("cpu: run %q: input %d is %v%v, want %v: %w", pl.name, i, t.DType, t.View.Shape, *d, core.ErrShape), true
		}
		frame[i] = t.Array
	}
	err = s.runSteps(pl)
	clear(frame[:len(inputs)])
	if err != nil {
		return err, true
	}
	for i, slot := range pl.outputs {
		a := pl.results[i]
		pl.results[i] = kernel.Array{}
		_ = slot
		s.define(outputs[i], a, nil)
	}
	return nil, false
}
