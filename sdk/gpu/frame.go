package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// frame holds the steps of a plan with the memory that one queue runs them on. The queue's lock guards it. Memory that may change
// from run to run is numbered in slots: the inputs, the outputs that runs allocate, the scratch memory, the word for faults, and
// the frame's own memory.
type frame struct {
	plan  *plan
	steps []Step
	from  []int // by step: the index of the plan's step to which the step belongs
	memory
	bound   []Ref
	uses    [][]slotUse // by slot
	touched [][]touch   // by step
	choice  []int       // by step of the plan: the index of a call's candidate; one past the last means generated kernels
	changed []int       // calls whose operands changed
	runs    int
	graphs
}

// slotUse is a place in a step that refers to a slot.
type slotUse struct {
	step   int
	ref    *Ref
	offset int64
}

func newFrame(p *plan) *frame {
	f := &frame{plan: p, choice: make([]int, len(p.steps))}
	_ = f.make(nil) // no call has failed yet, so there are no fallbacks
	return f
}

// make rebuilds the steps of the frame with the chosen candidates.
func (f *frame) make(q *queue) error {
	p := f.plan
	n := p.scratchSlot() + 3
	f.steps, f.from, f.changed, f.patched, f.touched = nil, nil, nil, nil, nil
	f.bound, f.uses, f.need = make([]Ref, n), make([][]slotUse, n), f.stagedBytes
	for i := range p.steps {
		st := &p.steps[i]
		switch {
		case st.call == nil:
			f.add(i, st, p.locate)
		case f.choice[i] < len(st.call.candidates):
			f.addCall(i, st)
		default:
			if err := f.addFallback(i, st.call.fallback); err != nil {
				return p.failed(i, err)
			}
		}
	}
	f.fit(q)
	return nil
}

// addFallback adds the steps of the fallback of a call. The temporaries of these steps are in the frame's own memory, because the plan's
// temporaries may be in use when a call fails.
func (f *frame) addFallback(i int, s *fallback) error {
	own, err := s.get()
	if err != nil {
		return err
	}
	base := f.stagedBytes
	f.need = max(f.need, base+own.scratch)
	for k := range own.steps {
		f.add(i, &own.steps[k], func(a arg) location {
			switch b := &own.buffers[a.buffer]; b.kind {
			case isInput:
				return f.plan.locate(arg{buffer: s.in[b.index].buffer, offset: a.offset})
			case isOutput:
				return f.plan.locate(arg{buffer: s.out.buffer, offset: s.at + a.offset})
			}
			at := own.locate(a)
			if at.slot == own.scratchSlot() {
				return location{f.plan.scratchSlot() + 2, base + at.offset, at.ref, none, at.left}
			}
			return location{f.plan.scratchSlot() + 1, at.offset, at.ref, none, at.left}
		})
	}
	return nil
}

// location is the place of an argument: in a slot, or, if slot is none, at ref. buffer is the buffer of the frame's plan, none for the
// frame's own memory.
type location struct {
	slot   int
	offset int64
	ref    Ref
	buffer int
	left   int64 // bytes from the place to the end of the buffer
}

// add adds a step. locate returns the places of its arguments.
func (f *frame) add(from int, st *step, locate func(a arg) location) {
	i := len(f.steps)
	f.touched = append(f.touched, nil)
	put := func(a arg, r *Ref, writes bool) (left int64) {
		at := locate(a)
		if at.slot == none {
			*r = at.ref
			return at.left
		}
		f.uses[at.slot] = append(f.uses[at.slot], slotUse{i, r, at.offset})
		if at.slot != f.plan.scratchSlot()+1 { // all writers write the same value
			f.touched[i] = append(f.touched[i], touch{at.buffer, writes})
		}
		return at.left
	}
	s := Step{}
	switch {
	case st.copy != nil:
		s.Copy = &Copy{Bytes: st.copy.bytes}
		put(st.copy.dst, &s.Copy.Dst, true)
		put(st.copy.src, &s.Copy.Src, false)
	case st.call != nil:
		s.Call = &Call{Args: make([]Ref, len(st.call.args))}
		for k, a := range st.call.args {
			put(a, &s.Call.Args[k], k == st.call.result)
		}
		if st.call.workspace.buffer != none {
			put(st.call.workspace, &s.Call.Workspace, true)
		}
		f.changed = append(f.changed, i)
	default:
		s.Launch = &Launch{Function: st.fn, Grid: st.grid, Args: make([]Arg, len(st.args)), Starts: st.starts}
		params := st.fn.Kernel().Arguments()
		for k, a := range st.args {
			s.Launch.Args[k].Bits = a.bits
			if a.buffer != none {
				s.Launch.Args[k].Bytes = put(a, &s.Launch.Args[k].Ref, params[k].Access != ir.Read)
			}
		}
	}
	f.steps, f.from = append(f.steps, s), append(f.from, from)
}

// scratchSlot returns the slot of the scratch memory. The slots of the fault word and of the frame's own memory follow it.
func (p *plan) scratchSlot() int { return len(p.inputs) + len(p.made) }

// locate returns the place of an argument: a slot, or, for a constant, a place that does not change.
func (p *plan) locate(a arg) location {
	b := &p.buffers[a.buffer]
	left := b.bytes - a.offset
	switch b.kind {
	case isInput:
		return location{slot: b.index, offset: a.offset, buffer: a.buffer, left: left}
	case isOutput:
		return location{slot: len(p.inputs) + p.block(a.buffer), offset: a.offset, buffer: a.buffer, left: left}
	case isTemp:
		return location{slot: p.scratchSlot(), offset: b.offset + a.offset, buffer: a.buffer, left: left}
	case isWord:
		return location{slot: p.scratchSlot() + 1, offset: a.offset, buffer: a.buffer, left: left}
	}
	r := b.block.ref()
	r.Offset += a.offset
	return location{slot: none, ref: r, buffer: a.buffer, left: left}
}

// bind puts the memory of a run into the slots, and chooses candidates for library calls. It returns false if the scratch memory is too
// small or the frame needs memory of its own and has none.
func (f *frame) bind(q *queue, in, made []*block, word Ref) (bool, error) {
	for {
		if f.stage {
			f.stageOperands(q)
		}
		if f.plan.scratch > 0 && (q.arena == nil || q.arena.size < f.plan.scratch) || f.need > 0 && f.own == nil {
			return false, nil
		}
		for i, b := range in {
			f.set(i, b.ref())
		}
		for i, b := range made {
			f.set(len(in)+i, b.ref())
		}
		n := f.plan.scratchSlot()
		if f.plan.scratch > 0 && f.bound[n] != q.arena.ref() {
			f.set(n, q.arena.ref())
			f.drop(q)
		}
		if f.plan.faults {
			f.set(n+1, word)
		}
		if f.own != nil {
			f.set(n+2, f.own.ref())
		}
		if f.chosen(q) {
			return true, nil
		}
		if err := f.make(q); err != nil {
			return false, err
		}
	}
}

// chosen reports whether all calls have candidates that accept their operands; otherwise the steps have to be rebuilt.
func (f *frame) chosen(q *queue) bool {
	calls := f.changed
	f.changed = f.changed[:0]
	for _, i := range calls {
		if !f.ready(q, i) {
			f.choice[f.from[i]] = len(f.plan.steps[f.from[i]].call.candidates)
			f.drop(q)
			return false
		}
	}
	return true
}

func (f *frame) set(slot int, r Ref) {
	if f.bound[slot] == r {
		return
	}
	f.bound[slot] = r
	for _, u := range f.uses[slot] {
		*u.ref = Ref{r.Memory, r.Offset + u.offset}
		if f.steps[u.step].Call != nil {
			f.changed = append(f.changed, u.step)
		}
	}
}

// errAgain says that a library call failed: the steps from there on have to be bound again.
var errAgain = errors.New("a call failed")

// run starts the steps, beginning with plan step from: as a device graph if that is ready, else one by one. After errAgain the caller
// continues with the step that run returns.
func (f *frame) run(q *queue, from int) (at int, err error) {
	if from == 0 && f.plan.graphs && q.device.grapher != nil {
		if started, err := f.replay(q); started || err != nil {
			return 0, err
		}
	}
	started := int64(0)
	defer func() { q.device.count(func(s *Stats) { s.Steps += started }) }()
	for i := range f.steps {
		if f.from[i] < from {
			continue
		}
		started++
		err := f.start(q, i)
		if err != nil && f.steps[i].Call != nil && !errors.Is(err, core.ErrBackendLost) {
			f.failedCall(q, i)
			return f.from[i], errAgain
		}
		if err == nil && q.device.options.Plain {
			err = q.driver.Synchronize()
		}
		if err != nil {
			return 0, f.plan.failed(f.from[i], q.device.fault(err))
		}
	}
	return 0, nil
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
	began := t.Now() // no later than the first event, so that no step ends after the host saw it end
	if err := mark(); err != nil {
		return q.device.fault(err)
	}
	for i := range f.steps {
		err := f.start(q, i)
		if err == nil {
			err = mark()
		}
		if err != nil {
			return f.plan.failed(f.from[i], q.device.fault(err))
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
		t.Took(i, began, took, func() core.ProfileStep { return f.describe(i) })
		began = began.Add(took.Round(time.Nanosecond))
	}
	return nil
}

// describe returns the description of step i for a profile. A group of several steps is described at its first step.
func (f *frame) describe(i int) core.ProfileStep {
	st := &f.plan.steps[f.from[i]]
	if i > 0 && f.plan.steps[f.from[i-1]].group == st.group {
		return core.ProfileStep{Ops: []string{st.node.Op.String()}}
	}
	g := f.plan.graph
	return engine.FusedStep(nodes(g, st.group), func(id op.TensorID) op.Desc { return g.Desc(id) }, st.group.Outputs)
}

// close releases the resources of the frame.
func (f *frame) close(q *queue) {
	f.drop(q)
	f.release(q)
}
