package verify

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/internal/order"
)

// defined is a program that was defined on a device.
type defined struct {
	p      *program.Program
	outs   []op.Desc
	made   order.Command // the command that defined it
	what   string        // `run "step"`, for messages
	replay *replay       // set with NotFinite if the device can copy tensors

	// Set with Audit.
	constants [][]byte
	unaudited error // reason why runs are not compared, or nil
	lower     sync.Once
	low       *program.Program // decomposed as the second device needs it
	lowErr    error
}

// programs implements core.Programs.
type programs struct {
	d     *device
	inner core.Programs
}

// Define implements core.Programs.
func (x programs) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (id core.ProgramID, err error) {
	what := fmt.Sprintf("define %q", p.Name)
	s, err := x.d.own(what, cs)
	if err != nil {
		return 0, err
	}
	made := &defined{p: p, what: fmt.Sprintf("run %q", p.Name)}
	err = s.perform(what, func(c *change) {
		made.made = c.cmd
		c.program(p)
		if c.err == nil && len(consts) != len(p.Consts) {
			c.fault(Invalid, 0, nil, fmt.Errorf("%d constants, want %d: %w", len(consts), len(p.Consts), core.ErrAttr))
		}
		for i, id := range consts {
			t := c.use(id, fmt.Sprintf("constant %d", i))
			if t != nil && i < len(p.Consts) && !t.desc.SameType(p.Consts[i]) {
				c.fault(Invalid, id, &t.made, fmt.Errorf("constant %d, %v, is %v, want %v: %w", i, id, t.desc, p.Consts[i], core.ErrShape))
			}
		}
	}, func(c *change) error {
		if id, err = x.inner.Define(ctx, s.inner, p, consts); err != nil {
			return err
		}
		made.outs = p.OutputDescs()
		if s.audit != nil {
			s.keep(made, consts)
		}
		if s.each() {
			if made.replay = s.prepare(made, consts); made.replay == nil && s.second != nil {
				s.second.compared(what, fmt.Errorf("the device cannot copy its constants or outputs: %w", core.ErrUnsupported))
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.streams.Saw(s.order.Clock) // Define has waited for the commands of s
		x.d.programs[id] = made
		return nil
	})
	return id, err
}

// program checks p without its constants.
func (x *change) program(p *program.Program) {
	if err := p.Check(); err != nil {
		x.fault(Invalid, 0, nil, err)
		return
	}
	descs := p.Descs()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = descs[id]
		}
		if err := x.s.dev.target.Supports(n, in); err != nil {
			x.fault(Invalid, 0, nil, fmt.Errorf("node %d: %w", i, err))
			return
		}
	}
}

// Run implements core.Programs.
func (x programs) Run(cs core.Stream, r core.Run) error {
	s, err := x.d.own("run", cs)
	if err != nil {
		return err
	}
	var p *defined
	return s.perform("run", func(c *change) {
		if p = x.d.programs[r.Program]; p == nil {
			c.fault(Unknown, 0, nil, fmt.Errorf("program %d, got none of that id on the device: %w", r.Program, core.ErrNotFound))
			return
		}
		c.cmd.What = p.what
		c.run(p, r)
	}, func(c *change) error {
		if s.each() && p != nil {
			return s.runEach(x.inner, c, p, r)
		}
		if s.audit != nil && p != nil && c.err == nil && len(c.faults) == 0 && s.audit.picks() {
			return s.runAudited(x.inner, c, p, r)
		}
		return x.inner.Run(s.inner, r)
	})
}

// run checks the run r of p and records its donations and outputs.
func (x *change) run(p *defined, r core.Run) {
	if len(r.Inputs) != len(p.p.Inputs) || len(r.Outputs) != len(p.outs) {
		x.fault(Invalid, 0, nil, fmt.Errorf("%d inputs and %d outputs, want %d and %d: %w", len(r.Inputs), len(r.Outputs), len(p.p.Inputs), len(p.outs), core.ErrAttr))
		return
	}
	if r.Donated != nil && len(r.Donated) != len(r.Inputs) {
		x.fault(Invalid, 0, nil, fmt.Errorf("%d donations, want one for each of %d inputs: %w", len(r.Donated), len(r.Inputs), core.ErrAttr))
		return
	}
	for i, id := range r.Inputs {
		t := x.use(id, fmt.Sprintf("input %d", i))
		if t != nil && !t.desc.SameType(p.p.Inputs[i]) {
			x.fault(Invalid, id, &t.made, fmt.Errorf("input %d, %v, is %v, want %v: %w", i, id, t.desc, p.p.Inputs[i], core.ErrShape))
		}
	}
	first := map[op.TensorID]int{}
	for i, id := range r.Inputs {
		k, twice := first[id]
		switch {
		case !twice:
			first[id] = i
		case r.Donated != nil && (r.Donated[i] || r.Donated[k]):
			x.fault(Invalid, id, nil, fmt.Errorf("input %d, %v, is donated, got it as input %d too, want it once: %w", i, id, k, core.ErrAttr))
			return
		}
	}
	for i, given := range r.Donated {
		if given {
			x.free(r.Inputs[i], "donated")
		}
	}
	for i, o := range p.outs {
		o.ID = r.Outputs[i]
		x.define(o, x.s.notFinite)
	}
}

// Undefine implements core.Programs.
func (x programs) Undefine(id core.ProgramID) error {
	d := x.d
	d.mu.Lock()
	p := d.programs[id]
	delete(d.programs, id)
	closed := d.closed
	d.mu.Unlock()
	if p == nil && !closed {
		if err := d.refuse(&Fault{Kind: Unknown, Command: "undefine", Err: fmt.Errorf("program %d, got none of that id on the device: %w", id, core.ErrNotFound)}); err != nil {
			return err
		}
	}
	err := d.answer("undefine", x.inner.Undefine(id))
	if p != nil && p.replay != nil {
		d.drop(p.replay)
	}
	if p != nil && errors.Is(err, core.ErrNotFound) && !d.passOn {
		return d.blame("undefine", 0, err, "the backend does not know program %q, which is defined", p.p.Name)
	}
	return err
}
