package onnx

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

// The functions in this file coordinate runs that share a trace.

// trace continues r, which stopped at a place without a step and has claimed it, by walking the graph.
func (s *Session) trace(ctx context.Context, r *run, b *binding, at link, done int, report *Report) (st *step, err error) {
	t := &tracer{ctx: ctx, s: s, now: r, seg: newSegment(), done: done, inputs: len(b.tensors), report: report, claimed: &at}
	defer t.unclaim()
	select {
	case <-s.tracing:
	case <-ctx.Done():
		return nil, canceled(ctx)
	}
	defer func() { s.tracing <- struct{}{} }()
	defer t.settle()
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(fault)
			if !ok {
				panic(p)
			}
			err = f.err
			var ne *NodeError
			if !errors.As(err, &ne) {
				err = fmt.Errorf("onnx: %w", err)
			}
		}
	}()
	env := map[string]value{}
	for i, x := range b.tensors {
		d := t.newData(x.DType(), x.Shape())
		d.slot = i
		t.slots = append(t.slots, d)
	}
	next := 0
	for _, in := range b.inputs {
		env[in.name] = in.value.traced(func() value {
			next++
			return tensorOf(t.slots[next-1])
		})
	}
	outs := t.walk(&scope{g: s.model.main, env: env})
	return t.finish(outs), nil
}

// aside calls f, which may wait, with tracing released for other runs.
func (t *tracer) aside(f func()) {
	t.s.tracing <- struct{}{}
	defer func() { <-t.s.tracing }()
	f()
}

// claim returns the step at a place of a plan. If there is none and another run has claimed the place, it waits for that run. If no run has
// claimed it, it claims the place for the caller and returns nil.
func (s *Session) claim(ctx context.Context, p *plan, l link) (*step, error) {
	for {
		s.mu.Lock()
		st, other := p.at(l), p.claims[l]
		if st == nil && other == nil {
			p.claim(l)
		}
		s.mu.Unlock()
		if st != nil || other == nil {
			return st, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, canceled(ctx)
		}
	}
}

// arrive claims the current place if no other run has claimed it.
func (t *tracer) arrive() {
	if t.private() {
		return
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if p := t.now.plan; p.at(t.at) == nil && p.claims[t.at] == nil {
		at := t.at
		p.claim(at)
		t.claimed = &at
	}
}

// private reports whether the place follows a step that is not part of the plan.
func (t *tracer) private() bool { return t.at.from != nil && t.at.from.loose }

// there returns the step at the current place, or nil if the trace must create it. The place is then claimed or private.
func (t *tracer) there() (st *step) {
	if t.private() || t.claimed != nil && *t.claimed == t.at {
		return nil
	}
	t.s.mu.Lock()
	st = t.now.plan.at(t.at)
	t.s.mu.Unlock()
	if st != nil {
		return st
	}
	var err error
	t.aside(func() { st, err = t.s.claim(t.ctx, t.now.plan, t.at) })
	if err != nil {
		t.throw(err)
	}
	if st == nil {
		at := t.at
		t.claimed = &at
	}
	return st
}

// unclaim releases the place that the trace has claimed, if any, for other runs.
func (t *tracer) unclaim() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.yield()
}

// yield is like unclaim, for callers that hold mu.
func (t *tracer) yield() {
	if t.claimed != nil {
		close(t.now.plan.claims[*t.claimed])
		delete(t.now.plan.claims, *t.claimed)
		t.claimed = nil
	}
}

// tensorOf returns the constant for a tensor of the model.
func (s *Session) tensorOf(p *pb.Tensor) (*data, error) {
	if d := s.constants[p]; d != nil {
		return d, nil
	}
	et, err := elementType(p.DataType)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", clip(p.Name), err)
	}
	dims := make(shape.Shape, len(p.Dims))
	for i, v := range p.Dims {
		dims[i] = toInt(v)
	}
	if err := dims.Check(); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", clip(p.Name), err)
	}
	b, err := p.Bytes(nil)
	if err != nil {
		return nil, err
	}
	return s.shared(p, et, dims, b), nil
}

func (s *Session) shared(key any, et dtype.DType, dims shape.Shape, b []byte) *data {
	if b == nil {
		b = []byte{}
	}
	s.serial++
	d := &data{dtype: et, shape: dims, serial: s.serial, host: b, constant: true, shared: true, slot: -1}
	s.constants[key] = d
	return d
}
