package serve

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
	"github.com/goburn/burn/sdk/wire"
)

// defined is a program that the backend has accepted.
type defined struct {
	id      core.ProgramID
	program *program.Program
	outputs []op.Desc // types of the outputs
	uses
}

// uses counts the commands that use a program or a group. The call that ends the program or group may arrive before commands of streams,
// and contains their number.
type uses struct {
	count, limit uint64
	ending       bool
}

// over reports whether the program or group was ended and all its commands have arrived.
func (u *uses) over() bool { return u.ending && u.count >= u.limit }

func (t *session) define(c *wire.Command) error {
	if err := t.requests.begin(c.Request); err != nil {
		return err
	}
	err := t.accept(c)
	t.requests.end(c.Request)
	return t.fs.Send(wire.DoneFrame(c.Request, err))
}

// accept checks a program and passes it to the backend.
func (t *session) accept(c *wire.Command) error {
	p, d := c.Program, t.dev
	switch {
	case d.programs == nil:
		return fmt.Errorf("define: the backend takes no programs: %w", core.ErrUnsupported)
	case c.Unknown != "":
		return fmt.Errorf("define %q: %w", p.Name, wire.UnknownOp(c.Unknown, 0))
	case len(c.IDs) != len(p.Consts):
		return fmt.Errorf("define %q: %d constants, want %d: %w", p.Name, len(c.IDs), len(p.Consts), core.ErrAttr)
	}
	if err := t.guard("check", p.Check); err != nil {
		return err
	}
	if err := t.constants(c); err != nil {
		return err
	}
	x := &defined{program: p, outputs: p.OutputDescs()}
	err := t.guard("define", func() (err error) {
		x.id, err = d.programs.Define(t.ctx, t.be, p, c.IDs)
		return err
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	twice := d.defined[c.Number] != nil
	if !twice {
		d.defined[c.Number] = x
	}
	d.mu.Unlock()
	if twice {
		_ = t.guard("undefine", func() error { return d.programs.Undefine(x.id) })
		return fmt.Errorf("define: program %d is defined twice: %w", c.Number, core.ErrProtocol)
	}
	return nil
}

// constants checks the constants of a program.
func (t *session) constants(c *wire.Command) error {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	for i, id := range c.IDs {
		x, err := t.dev.lookup(id)
		switch {
		case err != nil:
			return fmt.Errorf("define %q: constant %d: %w", c.Program.Name, i, err)
		case x.err != nil:
			return x.err
		case !x.SameType(c.Program.Consts[i]):
			return fmt.Errorf("define %q: constant %d is %v, want %v: %w", c.Program.Name, i, x.Desc, c.Program.Consts[i], core.ErrShape)
		}
	}
	return nil
}

// run executes a program. An error poisons the outputs.
func (t *session) run(c *wire.Command) {
	d := t.dev
	d.mu.Lock()
	x := d.defined[c.Number]
	if x == nil {
		d.mu.Unlock()
		t.events.note(fmt.Errorf("run: program %d: %w", c.Number, core.ErrNotFound))
		t.donate(c) // the outputs remain unknown, because their types are unknown
		return
	}
	outs := make([]op.Desc, min(len(x.outputs), len(c.Outputs)))
	for i := range outs {
		outs[i] = x.outputs[i]
		outs[i].ID = c.Outputs[i]
	}
	run := core.Run{Program: x.id, Inputs: c.IDs, Donated: c.Donated, Outputs: c.Outputs}
	err, poisoned := t.bind(x, run, outs)
	d.mu.Unlock()
	if err == nil && poisoned == nil {
		err = t.guard("run", func() error { return d.programs.Run(t.be, run) })
	}
	switch {
	case err != nil:
		err = &core.NodeError{Program: x.program.Name, Outputs: outs, Err: err}
		t.events.note(err)
	case poisoned != nil:
		err = poisoned
	}
	d.made(outs, err)
	if err != nil {
		t.donate(c)
	} else {
		t.donated(c, func(id tensorID) { delete(d.tensors, id) })
	}
	t.used(c.Number, x)
}

// bind checks the tensors of a run. If the run is wrong, it returns err; if an input is poisoned, it returns the error of the input as
// poisoned. The caller holds the device's lock.
func (t *session) bind(x *defined, run core.Run, outs []op.Desc) (err, poisoned error) {
	p := x.program
	if err := engine.CheckRun(p, run); err != nil {
		return err, nil
	}
	for i, id := range run.Inputs {
		in, err := t.dev.lookup(id)
		switch {
		case err != nil:
			return fmt.Errorf("run %q: input %d: %w", p.Name, i, err), nil
		case in.err != nil && poisoned == nil:
			poisoned = in.err
		case !in.SameType(p.Inputs[i]):
			return fmt.Errorf("run %q: input %d is %v, want %v: %w", p.Name, i, in.Desc, p.Inputs[i], core.ErrShape), nil
		}
	}
	return t.dev.fresh(outs...), poisoned
}

// donated calls do for each donated input, while it holds the device's lock.
func (t *session) donated(c *wire.Command, do func(id tensorID)) {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	for i, id := range c.IDs {
		if i < len(c.Donated) && c.Donated[i] {
			do(id)
		}
	}
}

// donate frees the inputs that were donated to a run that failed.
func (t *session) donate(c *wire.Command) {
	var ids []tensorID
	t.donated(c, func(id tensorID) { ids = append(ids, t.dev.remove([]tensorID{id}, func(error) {})...) })
	t.release(ids)
}

// used counts a run, and releases the program after its last run.
func (t *session) used(number uint64, x *defined) {
	t.dev.mu.Lock()
	x.count++
	over := x.over()
	t.dev.mu.Unlock()
	if over {
		if err := t.dev.undefine(number, x); err != nil {
			t.events.note(err)
		}
	}
}

// Undefine releases a program once the given number of its runs has arrived.
func (s *server) Undefine(_ context.Context, handle, number, runs uint64) error {
	d, err := s.find(handle)
	if err != nil {
		return err
	}
	d.mu.Lock()
	x := d.defined[number]
	if x == nil || x.ending {
		d.mu.Unlock()
		return fmt.Errorf("undefine: program %d: %w", number, core.ErrNotFound)
	}
	x.ending, x.limit = true, runs
	over := x.over()
	d.mu.Unlock()
	if over {
		return d.undefine(number, x)
	}
	return nil
}

// undefine releases a program unless another goroutine has done it.
func (d *device) undefine(number uint64, x *defined) error {
	d.mu.Lock()
	mine := d.defined[number] == x
	if mine {
		delete(d.defined, number)
	}
	d.mu.Unlock()
	if !mine {
		return nil
	}
	return d.guard("undefine", func() error { return d.programs.Undefine(x.id) })
}
