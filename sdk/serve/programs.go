package serve

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/wire"
)

// defined is a program that the backend has taken.
type defined struct {
	id      core.ProgramID
	program *program.Program
	outputs []op.Desc // types of the outputs
}

func (t *session) define(c *wire.Command) error {
	if _, err := t.waits.begin(t.ctx, c.Request); err != nil {
		return err
	}
	t.waits.end()
	return t.fs.Send(wire.DoneFrame(c.Request, t.accept(c)))
}

// accept checks a program and hands it to the backend.
func (t *session) accept(c *wire.Command) error {
	p := c.Program
	switch {
	case t.definer == nil:
		return fmt.Errorf("define: the backend takes no programs: %w", core.ErrUnsupported)
	case t.programs[c.Number] != nil:
		return fmt.Errorf("define: program %d is defined twice: %w", c.Number, core.ErrProtocol)
	case c.Unknown != "":
		return fmt.Errorf("define %q: %w", p.Name, wire.UnknownOp(c.Unknown, 0))
	case len(c.IDs) != len(p.Consts):
		return fmt.Errorf("define %q: %d constants, want %d: %w", p.Name, len(c.IDs), len(p.Consts), core.ErrShape)
	}
	if err := t.guard("check", p.Check); err != nil {
		return err
	}
	for i, id := range c.IDs {
		x, err := t.lookup(id)
		switch {
		case err != nil:
			return fmt.Errorf("define %q: constant %d: %w", p.Name, i, err)
		case x.err != nil:
			return x.err
		case !x.SameType(p.Consts[i]):
			return fmt.Errorf("define %q: constant %d is %v, want %v: %w", p.Name, i, x.Desc, p.Consts[i], core.ErrShape)
		}
	}
	d := &defined{program: p, outputs: outputTypes(p)}
	err := t.guard("define", func() (err error) {
		d.id, err = t.definer.Define(t.ctx, p, c.IDs)
		return err
	})
	if err == nil {
		t.programs[c.Number] = d
	}
	return err
}

func outputTypes(p *program.Program) []op.Desc {
	types := map[tensorID]op.Desc{}
	for _, l := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range l {
			types[d.ID] = d
		}
	}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			types[d.ID] = d
		}
	}
	out := make([]op.Desc, len(p.Outputs))
	for i, id := range p.Outputs {
		out[i] = types[id]
	}
	return out
}

// run executes a program. What is wrong with it poisons the outputs.
func (t *session) run(c *wire.Command) {
	d := t.programs[c.Number]
	if d == nil {
		t.note(fmt.Errorf("run: program %d: %w", c.Number, core.ErrNotFound))
		return // the outputs stay unknown: their types are
	}
	outs := make([]op.Desc, len(d.outputs))
	for i, o := range d.outputs {
		if i < len(c.Outputs) {
			o.ID = c.Outputs[i]
		}
		outs[i] = o
	}
	err, poisoned := t.bind(c, d, outs)
	if err == nil && poisoned == nil {
		err = t.guard("run", func() error { return t.definer.Run(d.id, c.IDs, c.Outputs) })
	}
	switch {
	case err != nil:
		err = &core.NodeError{Op: d.program.Name, Outputs: outs, Err: err}
		t.note(err)
		t.poison(outs, err)
	case poisoned != nil:
		t.poison(outs, poisoned)
	default:
		for _, o := range outs {
			t.tensors[o.ID] = tensor{Desc: o}
		}
	}
}

// bind checks the tensors of a run.
func (t *session) bind(c *wire.Command, d *defined, outs []op.Desc) (err, poisoned error) {
	p := d.program
	if len(c.IDs) != len(p.Inputs) || len(c.Outputs) != len(p.Outputs) {
		return fmt.Errorf("run %q: %d inputs and %d outputs, want %d and %d: %w",
			p.Name, len(c.IDs), len(c.Outputs), len(p.Inputs), len(p.Outputs), core.ErrShape), nil
	}
	for i, id := range c.IDs {
		x, err := t.lookup(id)
		switch {
		case err != nil:
			return fmt.Errorf("run %q: input %d: %w", p.Name, i, err), nil
		case x.err != nil && poisoned == nil:
			poisoned = x.err
		case !x.SameType(p.Inputs[i]):
			return fmt.Errorf("run %q: input %d is %v, want %v: %w", p.Name, i, x.Desc, p.Inputs[i], core.ErrShape), nil
		}
	}
	seen := map[tensorID]bool{}
	for _, o := range outs {
		if err := t.fresh(o); err != nil {
			return fmt.Errorf("run %q: %w", p.Name, err), nil
		}
		if seen[o.ID] {
			return fmt.Errorf("run %q: %v is defined twice: %w", p.Name, o.ID, core.ErrProtocol), nil
		}
		seen[o.ID] = true
	}
	return nil, poisoned
}

func (t *session) undefine(number uint64) {
	d := t.programs[number]
	if d == nil {
		t.note(fmt.Errorf("undefine: program %d: %w", number, core.ErrNotFound))
		return
	}
	delete(t.programs, number)
	if err := t.guard("undefine", func() error { return t.definer.Undefine(d.id) }); err != nil {
		t.note(fmt.Errorf("undefine: %w", err))
	}
}
