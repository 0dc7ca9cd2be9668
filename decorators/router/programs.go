package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/place"
)

// programs is core.Programs: parts of a program run on the members that they are placed on.
type programs struct{ d *device }

// defined is a program of the router.
type defined struct {
	*program.Compiled
	consts []*tensor
	// layout is guarded by the device's mu.
	layout  *layout
	placing bool // anew
	runs    int64
	dead    bool // given up
}

// layout is one way to run a program.
type layout struct {
	plan  *Plan
	units []priced         // with times that are known, else nil
	parts []*place.Part    // none: node by node
	outs  []op.TensorID    // of the program, where parts are several: local ids, all different
	ids   []core.ProgramID // of the parts, on their members

	members []*member

	mu    sync.Mutex
	users int // runs that a member was not given yet, and the program itself
}

// hold keeps the parts defined until leave is called.
func (x *layout) hold() {
	x.mu.Lock()
	x.users++
	x.mu.Unlock()
}

func (x *layout) leave() error {
	x.mu.Lock()
	x.users--
	last := x.users == 0
	x.mu.Unlock()
	var err error
	if last {
		for i, id := range x.ids {
			err = errors.Join(err, ignoreLost(x.members[x.parts[i].Member].programs.Undefine(id)))
		}
	}
	return err
}

// needs reports whether a part is on a member that is lost.
func (x *layout) needsLost() bool {
	return slices.ContainsFunc(x.parts, func(p *place.Part) bool { return x.members[p.Member].gone() != nil })
}

// Define implements core.Programs. It places the program and defines its parts.
func (x programs) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	d := x.d
	s, err := d.own("define", cs)
	if err != nil {
		return 0, err
	}
	if len(consts) != len(p.Consts) {
		return 0, fmt.Errorf("router: define %q: %d constants, want %d: %w", p.Name, len(consts), len(p.Consts), core.ErrAttr)
	}
	c, err := program.Compile(p, core.TargetOf("router", d), program.Options{})
	if err != nil {
		return 0, err
	}
	def := &defined{Compiled: c}
	d.mu.Lock()
	for i, id := range consts {
		t := d.tensors[id]
		switch {
		case t == nil:
			err = fmt.Errorf("router: define %q: constant %d, %v: %w", p.Name, i, id, core.ErrUnknownTensor)
		case !t.desc.SameType(p.Consts[i]):
			err = fmt.Errorf("router: define %q: constant %d is %v, want %v: %w", p.Name, i, t.desc, p.Consts[i], core.ErrShape)
		}
		if err != nil {
			break
		}
		t.held++
		def.consts = append(def.consts, t)
	}
	d.mu.Unlock()
	if err == nil {
		def.layout, err = s.layOut(ctx, def)
	}
	if err != nil {
		return 0, errors.Join(err, d.unhold(def))
	}
	d.mu.Lock()
	d.lastID++
	id := d.lastID
	d.programs[id] = def
	d.mu.Unlock()
	return id, nil
}

// layOut places a program and defines its parts behind the commands of s.
func (s *stream) layOut(ctx context.Context, def *defined) (*layout, error) {
	d := s.dev
	x := &layout{users: 1, members: d.members}
	for _, m := range d.members {
		if m.programs == nil && m.gone() == nil {
			x.plan = &Plan{Program: def.Program.Name}
			return x, nil
		}
	}
	q, plan, units, assigned, prices, err := d.place(ctx, def.Compiled)
	if err != nil {
		return nil, err
	}
	x.plan, x.outs, x.units = plan, q.Outputs, prices
	x.parts = place.Parts(q, units, assigned)
	if whole := onOne(assigned, d.live(0).index); whole >= 0 { // the member gets the host's program unchanged
		x.parts = []*place.Part{place.Whole(def.Program, whole)}
		for i := range units {
			x.parts[0].Units = append(x.parts[0].Units, i)
		}
	}
	for _, p := range x.parts {
		id, err := s.definePart(ctx, p, def.consts)
		if err != nil {
			return nil, errors.Join(err, x.leave())
		}
		x.ids = append(x.ids, id)
	}
	return x, nil
}

// onOne returns the member that all units are on, -1 where they are on several; none where there are no units.
func onOne(assigned []int, none int) int {
	for _, m := range assigned {
		if m != assigned[0] {
			return -1
		}
	}
	if len(assigned) == 0 {
		return none
	}
	return assigned[0]
}

// definePart defines a part on its member.
func (s *stream) definePart(ctx context.Context, p *place.Part, consts []*tensor) (core.ProgramID, error) {
	m := s.dev.members[p.Member]
	ids := make([]op.TensorID, len(p.Consts))
	err := s.command(func(*change) error {
		for i, k := range p.Consts {
			ids[i] = s.bring(consts[k], m)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	l := s.lane(m)
	if err := l.settle(ctx); err != nil {
		return 0, err
	}
	if err := m.bad(ids...); err != nil {
		return 0, err
	}
	id, err := m.programs.Define(ctx, l.inner, p.Program, ids)
	return id, s.dev.translate(m, m.note(err))
}

// Run implements core.Programs.
func (x programs) Run(cs core.Stream, r core.Run) error {
	d := x.d
	s, err := d.own("run", cs)
	if err != nil {
		return err
	}
	return s.command(func(c *change) error {
		def := d.programs[r.Program]
		if def == nil {
			return fmt.Errorf("router: run: program %d: %w", r.Program, core.ErrNotFound)
		}
		if err := def.check(r); err != nil {
			return err
		}
		if def.layout.needsLost() {
			d.anew(def)
			return s.replay(c, def, r)
		}
		def.runs++
		if len(def.layout.parts) == 0 {
			return s.replay(c, def, r)
		}
		for _, id := range r.Inputs {
			if d.tensors[id] == nil {
				return s.replay(c, def, r) // which says, node by node, what is wrong
			}
		}
		s.run(c, def, r)
		return nil
	})
}

// check returns an error for an invalid run.
func (def *defined) check(r core.Run) error {
	p := def.Program
	switch {
	case len(r.Inputs) != len(p.Inputs) || len(r.Outputs) != len(p.Outputs):
		return fmt.Errorf("router: run %q: %d inputs and %d outputs, want %d and %d: %w", p.Name, len(r.Inputs), len(r.Outputs), len(p.Inputs), len(p.Outputs), core.ErrAttr)
	case r.Donated != nil && len(r.Donated) != len(r.Inputs):
		return fmt.Errorf("router: run %q: donation of %d inputs, want %d: %w", p.Name, len(r.Donated), len(r.Inputs), core.ErrAttr)
	}
	for i := range r.Donated {
		if r.Donated[i] && (slices.Contains(r.Inputs[:i], r.Inputs[i]) || slices.Contains(r.Inputs[i+1:], r.Inputs[i])) {
			return fmt.Errorf("router: run %q: donated input %d, %v, is bound twice: %w", p.Name, i, r.Inputs[i], core.ErrAttr)
		}
	}
	return nil
}

// replay runs a program node by node.
func (s *stream) replay(c *change, def *defined, r core.Run) error {
	d := s.dev
	consts := make([]op.TensorID, len(def.consts))
	var hidden []*tensor
	for i, t := range def.consts {
		consts[i] = t.desc.ID
		if t.freed { // the host has freed it, and the program has not
			d.tensors[consts[i]] = t
			hidden = append(hidden, t)
		}
	}
	nodes, free, err := def.Instantiate(r.Inputs, r.Donated, consts, r.Outputs, func() op.TensorID { return d.NewIDs(1) })
	if err != nil {
		return err
	}
	for i := range nodes {
		s.node(c, &nodes[i])
	}
	for _, id := range free {
		s.release(c, id)
	}
	for _, t := range hidden {
		delete(d.tensors, t.desc.ID)
	}
	return nil
}

// run plans the parts of a program.
func (s *stream) run(c *change, def *defined, r core.Run) {
	d, x := s.dev, def.layout
	timed := d.router.split && d.router.planted == nil && x.units != nil && def.sampled()
	env := map[op.TensorID]*tensor{}
	given := map[op.TensorID]bool{} // up, at the last part that reads it
	for i, in := range def.Program.Inputs {
		env[in.ID] = d.tensors[r.Inputs[i]]
		given[in.ID] = r.Donated != nil && r.Donated[i]
	}
	for k, p := range x.parts {
		m := d.members[p.Member]
		run := core.Run{Program: x.ids[k], Inputs: make([]op.TensorID, len(p.In)), Outputs: make([]op.TensorID, len(p.Out))}
		run.Donated = make([]bool, len(p.In))
		for i, id := range p.In {
			run.Inputs[i] = s.bring(env[id], m)
		}
		var gone []op.TensorID
		for i, id := range p.In {
			t := env[id]
			if !given[id] || lastUse(x.parts, id) != k {
				continue
			}
			given[id] = false
			if held := t.held > 0; d.remove(c, t) && !held {
				s.free(t, t.on(m))
				run.Donated[i] = true
				gone = append(gone, run.Inputs[i])
			}
		}
		descs := p.Program.OutputDescs()
		for i, id := range p.Out {
			o := descs[i]
			if len(x.parts) == 1 {
				o.ID = r.Outputs[i]
			} else if at := slices.Index(x.outs, id); at >= 0 {
				o.ID = r.Outputs[at]
			} else {
				o.ID = d.NewIDs(1)
				given[id] = true
			}
			run.Outputs[i] = d.define(c, o, m.index, m)
			env[id] = d.tensors[o.ID]
			descs[i].ID = run.Outputs[i]
		}
		l := s.lane(m)
		x.hold()
		var before *gate
		if timed {
			s.do(func() { before = l.mark() })
		}
		s.do(func() {
			l.produce(run.Inputs, gone, descs, func() error {
				l.m.runs.Add(1)
				return l.m.programs.Run(l.inner, run)
			}, func() { _ = x.leave() }) // a member that does not undefine has told the program's runs of its fault
			if timed {
				after := l.mark()
				d.mu.Lock()
				d.spawn(func() { d.observe(def, x, k, before, after) })
				d.mu.Unlock()
			}
		})
	}
	for id, still := range given {
		if still {
			s.release(c, env[id].desc.ID)
		}
	}
}

// lastUse returns the last part that reads id.
func lastUse(parts []*place.Part, id op.TensorID) int {
	for k := len(parts) - 1; k >= 0; k-- {
		if slices.Contains(parts[k].In, id) {
			return k
		}
	}
	return -1
}

// Undefine implements core.Programs.
func (x programs) Undefine(id core.ProgramID) error {
	d := x.d
	d.mu.Lock()
	def := d.programs[id]
	delete(d.programs, id)
	closed := d.closed
	var last *layout
	if def != nil {
		def.dead, last = true, def.layout
	}
	d.mu.Unlock()
	switch {
	case closed:
		return fmt.Errorf("router: device: %w", core.ErrClosed)
	case def == nil:
		return fmt.Errorf("router: undefine: program %d: %w", id, core.ErrNotFound)
	}
	return errors.Join(last.leave(), d.unhold(def))
}

// unhold releases the constants of a program. Those that the host has freed are freed.
func (d *device) unhold(def *defined) error {
	var free []*tensor
	d.mu.Lock()
	for _, t := range def.consts {
		t.held--
		if t.held == 0 && t.freed {
			delete(d.kept, t.desc.ID)
			free = append(free, t)
		}
	}
	d.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	return d.apart(func(s *stream) error {
		err := s.command(func(*change) error {
			for _, t := range free {
				s.free(t, nil)
			}
			return nil
		})
		return errors.Join(err, ignoreLost(core.Sync(context.Background(), s))) // so that the memory is there when Undefine returns
	})
}

// apart calls do with a stream of the router's own, one call at a time.
func (d *device) apart(do func(s *stream) error) error {
	d.owning.Lock()
	defer d.owning.Unlock()
	if d.spare == nil {
		s, err := d.OpenStream(context.Background())
		if err != nil {
			return err
		}
		d.spare = s.(*stream)
	}
	return do(d.spare)
}

// anew places a program again without the members that are lost. The caller holds mu; the work is done by another
// goroutine, and runs go node by node until it is done.
func (d *device) anew(def *defined) {
	if def.placing {
		return
	}
	def.placing = true
	d.spawn(func() {
		var x *layout
		s, err := d.OpenStream(context.Background())
		if err == nil {
			x, err = s.(*stream).layOut(s.(*stream).lanes[0].ctx, def)
			err = errors.Join(err, s.Close())
		}
		d.mu.Lock()
		old := def.layout
		switch {
		case err != nil:
			old = nil // runs go on node by node
		case def.dead || d.closed:
			old = x
		default:
			def.layout, def.placing = x, false
		}
		d.mu.Unlock()
		if old != nil {
			_ = old.leave() // its members that are there
		}
	})
}
