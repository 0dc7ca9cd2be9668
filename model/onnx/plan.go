package onnx

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/op"
)

// The functions in this file create the steps of a plan while tracing, follow existing steps, and forget plans.

// follow returns the step at the current place. If there is one already, it equals want, because tracing is deterministic. Otherwise follow
// returns want after build has completed it.
func (t *tracer) follow(want *step, build func() error) *step {
	if st := t.there(); st != nil {
		if st.kind != want.kind || !slices.Equal(st.out, want.out) || st.slot != want.slot || !slices.Equal(st.release, want.release) {
			t.throw(fmt.Errorf("internal: tracing was not deterministic: it made a different step than before"))
		}
		return st
	}
	s := t.s
	var gone trash
	s.mu.Lock()
	if want.loose = t.private() || !s.reserveStep(&gone); !want.loose {
		s.stats.Steps++ // reserve its place
	}
	s.mu.Unlock()
	gone.empty()
	built := build == nil
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case want.loose && built:
			t.now.loose = append(t.now.loose, want)
		case built:
			t.now.plan.put(t.at, want)
		case !want.loose:
			s.stats.Steps--
		}
		t.yield()
	}()
	if build != nil {
		if err := build(); err != nil {
			t.throw(err)
		}
		built = true
	}
	return want
}

// keep puts a constant on the device until st is dropped.
func (t *tracer) keep(d *data, st *step) {
	t.device(d)
	if st.loose {
		d.lent = true
	} else {
		d.kept = true
	}
}

// advance executes a step, unless the run had executed it before tracing began, and continues after it.
func (t *tracer) advance(st *step) answer {
	var a answer
	reads, again := st.kind != stepRun, t.done > 0
	switch {
	case again:
		t.done--
		if reads {
			a = t.now.answers[t.seen]
		}
	default:
		var err error
		if t.aside(func() { a, err = t.now.execute(t.ctx, st) }); err != nil {
			t.throw(err)
		}
	}
	if reads {
		t.seen++
	}
	t.at = link{st, a.key()}
	if !again {
		t.arrive()
	}
	return a
}

// read returns the content of live data in a slot.
func (t *tracer) read(d *data) []byte {
	return t.advance(t.follow(&step{kind: stepRead, slot: d.slot}, nil)).content
}

// hostOp computes outputs with a Go function where the contract has no op, for example because the shape of the result depends on
// data. f receives the contents of in, in order. It must depend on nothing else, as later runs call it again, and must not use
// the tracer. With constant operands f is called once, and the results are constant. Without operands every run calls it.
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
			t.scratch(8, v.shape()...)
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

// everyRun is like hostOp, for functions whose results differ between runs, such as random numbers: every run calls f, even if
// its operands are constant.
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
			t.stays += int64(len(a.data))
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

// finish ends the trace: the outputs of the graph are assigned slots, or are constants.
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
		for i, v := range outs {
			st.outputs = append(st.outputs, t.outputOf(i, st, v, handed))
		}
		return nil
	})
}

// outputOf returns output i of the graph. An error in it names the node that computes the output.
func (t *tracer) outputOf(i int, st *step, v value, handed map[int]bool) output {
	defer func() {
		if r := recover(); r != nil {
			g := t.s.model.main
			for _, n := range g.nodes {
				if slices.Contains(n.Outputs, g.outputs[i]) {
					r = fault{t.blame(n, r)}
				}
			}
			panic(r)
		}
	}()
	return t.output(st, v, handed)
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

// settle releases the constants of the trace to which no step refers.
func (t *tracer) settle() {
	var gone trash
	t.s.mu.Lock()
	t.leaveBudget()
	for _, d := range t.made {
		switch {
		case d.shared:
		case d.kept:
			t.now.plan.owned = append(t.now.plan.owned, d.dev)
		case d.lent:
			t.now.lent = append(t.now.lent, d.dev)
		default:
			gone.tensors = append(gone.tensors, d.dev)
			d.dev = nil
		}
	}
	t.s.mu.Unlock()
	gone.empty()
	t.made = nil
}

// planOf returns the plan for a signature, after creating it if needed. The caller holds mu.
func (s *Session) planOf(signature []byte, gone *trash) *plan {
	s.tick++
	p := s.plans[string(signature)]
	if p == nil {
		p = &plan{signature: string(signature)}
		s.plans[p.signature] = p
		for len(s.plans) > s.options.MaxSpecialisations && s.forget(s.oldest(func(q *plan) bool { return q != p }), gone) {
		}
	}
	p.used = s.tick
	return p
}

// reserveStep reports whether the session may keep another step. It forgets plans that no run uses to make room. The caller holds mu.
func (s *Session) reserveStep(gone *trash) bool {
	for s.stats.Steps >= s.options.MaxSteps && s.forget(s.oldest(func(q *plan) bool { return q.users == 0 }), gone) {
	}
	return s.stats.Steps < s.options.MaxSteps
}

// oldest returns the least recently used plan for which may returns true, or nil. The caller holds mu.
func (s *Session) oldest(may func(*plan) bool) *plan {
	var oldest *plan
	for _, q := range s.plans {
		if (may == nil || may(q)) && (oldest == nil || q.used < oldest.used) {
			oldest = q
		}
	}
	return oldest
}

// forget removes a plan and reports whether there was one. Its resources are released once no run uses it. The caller holds mu.
func (s *Session) forget(p *plan, gone *trash) bool {
	if p == nil {
		return false
	}
	delete(s.plans, p.signature)
	if p.forgotten = true; p.users == 0 {
		s.drop(p, gone)
	}
	return true
}

// drop releases the programs and constants of the steps of p. The caller holds mu.
func (s *Session) drop(p *plan, gone *trash) {
	var walk func(st *step)
	walk = func(st *step) {
		for st != nil { // iterative along unbranched chains, which can be long
			s.dropProgram(st.program, gone)
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
	s.model.budget.give(p.held)
	p.held = 0
	gone.tensors = append(gone.tensors, p.owned...)
	p.root, p.owned = nil, nil
}
