package onnx

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/op"
)

// How tracing makes the steps of a plan, or follows those that are there, and how a session forgets plans.

// follow gives the step at the place that tracing has come to: the one that is there, as tracing is deterministic, or
// want, once build has completed it.
func (t *tracer) follow(want *step, build func() error) *step {
	if st := t.now.plan.at(t.at); st != nil {
		if st.kind != want.kind || !slices.Equal(st.out, want.out) || st.slot != want.slot || !slices.Equal(st.release, want.release) {
			t.throw(fmt.Errorf("internal: tracing took another way than before"))
		}
		return st
	}
	want.loose = t.at.from != nil && t.at.from.loose || !t.s.room(t.now.plan)
	if build != nil {
		if err := build(); err != nil {
			t.throw(err)
		}
	}
	if want.loose {
		t.now.loose = append(t.now.loose, want)
	} else {
		t.now.plan.put(t.at, want)
		t.s.stats.Steps++
	}
	return want
}

// keep puts a constant on the device for as long as st needs it.
func (t *tracer) keep(d *data, st *step) {
	t.device(d)
	if st.loose {
		d.lent = true
	} else {
		d.kept = true
	}
}

// advance executes a step, unless the run has come here before tracing began, and goes on behind it.
func (t *tracer) advance(st *step) answer {
	var a answer
	reads := st.kind != stepRun
	switch {
	case t.done > 0:
		t.done--
		if reads {
			a = t.now.answers[t.seen]
		}
	default:
		var err error
		if a, err = t.s.execute(t.ctx, t.now, st); err != nil {
			t.throw(err)
		}
	}
	if reads {
		t.seen++
	}
	t.at = link{st, a.key()}
	return a
}

// read is the content of live data in a slot.
func (t *tracer) read(d *data) []byte {
	return t.advance(t.follow(&step{kind: stepRead, slot: d.slot}, nil)).content
}

// hostOp computes outputs with a Go function where the contract has no op, such as one whose result's shape depends on
// data. f gets in order what in is; it must depend on nothing else, as it is called again by later runs, and must not use
// the tracer. With constant operands it is called once, and the results are constant. Without any operand, it is called
// by every run.
func (t *tracer) hostOp(in []value, f func(in []hostTensor) ([]hostTensor, error)) []value {
	constant := len(in) > 0
	for _, v := range in {
		constant = constant && (!v.present() || v.isTensor() && v.data.constant)
	}
	if !constant {
		return t.everyRun(in, f)
	}
	args := make([]hostTensor, len(in))
	for i, v := range in {
		if v.present() {
			args[i] = hostTensor{v.dtype(), v.shape(), t.content(v.data)}
		}
	}
	results, err := f(args)
	if err != nil {
		t.throw(err)
	}
	out := make([]value, len(results))
	for i, h := range results {
		t.fits(op.Desc{DType: h.DType, Shape: h.Shape})
		out[i] = t.constant(h.DType, h.Shape, h.Data)
	}
	return out
}

// everyRun is hostOp for functions that give something new each time, such as random numbers: f is called by every run,
// whatever its operands are.
func (t *tracer) everyRun(in []value, f func(in []hostTensor) ([]hostTensor, error)) []value {
	var wanted []*data
	pending := false
	for i, v := range in {
		if !v.present() {
			continue
		}
		if !v.isTensor() {
			t.fail("operand %d is %v, want a tensor", i, v.kind)
		}
		if d := v.data; !d.constant && d.host == nil {
			wanted = append(wanted, d)
			pending = pending || d.slot < 0
		}
	}
	if pending {
		t.end(wanted...)
	}
	want := &step{kind: stepHost, host: f, out: []int{len(t.slots)}, args: make([]hostArg, len(in))}
	for i, v := range in {
		if !v.present() {
			continue
		}
		a := hostArg{desc: v.data.desc(), slot: v.data.slot}
		if v.data.constant || v.data.host != nil {
			a.data = t.content(v.data)
		}
		want.args[i] = a
	}
	a := t.advance(t.follow(want, nil))
	out := make([]value, len(a.types))
	for i, desc := range a.types {
		t.fits(desc)
		d := t.newData(desc.DType, desc.Shape)
		t.place(d)
		out[i] = tensorOf(d)
	}
	t.hold(out...)
	return out
}

// finish ends the trace: the outputs of the graph get slots, or are constants.
func (t *tracer) finish(outs []value) *step {
	var live []*data
	for _, v := range outs {
		v.leaves(func(d *data) {
			if !d.constant && !d.bound {
				live = append(live, d)
			}
		})
	}
	t.end(live...)
	st := &step{kind: stepFinish}
	return t.follow(st, func() error {
		handed := map[int]bool{}
		for _, v := range outs {
			st.outputs = append(st.outputs, t.output(st, v, handed))
		}
		return nil
	})
}

func (t *tracer) output(st *step, v value, handed map[int]bool) output {
	if v.isTensor() {
		d := v.data
		if d.constant || d.bound {
			t.keep(d, st)
			return output{kind: TensorKind, elem: d.dtype, constant: d}
		}
		again := d.slot < t.inputs || handed[d.slot]
		handed[d.slot] = true
		return output{kind: TensorKind, elem: d.dtype, slot: d.slot, copy: again}
	}
	if v.list == nil {
		t.fail("an output has no value")
	}
	o := output{kind: v.kind, elem: v.list.elem}
	for _, e := range v.list.items {
		o.items = append(o.items, t.output(st, e, handed))
	}
	return o
}

// settle releases the constants of the trace that no step refers to.
func (t *tracer) settle() {
	for _, d := range t.made {
		switch {
		case d.shared:
		case d.kept:
			t.now.plan.owned = append(t.now.plan.owned, d.dev)
		case d.lent:
			t.now.lent = append(t.now.lent, d.dev)
		default:
			d.dev.Release()
			d.dev = nil
		}
	}
	t.made = nil
}

// planOf is the plan for a signature, a new one if there is none.
func (s *Session) planOf(signature string) *plan {
	s.tick++
	p := s.plans[signature]
	if p == nil {
		p = &plan{signature: signature}
		s.plans[signature] = p
		for len(s.plans) > s.options.MaxSpecialisations {
			s.forgetOldest(p)
		}
	}
	p.used = s.tick
	return p
}

// room reports whether p may get another step, after forgetting other plans if need be.
func (s *Session) room(p *plan) bool {
	for s.stats.Steps >= s.options.MaxSteps && s.forgetOldest(p) {
	}
	return s.stats.Steps < s.options.MaxSteps
}

// forgetOldest drops the plan that was not used for longest, but not p.
func (s *Session) forgetOldest(p *plan) bool {
	var oldest *plan
	for _, q := range s.plans {
		if q != p && (oldest == nil || q.used < oldest.used) {
			oldest = q
		}
	}
	if oldest == nil {
		return false
	}
	delete(s.plans, oldest.signature)
	s.drop(oldest)
	return true
}

// drop gives up what the steps of p refer to.
func (s *Session) drop(p *plan) {
	var walk func(st *step)
	walk = func(st *step) {
		for st != nil { // plans are deep where they do not branch
			s.dropProgram(st.program)
			s.stats.Steps--
			var only *step
			for _, n := range st.next {
				if only != nil {
					walk(n)
				} else {
					only = n
				}
			}
			st = only
		}
	}
	walk(p.root)
	for _, t := range p.owned {
		t.Release()
	}
	p.root, p.owned = nil, nil
}

func (s *Session) dropProgram(c *compiled) {
	if c == nil {
		return
	}
	if c.uses--; c.uses == 0 {
		delete(s.programs, c.key)
		_ = c.exec.Close() // fails only when the stream is lost, which every later call reports
	}
}

// leave gives up what belonged to one run alone.
func (s *Session) leave(r *run) {
	for _, st := range r.loose {
		s.dropProgram(st.program)
	}
	for _, t := range r.lent {
		t.Release()
	}
}

// Stats gives the counts up to now. It waits for a run in progress.
func (s *Session) Stats() Stats {
	<-s.turn
	defer s.give()
	st := s.stats
	st.Specialisations, st.Programs = len(s.plans), len(s.programs)
	return st
}

// Close gives up everything the session holds on the device. Results of earlier runs stay. Later runs report
// core.ErrClosed.
func (s *Session) Close() error {
	<-s.turn
	defer s.give()
	if s.closed {
		return nil
	}
	s.closed = true
	for s.forgetOldest(nil) {
	}
	for _, t := range s.owned {
		t.Release()
	}
	s.owned, s.constants, s.memo, s.instances = nil, nil, nil, nil
	return nil
}
