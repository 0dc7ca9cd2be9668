package fusion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/window"
)

// plan is the structure of a window that was seen twice, and its program.
type plan struct {
	window.Structure
	prefix []uint64 // see window.Window
	hash   uint64   // window.Window.Key
	values uint64
	lifted []bool // sources that run separately before the program, with any attributes; nil: none
	name   string
	bytes  int64

	program *window.Program // nil until prepare

	// State on the device. cache.mu guards these fields; owner is immutable once it is set.
	ready  bool
	id     core.ProgramID
	owner  map[op.TensorID]int // the original node of each tensor of the defined program
	broken string              // why it may not be run
	gone   bool                // it was evicted from the cache
	runs   int64
	stalls int64 // times that its beginning was passed on because the stream was idle
}

// newPlan copies what a window holds.
func newPlan(w *window.Window, lifted []bool) *plan {
	p := &plan{Structure: w.Clone(), prefix: slices.Clone(w.Prefix), hash: w.Key(), values: w.Values, lifted: lifted}
	p.bytes = int64(256*len(p.Nodes) + 64*len(p.Types) + w.AttrBytes + 4096)
	return p
}

// label names the program for errors and profiles.
func (p *plan) label(number int) string {
	return fmt.Sprintf("fused %d: %d nodes from %v to %v", number, len(p.Nodes), p.Nodes[0].Op, p.Nodes[len(p.Nodes)-1].Op)
}

var (
	errShort = errors.New("it is one node")
	errDead  = errors.New("no result lives on")
)

// prepare creates the program and defines it. It returns a panic as an error. The caller holds compiling.
func (d *device) prepare(p *plan) (err error) {
	defer func() {
		if v := recover(); v != nil {
			d.cache.count(func(s *Stats) { s.Panics++ })
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	p.program = p.Program(p.name, p.lifted)
	q := p.program.Program
	switch {
	case len(q.Nodes) < 2 && !d.always:
		return errShort
	case len(q.Outputs) == 0:
		return errDead
	}
	if err := p.allowed(d.target, q); err != nil {
		return err
	}
	if err := p.program.MoveDraws(&p.Structure); err != nil {
		return err
	}
	if d.hooks.compile != nil {
		d.hooks.compile()
	}
	if d.hooks.donate != nil {
		d.hooks.donate(p.program.Donated)
	}
	c, err := program.Compile(q, d.target, program.Options{Rewrite: true})
	if err != nil {
		return err
	}
	p.owner = p.Owners(c.Program)
	if d.definer == nil { // use a separate stream, because Define waits for its stream
		if d.definer, err = d.inner.OpenStream(context.Background()); err != nil {
			return err
		}
	}
	p.id, err = d.programs.Define(context.Background(), d.definer, c.Program, nil)
	return err
}

// allowed returns an error if the device does not support all nodes of program q, before q is compiled.
func (p *plan) allowed(t program.Target, q *program.Program) error {
	for i := range q.Nodes {
		in := make([]op.Desc, len(q.Nodes[i].Inputs))
		for k, id := range q.Nodes[i].Inputs {
			in[k] = p.Types[id-1]
			in[k].ID = id
		}
		if err := t.Supports(&q.Nodes[i], in); err != nil {
			return err
		}
	}
	return nil
}

// run runs the plan of the held nodes, if the window matches one, and reports whether it did.
func (s *stream) run() bool {
	w, d := &s.w, s.dev
	if w.Invalid != "" {
		return false
	}
	p := d.cache.match(&w.Window, s.like)
	if p == nil || !d.compile(p) {
		return false
	}
	for _, at := range p.program.Apart {
		if err := s.inner.Submit(w.Nodes[at:at+1], nil); err != nil {
			d.cache.refuse(p, err.Error())
			s.passUnlifted(p, at)
			return true
		}
	}
	ids, in := make([]op.TensorID, 0, len(p.program.Inputs)+1+len(p.program.Outputs)), len(p.program.Inputs)
	for _, local := range p.program.Inputs {
		ids = append(ids, w.IDs[local])
	}
	donated := p.program.Donated
	var err error
	if p.program.Drawn {
		var state op.TensorID
		state, err = s.writeState(w.Begin)
		ids, donated, in = append(ids, state), append(donated[:in:in], true), in+1
	}
	for _, local := range p.program.Outputs {
		ids = append(ids, w.IDs[local])
	}
	if err == nil {
		if err = d.programs.Run(s.inner, core.Run{Program: p.id, Inputs: ids[:in:in], Donated: donated, Outputs: ids[in:]}); err != nil && p.program.Drawn {
			s.send(nil, ids[in-1:in])
		}
	}
	if err != nil { // the run was refused
		d.cache.refuse(p, err.Error())
		if len(p.program.Apart) > 0 {
			s.passUnlifted(p, int32(len(w.Nodes)))
			return true
		}
		return false
	}
	d.note(p, w.IDs)
	d.cache.hit(p)
	if len(p.program.Free) > 0 {
		free := make([]op.TensorID, len(p.program.Free))
		for i, local := range p.program.Free {
			free[i] = w.IDs[local]
		}
		s.send(nil, free)
	}
	return true
}

// passUnlifted passes on the held nodes, except the lifted nodes before node to, which the stream below already has.
func (s *stream) passUnlifted(p *plan, to int32) {
	w := &s.w
	var nodes []op.Node
	for i := range w.Nodes {
		if p.lifted[i] && int32(i) < to {
			continue
		}
		nodes = append(nodes, w.Nodes[i])
	}
	s.send(nodes, w.frees)
}

// see records a window that was passed on. At the second occurrence of a key it starts to prepare a plan.
func (d *device) see(s *stream) {
	w := &s.w
	if w.Invalid != "" {
		d.cache.count(func(st *Stats) { st.Windows++; st.reason(w.Invalid, len(w.Nodes)) })
		return
	}
	if p := d.cache.see(&w.Window); p != nil {
		d.compile(p)
	}
}

// writeState creates the operand that contains the state of the first draw of a run, and returns its id.
func (s *stream) writeState(first window.State) (op.TensorID, error) {
	d := window.StateDesc(s.dev.inner.NewIDs(1))
	return d.ID, s.inner.Write(context.Background(), d, dtype.Bytes(first.Elements()))
}
