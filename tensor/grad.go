package tensor

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Autodiff reports whether the device records what tracked tensors go through: whether its backend is wrapped by
// decorators/autodiff.
func (d *Device) Autodiff() bool {
	_, ok := core.As[core.Gradients](d.stream)
	return ok
}

func (e *engine) gradients(what string) core.Gradients {
	g, ok := core.As[core.Gradients](e.stream)
	if !ok {
		fail("%s: device %s records no gradients: wrap it when it is opened, tensor.On(ctx, autodiff.Device(device)): %w", what, e, core.ErrUnsupported)
	}
	return g
}

// RequireGrad marks t, of a float type, as a tensor that gradients are wanted for, and returns it. What is computed from it
// afterwards is recorded. On a device without autodiff it panics with *Error, and says how to wrap it.
func (t *Tensor) RequireGrad() *Tensor {
	g := t.dev.gradients("require_grad")
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	t.live("require_grad")
	if err := t.dev.flush(); err != nil {
		return t // reported by the next wait
	}
	if err := g.Track([]op.TensorID{t.desc.ID}); err != nil {
		panic(&Error{err})
	}
	return t
}

// live panics when t was released. The caller holds the device.
func (t *Tensor) live(what string) {
	if t.state.released.Load() {
		fail("%s: %v was released", what, t.desc)
	}
}

// Tracked reports whether t was marked by RequireGrad or computed from such a tensor.
func (t *Tensor) Tracked() bool {
	g, ok := core.As[core.Gradients](t.dev.stream)
	if !ok {
		return false
	}
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	return t.dev.flush() == nil && tracking(g, t.desc.ID) != nil
}

// tracking is the outermost level that tracks id.
func tracking(g core.Gradients, id op.TensorID) core.Gradients {
	for g != nil && !g.Tracked(id) {
		u, ok := g.(core.Unwrapper)
		if !ok {
			return nil
		}
		if g, ok = core.As[core.Gradients](u.Unwrap()); !ok {
			return nil
		}
	}
	return g
}

// Detach is t as a constant: nothing flows back through it. It shares t's memory where the backend can.
func (t *Tensor) Detach() *Tensor { return t.detached(t.scope) }

// detached is Detach whose result belongs to owner.
func (t *Tensor) detached(owner *scope) *Tensor {
	return applyIn(&Device{engine: t.dev}, op.Reshape, []*Tensor{t}, []op.Attr{op.Dims("shape", t.desc.Shape)}, &scope{mute: true}, owner)[0]
}

// NoGrad is Scope in which nothing is recorded for gradients: ops on a tensor made in it are not. The tensors that f
// returns are constants.
func NoGrad(d *Device, f func(d *Device) []*Tensor) []*Tensor { return scoped(d, true, f) }

// Gradients are what a backward pass computed, by tensor. They are ordinary tensors, untracked, that belong to the scope of what
// they are gradients of and can be released one by one or together. It is used by one goroutine at a time.
type Gradients struct{ of map[op.TensorID]*Tensor }

// Of is the gradient of t, nil when t took no part.
func (g *Gradients) Of(t *Tensor) *Tensor { return g.of[t.desc.ID] }

// Set replaces the gradient of t, which takes part from now on; nil removes it.
func (g *Gradients) Set(t, grad *Tensor) {
	if grad == nil {
		delete(g.of, t.desc.ID)
		return
	}
	g.of[t.desc.ID] = grad
}

// Len is the number of tensors with a gradient.
func (g *Gradients) Len() int { return len(g.of) }

// Release releases all gradients.
func (g *Gradients) Release() {
	for _, t := range g.of {
		t.Release()
	}
}

// Backward differentiates the sum of t's elements with respect to every tensor that was marked by RequireGrad and that t
// was computed from. It waits for nothing: the gradients are tensors whose faults arrive when they are read. It can be
// called again for as long as t lives.
func (t *Tensor) Backward() (*Gradients, error) { return Backward([]*Tensor{t}, nil) }

// Backward differentiates the sum of roots[i]·seeds[i], all of one device, with respect to wrt, or without one to every
// marked tensor below the roots. A nil seeds or seed is of ones. wrt may name tensors in the midst of the computation; for one
// that no root depends on there is no gradient. A root that was not computed from a marked tensor is an error, and so is a
// device without autodiff.
func Backward(roots, seeds []*Tensor, wrt ...*Tensor) (*Gradients, error) {
	if len(roots) == 0 || seeds != nil && len(seeds) != len(roots) {
		return nil, fmt.Errorf("tensor: backward of %d roots with %d seeds, want as many, at least one: %w", len(roots), len(seeds), core.ErrShape)
	}
	e := roots[0].dev
	outer, ok := core.As[core.Gradients](e.stream)
	if !ok {
		return nil, fmt.Errorf("tensor: backward: device %s records no gradients: wrap it when it is opened, tensor.On(ctx, autodiff.Device(device)): %w",
			e, core.ErrUnsupported)
	}
	var s *scope
	rs, ss := make([]op.Desc, len(roots)), make([]op.Desc, len(roots))
	hold := make([]*Tensor, len(roots))
	for i, r := range roots {
		s = deeper(s, r.scope)
		if seeds != nil {
			hold[i] = seeds[i]
		}
		if hold[i] == nil {
			hold[i] = r.OnesLike()
		}
		if r.dev != e || hold[i].dev != e {
			return nil, fmt.Errorf("tensor: backward: roots and seeds of one device, got %s and %s, want %s", r.dev, hold[i].dev, e)
		}
		rs[i], ss[i] = r.desc, hold[i].desc
	}
	var ids []op.TensorID
	for _, t := range wrt {
		ids = append(ids, t.desc.ID)
	}
	e.mu.Lock()
	for _, l := range [][]*Tensor{roots, hold, wrt} {
		for _, t := range l {
			if t.state.released.Load() {
				e.mu.Unlock()
				return nil, fmt.Errorf("tensor: backward: %v was released: %w", t.desc, core.ErrUnknownTensor)
			}
		}
	}
	err := e.flush()
	var grads []core.Gradient
	if err == nil {
		g := tracking(outer, rs[0].ID)
		if g == nil {
			g = outer // says what is wrong
		}
		grads, err = g.Backward(rs, ss, ids)
	}
	e.mu.Unlock()
	for i, h := range hold {
		if seeds == nil || seeds[i] == nil {
			h.Release()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	out := &Gradients{of: make(map[op.TensorID]*Tensor, len(grads))}
	d := &Device{engine: e}
	for _, g := range grads {
		if g.Desc.ID != 0 {
			out.of[g.Of] = d.handle(g.Desc, s)
		}
	}
	return out, nil
}

// In is t seen from d, a view of t's device that Scope or NoGrad gave: what is computed from it belongs there. It is no
// tensor of its own: t must live for as long as it is used.
func (t *Tensor) In(d *Device) *Tensor {
	if t.dev != d.engine {
		fail("in: %v is on %s, want %s: move it with To", t.desc, t.dev, d.engine)
	}
	return &Tensor{dev: t.dev, desc: t.desc, state: t.state, scope: d.scope, origin: t}
}
