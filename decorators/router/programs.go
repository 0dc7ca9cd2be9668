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
	"github.com/goburn/burn/decorators/internal/lane"
)

// programs implements core.Programs: parts of a program run on the members that they are placed on.
type programs struct{ d *device }

// defined is a program of the router.
type defined struct {
	*program.Compiled
	consts []*tensor
	// What follows is guarded by the device's mu.
	placing *placing  // nil: node by node
	layouts []*layout // by placement, nil where it was not tried
	layout  *layout   // layout of the next run
	making  bool      // another goroutine is defining a layout
	runs    int64
	dead    bool // undefined
}

// layout is one way to run a program.
type layout struct {
	plan  *Plan
	way   int
	units []priced         // units with known times, else nil
	parts []*place.Part    // nil: the program runs node by node
	outs  []op.TensorID    // outputs of the program, if there are several parts: distinct local ids
	ids   []core.ProgramID // programs of the parts on their members

	members []*member

	mu    sync.Mutex
	users int // number of runs that were not passed to a member yet, plus one for the program itself
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
			err = errors.Join(err, lane.IgnoreLost(x.members[x.parts[i].Member].programs.Undefine(id)))
		}
	}
	return err
}

// needsLost reports whether a part is on a lost member.
func (x *layout) needsLost() bool {
	return slices.ContainsFunc(x.parts, func(p *place.Part) bool { return x.members[p.Member].Gone() != nil })
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
		err = s.layOut(ctx, def)
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

// layOut places a program and defines the parts of its first placement, after the commands of s.
func (s *stream) layOut(ctx context.Context, def *defined) error {
	d := s.dev
	for _, m := range d.members {
		if m.programs == nil && m.Gone() == nil {
			def.layout = &layout{users: 1, members: d.members, plan: &Plan{Program: def.Program.Name}}
			return nil
		}
	}
	x, err := d.place(ctx, def.Compiled)
	if err != nil {
		return err
	}
	way := 0
	if x.trial != nil {
		d.mu.Lock()
		way = x.trial.Next()
		d.mu.Unlock()
	}
	l, err := s.define(ctx, def, x, way)
	if err != nil {
		return err
	}
	def.placing, def.layout, def.layouts = x, l, make([]*layout, len(x.ways))
	def.layouts[way] = l
	return nil
}

// define defines the parts of one placement.
func (s *stream) define(ctx context.Context, def *defined, x *placing, way int) (*layout, error) {
	d, assigned := s.dev, x.ways[way]
	l := &layout{users: 1, members: d.members, way: way, plan: d.plan(x, way), outs: x.program.Outputs, units: x.prices(way)}
	l.parts = place.Divide(def.Program, x.program, x.units, assigned, d.live(0).index)
	for _, p := range l.parts {
		id, err := s.definePart(ctx, p, def.consts)
		if err != nil {
			return nil, errors.Join(err, l.leave())
		}
		l.ids = append(l.ids, id)
	}
	return l, nil
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
	if err := l.Settle(ctx); err != nil {
		return 0, err
	}
	if err := m.Missing(ids...); err != nil {
		return 0, err
	}
	id, err := m.programs.Define(ctx, l.Stream, p.Program, ids)
	return id, s.dev.translate(m, m.Note(err))
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
		if err := def.Program.CheckRun(r.Inputs, r.Donated, len(r.Outputs)); err != nil {
			return fmt.Errorf("router: %w", err)
		}
		d.nextLayout(def)
		if def.layout.needsLost() {
			d.placeAgain(def)
			return s.replay(c, def, r)
		}
		def.runs++
		if len(def.layout.parts) == 0 {
			return s.replay(c, def, r)
		}
		for _, id := range r.Inputs {
			if d.tensors[id] == nil {
				return s.replay(c, def, r) // reports the error, node by node
			}
		}
		s.run(c, def, r)
		return nil
	})
}

// replay runs a program node by node.
func (s *stream) replay(c *change, def *defined, r core.Run) error {
	d := s.dev
	consts := make([]op.TensorID, len(def.consts))
	var hidden []*tensor
	for i, t := range def.consts {
		consts[i] = t.desc.ID
		if t.freed { // freed by the host, but held by the program
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
	after := d.try(s, def)
	env := map[op.TensorID]*tensor{}
	given := map[op.TensorID]bool{} // tensors that may be freed by the last part that reads them
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
			if !given[id] || place.LastUse(x.parts, id) != k {
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
		var t *lane.Span
		if timed {
			s.do(func() { t = lane.Begin(l) })
		}
		s.do(func() {
			l.Produce(run.Inputs, gone, descs, func() error {
				m.runs.Add(1)
				return m.programs.Run(l.Stream, run)
			}, func() { _ = x.leave() }) // if a member fails to undefine a part, the runs have already reported its fault
			if timed {
				t.End(l)
				d.mu.Lock()
				d.spawn(func() { d.observePart(def, x, k, t) })
				d.mu.Unlock()
			}
		})
	}
	after()
	for id, still := range given {
		if still {
			s.release(c, env[id].desc.ID)
		}
	}
}

// Undefine implements core.Programs.
func (x programs) Undefine(id core.ProgramID) error {
	d := x.d
	d.mu.Lock()
	def := d.programs[id]
	delete(d.programs, id)
	closed := d.closed
	var last []*layout
	if def != nil {
		def.dead, last = true, def.all()
	}
	d.mu.Unlock()
	switch {
	case closed:
		return fmt.Errorf("router: device: %w", core.ErrClosed)
	case def == nil:
		return fmt.Errorf("router: undefine: program %d: %w", id, core.ErrNotFound)
	}
	return errors.Join(leaveAll(last), d.unhold(def))
}

// unhold releases the constants of a program. Constants that the host has freed are freed now.
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
	return d.onInternal(func(s *stream) error {
		err := s.command(func(*change) error {
			for _, t := range free {
				s.free(t, nil)
			}
			return nil
		})
		return errors.Join(err, lane.IgnoreLost(core.Sync(context.Background(), s))) // so that the memory is free when Undefine returns
	})
}

// onInternal calls do with the internal stream of the router, one call at a time.
func (d *device) onInternal(do func(s *stream) error) error {
	d.owning.Lock()
	defer d.owning.Unlock()
	if d.ownStream == nil {
		s, err := d.OpenStream(context.Background())
		if err != nil {
			return err
		}
		d.ownStream = s.(*stream)
	}
	return do(d.ownStream)
}
