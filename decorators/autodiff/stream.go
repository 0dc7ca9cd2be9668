package autodiff

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// stream is one view of a tape: the recording one, or, with mute set, the one that Untracked gives.
type stream struct {
	*tape
	mute bool
}

type (
	withPrograms struct {
		*stream
		runner
	}
	withDirect struct {
		*stream
		direct
	}
	withBoth struct {
		*stream
		runner
		direct
	}
)

// newStream has the optional interfaces of the stream below that record tensors, and no others of its own.
func newStream(t *tape) core.Stream { return dress(&stream{tape: t}) }

func dress(s *stream) core.Stream {
	ps, hasPrograms := core.As[core.Programs](s.inner)
	io, hasDirect := core.As[core.DirectIO](s.inner)
	if hasPrograms && s.programs == nil {
		s.programs = map[core.ProgramID]*recorded{}
	}
	switch {
	case hasPrograms && hasDirect:
		return withBoth{s, runner{s, ps}, direct{s, io}}
	case hasPrograms:
		return withPrograms{s, runner{s, ps}}
	case hasDirect:
		return withDirect{s, direct{s, io}}
	}
	return s
}

// Unwrap gives the stream below.
func (s *stream) Unwrap() any { return s.inner }

// Untracked is the view that does not record. It shares the tape: Track and Backward work on it.
func (s *stream) Untracked() core.Stream { return dress(&stream{tape: s.tape, mute: true}) }

// Submit records the nodes that tracked tensors go through and passes all of them on.
func (s *stream) Submit(nodes []op.Node) error {
	if s.mute {
		if g, ok := core.As[core.Gradients](s.inner); ok {
			inner := s.inner
			s.inner = g.Untracked()
			defer func() { s.inner = inner }()
		}
	}
	for i := range nodes {
		if err := s.node(nodes[i], s.mute); err != nil {
			s.out = s.out[:0]
			return err
		}
	}
	return s.flush()
}

// Free gives up the host's hold on tensors; what the tape needs lives on.
func (s *stream) Free(ids []op.TensorID) error {
	for _, id := range ids {
		v := s.values[id]
		if v == nil || !v.host {
			s.dead = append(s.dead, id) // the stream below says what is wrong
			continue
		}
		s.drop(v)
	}
	return s.flush()
}

// Write makes a tensor that nothing is tracked of.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	if err := s.inner.Write(ctx, d, data); err != nil {
		return err
	}
	s.define(d)
	return nil
}

// Read reads from the stream below.
func (s *stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	return s.inner.Read(ctx, id, dst)
}

// Sync waits for the stream below.
func (s *stream) Sync(ctx context.Context) error { return s.inner.Sync(ctx) }

// Close forgets the tape and closes the stream below.
func (s *stream) Close() error {
	s.values, s.programs = map[op.TensorID]*value{}, nil
	return s.inner.Close()
}

// direct remembers tensors that were adopted.
type direct struct {
	s  *stream
	io core.DirectIO
}

// Adopt makes a tensor that nothing is tracked of.
func (d direct) Adopt(ctx context.Context, desc op.Desc, data []byte, release func()) error {
	if err := d.io.Adopt(ctx, desc, data, release); err != nil {
		return err
	}
	d.s.define(desc)
	return nil
}

// View looks at a tensor of the stream below.
func (d direct) View(ctx context.Context, id op.TensorID, use func([]byte) error) error {
	return d.io.View(ctx, id, use)
}

// recorded is a program that was defined, with constants that the tape can give to its nodes.
type recorded struct {
	p      *program.Program
	consts []*value
	outs   []op.Desc
}

// runner runs programs: below as they are, or, where an input is tracked, node by node.
type runner struct {
	s  *stream
	ps core.Programs
}

// Define defines the program below and keeps its constants.
func (r runner) Define(ctx context.Context, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	lowered, err := core.LowerProgram(r.s.below, p)
	if err != nil {
		return 0, err
	}
	id, err := r.ps.Define(ctx, lowered, consts)
	if err != nil {
		return id, err
	}
	rec := &recorded{p: p, outs: p.OutputDescs()}
	for _, c := range consts {
		v := r.s.values[c]
		if v == nil {
			return id, fmt.Errorf("autodiff: program %q: constant %v: %w", p.Name, c, core.ErrUnknownTensor)
		}
		r.s.hold(v)
		rec.consts = append(rec.consts, v)
	}
	r.s.programs[id] = rec
	return id, nil
}

// Run runs the program below, or its nodes one by one where something is tracked.
func (r runner) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	rec := r.s.programs[id]
	if rec == nil || len(inputs) != len(rec.p.Inputs) || len(outputs) != len(rec.outs) {
		return r.ps.Run(id, inputs, outputs)
	}
	tracked := false
	for _, in := range inputs {
		if v := r.s.values[in]; v != nil && v.tracked {
			tracked = true
		}
	}
	for _, c := range rec.consts {
		tracked = tracked || c.tracked
	}
	if tracked && !r.s.mute {
		return r.replay(rec, inputs, outputs)
	}
	if err := r.ps.Run(id, inputs, outputs); err != nil {
		return err
	}
	for i, d := range rec.outs {
		d.ID = outputs[i]
		r.s.define(d)
	}
	return nil
}

// replay records the nodes of a program under fresh ids. Outputs are copies, as they may be inputs or given twice.
func (r runner) replay(rec *recorded, inputs, outputs []op.TensorID) error {
	at := map[op.TensorID]op.TensorID{}
	for i, d := range rec.p.Inputs {
		at[d.ID] = inputs[i]
	}
	for i, d := range rec.p.Consts {
		at[d.ID] = rec.consts[i].desc.ID
	}
	var made []op.TensorID
	nodes := make([]op.Node, 0, len(rec.p.Nodes)+len(outputs))
	for _, n := range rec.p.Nodes {
		n.Drop = 0
		n.Inputs = append([]op.TensorID(nil), n.Inputs...)
		n.Outputs = append([]op.Desc(nil), n.Outputs...)
		for k, in := range n.Inputs {
			n.Inputs[k] = at[in]
		}
		for k, o := range n.Outputs {
			id := r.s.next()
			at[o.ID], n.Outputs[k].ID = id, id
			made = append(made, id)
		}
		nodes = append(nodes, n)
	}
	for i, id := range rec.p.Outputs {
		d := rec.outs[i]
		d.ID = at[id]
		c, err := op.New(op.Copy, []op.Desc{d})
		if err != nil {
			return err
		}
		c.Outputs[0].ID = outputs[i]
		nodes = append(nodes, c)
	}
	if err := r.s.Submit(nodes); err != nil {
		return err
	}
	return r.s.Free(made)
}

// Undefine gives the program and its constants up.
func (r runner) Undefine(id core.ProgramID) error {
	if rec := r.s.programs[id]; rec != nil {
		delete(r.s.programs, id)
		for _, c := range rec.consts {
			r.s.unhold(c)
			r.s.settle(c)
		}
	}
	if err := r.s.flush(); err != nil {
		return err
	}
	return r.ps.Undefine(id)
}
