package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// programs is core.Programs of a device.
type programs[V any] struct{ d *device[V] }

// defined is a program of a device. It is reference-counted: the table and every accepted run are holders.
type defined[V any] struct {
	plan    Plan[V]
	program *program.Program
	outputs []op.Desc
	refs    atomic.Int32
}

func (p *defined[V]) drop() {
	if p.refs.Add(-1) == 0 {
		p.plan.Close()
	}
}

// stream returns s as a stream of the device.
func (d *device[V]) stream(s core.Stream) (*stream[V], error) {
	own, ok := s.(*stream[V])
	if !ok || own.dev != d {
		return nil, fmt.Errorf("%s: a stream of another device: %w", d.backend.name(), core.ErrAttr)
	}
	return own, nil
}

// inOrder calls do on the queue of s after all earlier commands, and waits for it.
func (s *stream[V]) inOrder(ctx context.Context, do func() error) error {
	if ctx.Err() != nil {
		return s.dev.backend.canceled(ctx)
	}
	var err error
	var done latch
	var began atomic.Bool // set by the queue, or by a caller whose context has ended
	run := func() {
		if began.CompareAndSwap(false, true) {
			err = do()
		}
		done.open()
	}
	if err := s.do(command{kind: doCall, on: &call{do: run}}); err != nil {
		return err
	}
	if done.isOpen.Load() {
		return err
	}
	s.help(ctx, &done)
	var left error
	select {
	case <-done.opened():
		return err
	case <-ctx.Done():
		left = s.dev.backend.canceled(ctx)
	case <-s.quit:
		left = s.closedError()
	}
	if began.CompareAndSwap(false, true) {
		return left
	}
	<-done.opened()
	return err
}

// Define implements core.Programs.
func (x programs[V]) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	d := x.d
	s, err := d.stream(cs)
	if err != nil {
		return 0, err
	}
	fault := func(err error) error { return fmt.Errorf("%s: define %q: %w", d.backend.name(), p.Name, err) }
	if err := p.Check(); err != nil {
		return 0, fault(err)
	}
	if len(consts) != len(p.Consts) {
		return 0, fault(fmt.Errorf("%d constants, want %d: %w", len(consts), len(p.Consts), core.ErrAttr))
	}
	if err := d.use(); err != nil {
		return 0, err
	}
	defer d.using.Done()
	made := &defined[V]{program: p, outputs: p.OutputDescs()}
	made.refs.Store(1)
	err = s.inOrder(ctx, func() (err error) {
		if err := s.flush(); err != nil { // a constant may have failed
			return err
		}
		consts, release, err := d.constants(p, consts)
		defer release()
		if err == nil {
			err = guard(func() (err error) { made.plan, err = d.plan(ctx, s.queue, p, consts); return err })
		}
		if err == nil { // runs on other streams are not ordered after the work that Plan started
			if err = s.flush(); err != nil {
				made.plan.Close()
			}
		}
		return err
	})
	if err != nil {
		return 0, fault(err)
	}
	d.mu.Lock()
	closed, id := d.closed, d.lastID+1
	if !closed {
		d.lastID, d.programs[id] = id, made
	}
	d.mu.Unlock()
	if closed {
		made.drop() // a plan may release constants, which takes the lock
		return 0, d.closedError()
	}
	return id, nil
}

// constants returns the values of a program's constants. The values are kept until release is called.
func (d *device[V]) constants(p *program.Program, ids []op.TensorID) (consts []Const[V], release func(), err error) {
	var held []*cell[V]
	release = func() {
		for _, c := range held {
			d.drop(c)
		}
	}
	for i, id := range ids {
		c, err := d.hold(id)
		if err != nil {
			return nil, release, fmt.Errorf("constant %d, %v: %w", i, id, err)
		}
		held = append(held, c)
		if !c.desc.SameType(p.Consts[i]) {
			return nil, release, fmt.Errorf("constant %d is %v, want %v: %w", i, c.desc, p.Consts[i], core.ErrShape)
		}
		consts = append(consts, Const[V]{Value: c.value, Desc: c.desc, Retain: func() func() {
			d.retain(c)
			return func() { d.drop(c) }
		}})
	}
	return consts, release, nil
}

// plan compiles a program with the author's Planner, or for replay node by node.
func (d *device[V]) plan(ctx context.Context, q Queue[V], p *program.Program, consts []Const[V]) (Plan[V], error) {
	if planner, ok := d.author.(Planner[V]); ok {
		if plan, err := planner.Plan(ctx, q, p, consts); !errors.Is(err, core.ErrUnsupported) {
			return plan, err
		}
	}
	return newReplay(d, p, consts)
}

// Run implements core.Programs.
func (x programs[V]) Run(cs core.Stream, r core.Run) error {
	d := x.d
	s, err := d.stream(cs)
	if err != nil {
		return err
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return d.closedError()
	}
	d.using.Add(1)
	defer d.using.Done()
	p := d.programs[r.Program]
	if p != nil {
		p.refs.Add(1)
	}
	d.mu.Unlock()
	if p == nil {
		return fmt.Errorf("%s: run program %d: %w", d.backend.name(), r.Program, core.ErrNotFound)
	}
	if err := CheckRun(p.program, r); err != nil {
		p.drop()
		return fmt.Errorf("%s: %w", d.backend.name(), err)
	}
	if err := s.lockOpen(); err != nil {
		p.drop()
		return err
	}
	q := s.pend
	c := command{kind: doRun, on: p, from: len(q.ids), mask: -1}
	q.ids = append(q.ids, r.Inputs...)
	c.mid = len(q.ids)
	q.ids = append(q.ids, r.Outputs...)
	c.to = len(q.ids)
	if r.Donated != nil {
		c.mask = len(q.masks)
		q.masks = append(q.masks, r.Donated...)
	}
	q.add(c)
	s.unlock()
	return nil
}

// CheckRun returns an error if a run of p is malformed: if the number of ids or donations is wrong, or if a donated id occurs twice among
// the inputs. It does not check the types of the tensors.
func CheckRun(p *program.Program, r core.Run) error {
	if len(r.Inputs) != len(p.Inputs) || len(r.Outputs) != len(p.Outputs) {
		return fmt.Errorf("run %q: %d inputs and %d outputs, want %d and %d: %w", p.Name, len(r.Inputs), len(r.Outputs),
			len(p.Inputs), len(p.Outputs), core.ErrAttr)
	}
	if r.Donated == nil {
		return nil
	}
	if len(r.Donated) != len(r.Inputs) {
		return fmt.Errorf("run %q: %d donations for %d inputs: %w", p.Name, len(r.Donated), len(r.Inputs), core.ErrAttr)
	}
	if i, k := donatedTwice(r); i >= 0 {
		return fmt.Errorf("run %q: input %d, %v, is donated and is input %d too: %w", p.Name, i, r.Inputs[i], k, core.ErrAttr)
	}
	return nil
}

// donatedTwice returns the indices of two inputs with the same id, at least one of them donated; -1 if no such inputs exist.
func donatedTwice(r core.Run) (i, earlier int) {
	if len(r.Inputs) <= 16 { // faster than a map
		for i, id := range r.Inputs {
			for k, other := range r.Inputs[:i] {
				if id == other && (r.Donated[i] || r.Donated[k]) {
					return i, k
				}
			}
		}
		return -1, -1
	}
	type place struct {
		at      int
		donated bool
	}
	last := make(map[op.TensorID]place, len(r.Inputs))
	for i, id := range r.Inputs {
		p, twice := last[id]
		if twice && (r.Donated[i] || p.donated) {
			return i, p.at
		}
		last[id] = place{i, r.Donated[i]}
	}
	return -1, -1
}

// executeRun binds inputs, runs the plan and defines the outputs. An error poisons all of them.
func (s *stream[V]) executeRun(p *defined[V], inputs []op.TensorID, donated []bool, outputs []op.TensorID) {
	defer p.drop()
	s.enter()
	err, fresh := s.gather(inputs)
	owned := s.owned[:0]
	for i, given := range donated {
		if given {
			s.unname(i)
		}
	}
	for i, c := range s.cells {
		owned = append(owned, donated != nil && donated[i] && c != nil && c.refs == 1)
	}
	s.leave()
	in := s.call.In[:0]
	for i, c := range s.cells {
		if err != nil {
			break
		}
		if !c.desc.SameType(p.program.Inputs[i]) {
			err, fresh = fmt.Errorf("input %d is %v, want %v: %w", i, c.desc, p.program.Inputs[i], core.ErrShape), true
		}
		in = append(in, c.value)
	}
	s.call.In, s.owned = in, owned
	s.call.Out = resize(s.call.Out, len(outputs))
	out := s.call.Out
	clear(out)
	s.ownedBefore = append(s.ownedBefore[:0], owned...)
	before := s.ownedBefore
	watch := s.watch()
	if err == nil {
		watch.start()
		if err = guard(func() error { return p.run(s.queue, in, owned, out, watch) }); err != nil {
			fresh = true
		}
		watch.stop()
	}
	if fresh {
		err = p.blame(err, outputs)
		s.fail(err)
	}
	var late *fault
	if s.async != nil && err == nil {
		late = s.started("", p.program.Name, p.described(outputs))
	}
	for i, sole := range before {
		if sole {
			s.endCell(i, owned[i])
		}
	}
	s.enter()
	s.unholdCells()
	for i, id := range outputs {
		o := p.outputs[i]
		o.ID = id
		s.give(&o, out[i], err, late)
	}
	s.leave()
	if watch != nil && err == nil {
		watch.settle(s.flush)
		watch.run(p, p.program)
	}
	clear(out)
	clear(in)
	clear(s.cells)
}

// described returns the descriptions of a run's outputs, with the given ids.
func (p *defined[V]) described(ids []op.TensorID) []op.Desc {
	outs := make([]op.Desc, len(ids))
	for i, id := range ids {
		outs[i] = p.outputs[i]
		outs[i].ID = id
	}
	return outs
}

// blame returns the error of a run. It names the node that failed if the plan says which, else the program.
func (p *defined[V]) blame(err error, outputs []op.TensorID) error {
	var n *core.NodeError
	if errors.As(err, &n) {
		if n.Program == "" {
			m := *n
			m.Program = p.program.Name
			return &m
		}
		return err
	}
	return &core.NodeError{Program: p.program.Name, Outputs: p.described(outputs), Err: err}
}

// Undefine implements core.Programs.
func (x programs[V]) Undefine(id core.ProgramID) error {
	d := x.d
	if err := d.use(); err != nil {
		return err
	}
	defer d.using.Done()
	d.mu.Lock()
	p := d.programs[id]
	delete(d.programs, id)
	d.mu.Unlock()
	if p == nil {
		return fmt.Errorf("%s: undefine program %d: %w", d.backend.name(), id, core.ErrNotFound)
	}
	p.drop()
	return nil
}
