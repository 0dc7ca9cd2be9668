package gpu

import (
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// frame is the steps of a plan with the memory that one queue runs them on, which guards it. Memory that may change from run to
// run is numbered in slots: the inputs, the outputs that runs make, the scratch memory, and the word for faults.
type frame struct {
	plan  *plan
	steps []Step
	bound []Ref
	uses  [][]slotUse // by slot
	runs  int
	graphs
}

// slotUse is a place in a step that refers to a slot.
type slotUse struct {
	step   int
	ref    *Ref
	offset int64
}

func newFrame(p *plan) *frame {
	n := len(p.inputs) + len(p.made) + 2
	f := &frame{plan: p, steps: make([]Step, len(p.steps)), bound: make([]Ref, n), uses: make([][]slotUse, n)}
	for i := range p.steps {
		st := &p.steps[i]
		place := func(a arg, r *Ref) { f.place(i, a, r) }
		switch {
		case st.copy != nil:
			c := &Copy{Bytes: st.copy.bytes}
			place(st.copy.dst, &c.Dst)
			place(st.copy.src, &c.Src)
			f.steps[i].Copy = c
		case st.fill != nil:
			x := &Fill{Bytes: st.fill.bytes, Pattern: st.fill.pattern, Width: 4}
			place(st.fill.dst, &x.Dst)
			f.steps[i].Fill = x
		default:
			l := &Launch{Function: st.fn, Grid: st.grid, Args: make([]Arg, len(st.args))}
			for k, a := range st.args {
				l.Args[k].Bits = a.bits
				if a.buffer != none {
					place(a, &l.Args[k].Ref)
				}
			}
			f.steps[i].Launch = l
		}
	}
	return f
}

// slot is the slot that a buffer is in, none for constants, and where in it the buffer begins.
func (p *plan) slot(i int) (slot int, offset int64) {
	b := &p.buffers[i]
	switch b.kind {
	case isInput:
		return b.index, 0
	case isOutput:
		return len(p.inputs) + p.block(i), 0
	case isTemp:
		return len(p.inputs) + len(p.made), b.offset
	case isWord:
		return len(p.inputs) + len(p.made) + 1, 0
	}
	return none, 0
}

// place makes r the place that a means, now and whenever its slot changes.
func (f *frame) place(step int, a arg, r *Ref) {
	slot, offset := f.plan.slot(a.buffer)
	if slot == none {
		*r = f.plan.buffers[a.buffer].block.ref()
		r.Offset += a.offset
		return
	}
	f.uses[slot] = append(f.uses[slot], slotUse{step, r, offset + a.offset})
}

// bind puts the memory of a run into the slots.
func (f *frame) bind(q *queue, in, made []*block) error {
	for i, b := range in {
		f.set(i, b.ref())
	}
	for i, b := range made {
		f.set(len(in)+i, b.ref())
	}
	n := len(in) + len(made)
	if f.plan.scratch > 0 {
		if r := q.arena.ref(); r != f.bound[n] {
			f.set(n, r)
			f.drop(q)
		}
	}
	if f.plan.faults {
		r, err := q.faults.word(q)
		if err != nil {
			return err
		}
		f.set(n+1, r)
	}
	return nil
}

func (f *frame) set(slot int, r Ref) {
	if f.bound[slot] == r {
		return
	}
	f.bound[slot] = r
	for _, u := range f.uses[slot] {
		*u.ref = Ref{r.Memory, r.Offset + u.offset}
	}
}

// run starts all steps: as a device graph where that is ready, else one by one.
func (f *frame) run(q *queue) error {
	f.runs++
	if f.plan.graphs && q.device.grapher != nil {
		if started, err := f.replay(q); started || err != nil {
			return err
		}
	}
	for i := range f.steps {
		if err := f.start(q, i); err != nil {
			return f.plan.failed(i, q.device.fault(err))
		}
		if q.device.options.Plain {
			if err := q.driver.Synchronize(); err != nil {
				return f.plan.failed(i, q.device.fault(err))
			}
		}
	}
	return nil
}

// start starts one step.
func (f *frame) start(q *queue, i int) error {
	switch s := &f.steps[i]; {
	case s.Launch != nil:
		return q.driver.Launch(s.Launch)
	case s.Call != nil:
		return s.Call.Candidate.Call(q.driver, s.Call.Args, s.Call.Workspace)
	case s.Copy != nil:
		return q.driver.Copy(s.Copy.Dst, s.Copy.Src, s.Copy.Bytes)
	case s.Fill != nil:
		return q.driver.Fill(s.Fill.Dst, s.Fill.Bytes, s.Fill.Pattern, s.Fill.Width)
	}
	return fmt.Errorf("an empty step: %w", core.ErrKernel)
}

// profile runs the steps one by one, with events that measure them, and waits for them.
func (f *frame) profile(q *queue, t *engine.Steps) error {
	events := make([]Event, 0, len(f.steps)+1)
	defer func() {
		for _, e := range events {
			e.Release()
		}
	}()
	mark := func() error {
		e, err := q.driver.Record(true)
		if err == nil {
			events = append(events, e)
		}
		return err
	}
	if err := mark(); err != nil {
		return q.device.fault(err)
	}
	began := t.Now()
	for i := range f.steps {
		err := f.start(q, i)
		if err == nil {
			err = mark()
		}
		if err != nil {
			return f.plan.failed(i, q.device.fault(err))
		}
	}
	if err := events[len(events)-1].Wait(); err != nil {
		return q.device.fault(err)
	}
	for i := range f.steps {
		took, err := events[i+1].Since(events[i])
		if err != nil {
			return q.device.fault(err)
		}
		t.Took(i, began, took, func() core.ProfileStep { return f.plan.describe(i) })
		began = began.Add(took.Round(time.Nanosecond))
	}
	return nil
}

// describe is step i for a profile. A group of several launches is described with its first one.
func (p *plan) describe(i int) core.ProfileStep {
	st := &p.steps[i]
	if i > 0 && p.steps[i-1].group == st.group {
		return core.ProfileStep{Ops: []string{st.node.Op.String()}}
	}
	return engine.FusedStep(nodes(p.graph, st.group), func(id op.TensorID) op.Desc { return p.graph.Desc(id) }, st.group.Outputs)
}
