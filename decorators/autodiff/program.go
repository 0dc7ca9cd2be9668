package autodiff

import (
	"context"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// recorded is a defined program, with the constants that its nodes read when the tape runs them one by one.
type recorded struct {
	*program.Compiled // with the original nodes: the program below may contain decomposed ones
	consts            []*value
}

// programs implements core.Programs. A program runs unchanged below or, if an input is tracked, node by node.
type programs struct {
	t     *tape
	inner core.Programs
}

// Define defines the program below and keeps its constants.
func (x programs) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	t := x.t
	s, err := t.own("define", cs)
	if err != nil {
		return 0, err
	}
	below, err := program.Compile(p, t.target, program.Options{})
	if err != nil {
		return 0, err
	}
	given, err := program.Compile(p, program.Target{}, program.Options{})
	if err != nil {
		return 0, err
	}
	rec := &recorded{Compiled: given}
	t.mu.Lock()
	for _, c := range consts {
		v, ferr := t.find(c)
		if ferr == nil && v == nil {
			ferr = fmt.Errorf("%v: %w", c, core.ErrUnknownTensor)
		}
		if ferr != nil {
			err = fmt.Errorf("autodiff: define %q: constant %w", p.Name, ferr)
			break
		}
		rec.consts = append(rec.consts, t.hold(v))
	}
	t.mu.Unlock()
	var id core.ProgramID
	if err == nil {
		s.queue.mu.Lock()
		id, err = x.inner.Define(ctx, s.inner, below.Program, consts)
		s.queue.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.abandon(rec)
		return 0, err
	}
	t.programs[id] = rec
	return id, nil
}

// abandon releases the constants of a program. It frees them on any open stream, after the runs that used them.
func (t *tape) abandon(rec *recorded) {
	for _, c := range rec.consts {
		t.unhold(c)
		t.settle(c)
	}
	for _, list := range t.open {
		for _, q := range list {
			_ = (&stream{tape: t, queue: q, inner: q.inner}).flush() // if it fails, a later command frees them or reports why it cannot
			return
		}
	}
}

// Run runs the program below, or its nodes one by one if an input is tracked.
func (x programs) Run(cs core.Stream, r core.Run) error {
	t := x.t
	s, err := t.own("run", cs)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	rec := t.programs[r.Program]
	if rec == nil || len(r.Inputs) != len(rec.Program.Inputs) || len(r.Outputs) != len(rec.Outputs) || r.Donated != nil && len(r.Donated) != len(r.Inputs) {
		return x.pass(s, r) // the device below returns the error
	}
	tracked := false
	in := make([]*value, len(r.Inputs))
	for i, id := range r.Inputs {
		if in[i], err = t.find(id); err != nil {
			return fmt.Errorf("autodiff: run %q: input %d, %w", rec.Program.Name, i, err)
		}
		tracked = tracked || in[i] != nil && in[i].tracked
	}
	for _, c := range rec.consts {
		tracked = tracked || c.tracked
	}
	if tracked && !s.mute {
		return s.replay(rec, r)
	}
	donated := slices.Clone(r.Donated)
	for i, d := range donated {
		donated[i] = d && (in[i] == nil || s.freeByHost(in[i]))
	}
	r.Donated = donated
	if err := s.settled(x.pass(s, r)); err != nil {
		return err
	}
	for i, d := range rec.Outputs {
		d.ID = r.Outputs[i]
		t.note(d)
	}
	return nil
}

func (x programs) pass(s *stream, r core.Run) error {
	s.order()
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return x.inner.Run(s.inner, r)
}

// replay records the nodes of a program under fresh ids.
func (s *stream) replay(rec *recorded, r core.Run) error {
	consts := make([]op.TensorID, len(rec.consts))
	for i, c := range rec.consts {
		consts[i] = c.desc.ID
		s.used(c)
	}
	nodes, free, err := rec.Instantiate(r.Inputs, r.Donated, consts, r.Outputs, s.next)
	if err != nil {
		return err
	}
	for i := range nodes {
		if err = s.node(&nodes[i], false); err != nil {
			return s.settled(err)
		}
	}
	if err = s.giveUp(free); err == nil {
		err = s.submit(s.out, s.gone)
	}
	return s.settled(err)
}

// Undefine releases the program and its constants.
func (x programs) Undefine(id core.ProgramID) error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if rec := x.t.programs[id]; rec != nil {
		delete(x.t.programs, id)
		x.t.abandon(rec)
	}
	return x.inner.Undefine(id)
}
