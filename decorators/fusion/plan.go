package fusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// plan is a structure that was seen twice, and the program that it became.
type plan struct {
	structure
	prefix []uint64 // see window
	hash   uint64   // window.key
	values uint64
	lifted []bool // sources that run by themselves before the program, with whatever attributes they have; nil: none
	name   string
	bytes  int64

	// By number. inputs are given up where donated says so.
	inputs  []int32
	donated []bool
	outputs []int32
	lift    []int32 // nodes
	free    []int32 // what lifted nodes make and nobody needs
	drawn   bool    // the program has one more input, donated: the state of the first draw

	// Of the device that has it; cache.mu guards them, and owner is not changed once it is there.
	ready  bool
	id     core.ProgramID
	owner  map[op.TensorID]int // tensors of the program that was defined, to the nodes that were written
	broken string              // why it is not run
	gone   bool                // from the cache
	runs   int64
}

// newPlan copies what a window holds.
func newPlan(w *window, lifted []bool) *plan {
	p := &plan{structure: w.clone(), prefix: append([]uint64(nil), w.prefix...), hash: w.key(), values: w.values, lifted: lifted}
	p.bytes = int64(256*len(p.nodes) + 64*len(p.types) + w.attrs + 4096)
	return p
}

// program returns the structure as a program; tensor i has the id i+1.
func (p *plan) program() *program.Program {
	id := func(local int32) op.TensorID { return op.TensorID(local) + 1 }
	q := &program.Program{Name: p.name}
	is := func(at int32) bool { return p.lifted != nil && p.lifted[at] }
	used := make([]bool, len(p.types))
	for i := range p.nodes {
		if is(int32(i)) {
			p.lift = append(p.lift, int32(i))
			continue
		}
		for _, a := range p.operands(i) {
			used[a] = true
		}
	}
	typed := func(local int32) op.Desc {
		d := p.types[local]
		d.ID = id(local)
		return d
	}
	for l, maker := range p.maker {
		local := int32(l)
		dead := p.isDead(local)
		if maker == outside || is(maker) {
			if used[l] {
				p.inputs, p.donated = append(p.inputs, local), append(p.donated, dead)
				q.Inputs = append(q.Inputs, typed(local))
			} else if dead {
				p.free = append(p.free, local)
			}
		} else if !dead {
			p.outputs = append(p.outputs, local)
			q.Outputs = append(q.Outputs, id(local))
		}
	}
	for i := range p.nodes {
		if is(int32(i)) {
			continue
		}
		n := op.Node{Op: p.nodes[i].Op, Version: p.nodes[i].Version, Attrs: p.nodes[i].Attrs}
		for _, a := range p.operands(i) {
			n.Inputs = append(n.Inputs, id(a))
		}
		for l := p.first[i]; int(l) < len(p.maker) && p.maker[l] == int32(i); l++ {
			n.Outputs = append(n.Outputs, typed(l))
		}
		q.Nodes = append(q.Nodes, n)
	}
	return q
}

// label names the program for errors and profiles.
func (p *plan) label(number int) string {
	return fmt.Sprintf("fused %d: %d nodes from %v to %v", number, len(p.nodes), p.nodes[0].Op, p.nodes[len(p.nodes)-1].Op)
}

var (
	errShort = errors.New("it is one node")
	errDead  = errors.New("no result lives on")
)

// prepare makes the program and defines it. A panic is an error. The caller holds compiling.
func (d *device) prepare(p *plan) (err error) {
	defer func() {
		if v := recover(); v != nil {
			d.cache.count(func(s *Stats) { s.Panics++ })
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	q := p.program()
	switch {
	case len(q.Nodes) < 2 && !d.always:
		return errShort
	case len(q.Outputs) == 0:
		return errDead
	}
	if err := p.allowed(d.target, q); err != nil {
		return err
	}
	if first, some := p.firstDraw(); some {
		last := op.TensorID(len(p.types))
		if err := drawn(q, first, func() op.TensorID { last++; return last }); err != nil {
			return err
		}
		p.drawn = true
	}
	if d.hooks.compile != nil {
		d.hooks.compile()
	}
	if d.hooks.donate != nil {
		d.hooks.donate(p.donated)
	}
	c, err := program.Compile(q, d.target, program.Options{Rewrite: true})
	if err != nil {
		return err
	}
	p.owner = p.owners(c.Program)
	if d.bench == nil { // use a stream of its own, because Define waits for its stream
		if d.bench, err = d.inner.OpenStream(context.Background()); err != nil {
			return err
		}
	}
	p.id, err = d.programs.Define(context.Background(), d.bench, c.Program, nil)
	return err
}

// allowed returns an error if the device does not support all nodes of the compiled program.
func (p *plan) allowed(t program.Target, q *program.Program) error {
	for i := range q.Nodes {
		in := make([]op.Desc, len(q.Nodes[i].Inputs))
		for k, id := range q.Nodes[i].Inputs {
			in[k] = p.types[id-1]
			in[k].ID = id
		}
		if err := t.Supports(&q.Nodes[i], in); err != nil {
			return err
		}
	}
	return nil
}

// owners finds, for each tensor of the defined program, the original node. Nodes that lowering and rewriting put in the place of
// a node come before its results.
func (p *plan) owners(q *program.Program) map[op.TensorID]int {
	owner := map[op.TensorID]int{}
	var open []op.TensorID
	for i := range q.Nodes {
		for _, o := range q.Nodes[i].Outputs {
			if o.ID > op.TensorID(len(p.types)) {
				open = append(open, o.ID)
				continue
			}
			at := int(p.maker[o.ID-1])
			owner[o.ID] = at
			for _, id := range open {
				owner[id] = at
			}
			open = open[:0]
		}
	}
	return owner
}

// run runs the plan of the held nodes, if the window matches one, and reports whether it did.
func (s *stream) run() bool {
	w, d := &s.w, s.dev
	if w.odd != "" {
		return false
	}
	p := d.cache.match(w, s.like)
	if p == nil || !d.compile(p) {
		return false
	}
	for _, at := range p.lift {
		if err := s.inner.Submit(w.nodes[at:at+1], nil); err != nil {
			d.cache.refuse(p, err.Error())
			s.partly(p, at)
			return true
		}
	}
	ids, in := make([]op.TensorID, 0, len(p.inputs)+1+len(p.outputs)), len(p.inputs)
	for _, local := range p.inputs {
		ids = append(ids, w.ids[local])
	}
	donated := p.donated
	var err error
	if p.drawn {
		var state op.TensorID
		state, err = s.writeState(w.begin)
		ids, donated, in = append(ids, state), append(donated[:in:in], true), in+1
	}
	for _, local := range p.outputs {
		ids = append(ids, w.ids[local])
	}
	if err == nil {
		if err = d.programs.Run(s.inner, core.Run{Program: p.id, Inputs: ids[:in:in], Donated: donated, Outputs: ids[in:]}); err != nil && p.drawn {
			s.send(nil, ids[in-1:in])
		}
	}
	if err != nil { // it was not accepted
		d.cache.refuse(p, err.Error())
		if len(p.lift) > 0 {
			s.partly(p, int32(len(w.nodes)))
			return true
		}
		return false
	}
	d.note(p, w.ids)
	d.cache.hit(p)
	if len(p.free) > 0 {
		free := make([]op.TensorID, len(p.free))
		for i, local := range p.free {
			free[i] = w.ids[local]
		}
		s.send(nil, free)
	}
	return true
}

// partly passes on the held nodes, except the lifted nodes before a place, which the stream below already has.
func (s *stream) partly(p *plan, to int32) {
	w := &s.w
	var nodes []op.Node
	for i := range w.nodes {
		if p.lifted[i] && int32(i) < to {
			continue
		}
		nodes = append(nodes, w.nodes[i])
	}
	s.send(nodes, w.frees)
}

// see records a window that passed. At the second sight of a key it starts to make a plan.
func (d *device) see(s *stream) {
	w := &s.w
	if w.odd != "" {
		d.cache.count(func(st *Stats) { st.Windows++; st.reason(w.odd, len(w.nodes)) })
		return
	}
	if p := d.cache.see(w); p != nil {
		d.compile(p)
	}
}
