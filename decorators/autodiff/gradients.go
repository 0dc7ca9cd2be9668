package autodiff

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Track marks tensors as leaves, on the levels below too.
func (d *device) Track(ids []op.TensorID) error {
	if err := d.track(ids); err != nil {
		return err
	}
	if d.gradients != nil {
		return d.gradients.Track(ids)
	}
	return nil
}

func (d *device) track(ids []op.TensorID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		v, err := d.find(id)
		switch {
		case err != nil:
			return fmt.Errorf("autodiff: track %w", err)
		case v == nil:
			return fmt.Errorf("autodiff: track %v: %w", id, core.ErrUnknownTensor)
		case !v.desc.DType.IsFloat():
			return fmt.Errorf("autodiff: track a tensor of %v, want a float type: cast it first: %w", v.desc.DType, core.ErrDType)
		}
		v.tracked = true
	}
	return nil
}

// Tracked reports whether id is a leaf or was computed from one, on this level or below.
func (d *device) Tracked(id op.TensorID) bool {
	return d.tracks(id) || d.gradients != nil && d.gradients.Tracked(id)
}

// Untracked returns the view of a stream that does not record.
func (d *device) Untracked(cs core.Stream) core.Stream {
	s, err := d.own("untracked", cs)
	if err != nil {
		return cs
	}
	inner := s.inner
	if d.gradients != nil {
		inner = d.gradients.Untracked(inner)
	}
	return &stream{tape: d.tape, queue: s.queue, inner: inner, mute: true}
}

// Custom records a computation with a custom gradient. The outputs exist already and are untracked.
func (d *device) Custom(cs core.Stream, c core.CustomGradient) error {
	s, err := d.own("custom gradient", cs)
	if err != nil || s.mute {
		return err
	}
	if err := s.recordCustom(&c); err != nil {
		return err
	}
	if d.gradients != nil {
		return d.gradients.Custom(s.inner, c)
	}
	return nil
}

func (s *stream) recordCustom(c *core.CustomGradient) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	track := false
	lists := [3][]*value{}
	for k, list := range [][]op.Desc{c.Inputs, c.Outputs, c.Saved} {
		for _, d := range list {
			v, err := s.find(d.ID)
			if err == nil && v == nil {
				err = fmt.Errorf("%v: %w", d.ID, core.ErrUnknownTensor)
			}
			if err != nil {
				return fmt.Errorf("autodiff: custom gradient %q: tensor %w", c.Name, err)
			}
			lists[k] = append(lists[k], v)
			track = track || k == 0 && v.tracked
		}
	}
	for i, v := range lists[1] {
		if v.tracked || slices.Contains(lists[0], v) {
			return fmt.Errorf("autodiff: custom gradient %q: result %d is an operand or recorded already: compute it under Untracked: %w", c.Name, i, core.ErrAttr)
		}
	}
	if !track {
		return nil
	}
	e := &entry{in: lists[0], out: lists[1], custom: c, sequence: s.sequence}
	s.sequence++
	for _, v := range e.in {
		need := v.tracked && v.desc.DType.IsFloat()
		e.need = append(e.need, need)
		if need {
			v.children++
		}
	}
	for _, v := range e.out {
		if v.desc.DType.IsFloat() {
			v.tracked, v.linked, v.entry = true, true, e
			e.alive++
		}
	}
	for _, v := range lists[2] {
		e.saved = append(e.saved, s.hold(v))
		if v.entry == e {
			v.own++
		}
	}
	return nil
}

// Backward differentiates. Roots that this level has not recorded are passed to the level below.
func (d *device) Backward(cs core.Stream, roots, seeds []op.Desc, wrt []op.TensorID) ([]core.Gradient, error) {
	s, err := d.own("backward", cs)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 || len(roots) != len(seeds) {
		return nil, fmt.Errorf("autodiff: backward of %d roots with %d seeds, want as many, at least one: %w", len(roots), len(seeds), core.ErrShape)
	}
	if d.gradients != nil && !slices.ContainsFunc(roots, func(r op.Desc) bool { return d.tracks(r.ID) }) {
		s.queue.mu.Lock()
		grads, err := d.gradients.Backward(s.inner, roots, seeds, wrt)
		s.queue.mu.Unlock()
		d.mu.Lock()
		defer d.mu.Unlock()
		return s.deliver(grads), err
	}
	return s.backward(roots, seeds, wrt)
}

// backward visits the entries from the latest to the earliest, so that a gradient is complete before it is passed on.
func (s *stream) backward(roots, seeds []op.Desc, wrt []op.TensorID) ([]core.Gradient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &pass{stream: s, grads: map[*value]op.Desc{}, holders: map[op.TensorID]int{}, again: map[*value]op.Desc{}, wanted: map[*value]bool{},
		pieces: map[*value][]piece{}}
	var starts []*value
	for i, r := range roots {
		v, err := s.find(r.ID)
		switch {
		case err != nil:
			return nil, fmt.Errorf("autodiff: backward: root %w", err)
		case v == nil:
			return nil, fmt.Errorf("autodiff: backward: root %v: %w", r.ID, core.ErrUnknownTensor)
		case !v.tracked:
			return nil, fmt.Errorf("autodiff: backward: root %v was not computed from a tracked tensor: track the parameters before they are used: %w", r, core.ErrAttr)
		case !v.desc.SameType(seeds[i]):
			return nil, fmt.Errorf("autodiff: backward: seed %v for root %v, want the same type: %w", seeds[i], r, core.ErrShape)
		}
		starts = append(starts, v)
	}
	grads, err := p.run(starts, seeds, wrt)
	if err != nil {
		p.abandon()
		return nil, err
	}
	return s.deliver(grads), nil
}

// deliver records gradients as tensors that the host holds.
func (t *tape) deliver(grads []core.Gradient) []core.Gradient {
	for _, g := range grads {
		if g.Desc.ID != 0 {
			t.note(g.Desc)
		}
	}
	return grads
}
