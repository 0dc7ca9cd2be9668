package restore

import (
	"context"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// definition is a program of a device.
type definition struct {
	p    *program.Program
	id   core.ProgramID // on the running process; guarded by Backend.world
	open bool           // not yet undefined; guarded by Backend.mu
	err  error          // why the program is lost, or nil; guarded by Backend.mu
}

// programs is core.Programs of a device.
type programs struct{ d *device }

// Define implements core.Programs.
func (x programs) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (id core.ProgramID, err error) {
	d, b := x.d, x.d.b
	s, err := d.stream(cs)
	if err != nil {
		return 0, err
	}
	def := &definition{p: p, open: true}
	e := &entry{s: s, kind: defined, what: p.Name, ins: slices.Clone(consts), def: def}
	e.play = func(r *replay, on core.Stream, _ []bool) (err error) {
		def.id, err = d.ext.programs.Define(r.ctx, on, p, e.ins)
		r.defined[def] = d
		return err
	}
	err = b.again(ctx, func() string { return fmt.Sprintf("defining %q", p.Name) }, func() (core.Ticket, error) {
		if _, _, err := s.state(); err != nil {
			return nil, err
		}
		for _, id := range consts {
			if err := s.ready(id); err != nil {
				return nil, err
			}
		}
		inner, err := d.ext.programs.Define(ctx, s.inner, p, consts)
		if err != nil {
			return nil, err
		}
		def.id = inner
		b.note(func(j *journal) {
			j.add(e)
			d.last++
			id = d.last
			d.programs[id] = def
		})
		return nil, nil
	})
	return id, err
}

// definition finds a program.
func (d *device) definition(id core.ProgramID) (*definition, error) {
	d.b.mu.Lock()
	defer d.b.mu.Unlock()
	if def := d.programs[id]; def != nil {
		return def, nil
	}
	return nil, fmt.Errorf("restore: program %d: %w", id, core.ErrNotFound)
}

// Run implements core.Programs.
func (x programs) Run(cs core.Stream, r core.Run) error {
	d := x.d
	s, err := d.stream(cs)
	if err != nil {
		return err
	}
	def, err := d.definition(r.Program)
	if err != nil {
		return err
	}
	outs := def.p.OutputDescs()
	if len(r.Inputs) != len(def.p.Inputs) || len(r.Outputs) != len(outs) || r.Donated != nil && len(r.Donated) != len(r.Inputs) {
		return fmt.Errorf("restore: run %q: %d inputs, %d donations and %d outputs, want %d, as many or none, and %d: %w", def.p.Name,
			len(r.Inputs), len(r.Donated), len(r.Outputs), len(def.p.Inputs), len(outs), core.ErrAttr)
	}
	for i := range outs {
		outs[i].ID = r.Outputs[i]
	}
	e := &entry{s: s, what: def.p.Name, ins: slices.Clone(r.Inputs), outs: outs, def: def}
	outputs := slices.Clone(r.Outputs)
	var ends []tensorID
	for i, given := range r.Donated {
		if given {
			ends = append(ends, r.Inputs[i])
		}
	}
	e.play = func(_ *replay, on core.Stream, dies []bool) error {
		again := core.Run{Program: def.id, Inputs: e.ins, Outputs: outputs}
		if len(ends) > 0 { // donated inputs were restored, and nothing else needs them
			again.Donated = slices.Clone(dies)
			clear(dies)
		}
		return d.ext.programs.Run(on, again)
	}
	return s.one(e, ends, func() error {
		r.Program = def.id
		return d.ext.programs.Run(s.inner, r)
	})
}

// Undefine implements core.Programs.
func (x programs) Undefine(id core.ProgramID) error {
	d, b := x.d, x.d.b
	def, err := d.definition(id)
	if err != nil {
		return err
	}
	b.world.RLock()
	defer b.world.RUnlock()
	epoch, down, err := b.state()
	if err == nil && !down && def.err == nil {
		if err = d.ext.programs.Undefine(def.id); b.isLost(epoch, err) {
			b.lose(epoch, err)
			err = nil
		}
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	def.open = false
	delete(d.programs, id)
	return nil
}
