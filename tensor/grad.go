package tensor

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Autodiff reports whether the device records operations on tracked tensors, which requires that decorators/autodiff wraps the
// backend.
func (d *Device) Autodiff() bool { return d.dev.gradients != nil }

// noGradients returns the error of the operation what on a device without autodiff.
func (d *device) noGradients(what string) error {
	return fmt.Errorf("%s: device %s records no gradients: open it with them, burn.Open(ctx, name, burn.WithGradients()): %w", what, d,
		core.ErrUnsupported)
}

// RequireGrad marks t, of a float type, as a tensor for which gradients are computed, and returns it. Later computations from t
// are recorded. On a device without autodiff RequireGrad panics with an *Error that names the option that enables it.
func (t *Tensor) RequireGrad() *Tensor {
	q := t.state.home.live()
	g := q.dev.gradients
	if g == nil {
		panic(&Error{q.dev.noGradients("require_grad")})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t.live("require_grad")
	q.flush()
	if q.closed.Load() || q.dev.faults.get(t.desc.ID) != nil {
		return t // the next wait returns the error
	}
	if err := g.Track([]op.TensorID{t.desc.ID}); err != nil {
		panic(&Error{err})
	}
	return t
}

// live panics if t was released.
func (t *Tensor) live(what string) {
	if t.state.released.Load() {
		fail("%s: %v was released", what, t.desc)
	}
}

// Tracked reports whether t was marked by RequireGrad or computed from such a tensor.
func (t *Tensor) Tracked() bool {
	g := t.queue.dev.gradients
	if g == nil {
		return false
	}
	q := t.state.home.live()
	q.send()
	return g.Tracked(t.desc.ID)
}

// Detach returns t as a constant: no gradient flows through it. It shares t's memory if the backend supports that.
func (t *Tensor) Detach() *Tensor { return t.detached(t.scope) }

// detached is Detach with a result that belongs to owner.
func (t *Tensor) detached(owner *scope) *Tensor {
	return applyIn(t.queue.live(), op.Reshape, []*Tensor{t}, []op.Attr{op.Dims("shape", t.desc.Shape)}, &scope{mute: true}, owner, false)[0]
}

// NoGrad is Scope without recording for gradients: ops on tensors that are created in it are not recorded. The tensors that f
// returns are constants.
func NoGrad(d *Device, f func(d *Device) []*Tensor) []*Tensor { return scoped(d, true, d.narrow(), f) }

// Gradients holds the results of a backward pass, by tensor. They are ordinary tensors that are not tracked. They belong to the
// innermost scope of the roots of the pass, and can be released one by one or together. Only one goroutine may use Gradients at a
// time.
type Gradients struct {
	of    map[op.TensorID]*Tensor
	given bool
}

// Of returns the gradient of t, or nil if there is none.
func (g *Gradients) Of(t *Tensor) *Tensor { return g.of[t.desc.ID] }

// Set replaces or adds the gradient of t; nil removes it.
func (g *Gradients) Set(t, grad *Tensor) {
	if grad == nil {
		delete(g.of, t.desc.ID)
		return
	}
	if g.of == nil {
		g.of = map[op.TensorID]*Tensor{}
	}
	g.of[t.desc.ID] = grad
}

// GiveUp permits the next step of an optimiser to consume the gradients: the step releases the gradients that it uses, and may
// reuse their memory. GiveUp returns g.
func (g *Gradients) GiveUp() *Gradients {
	g.given = true
	return g
}

// GivenUp reports whether GiveUp was called.
func (g *Gradients) GivenUp() bool { return g.given }

// Len returns the number of tensors with a gradient.
func (g *Gradients) Len() int { return len(g.of) }

// Release releases all gradients.
func (g *Gradients) Release() {
	for _, t := range g.of {
		t.Release()
	}
}

// Backward differentiates the sum of t's elements with respect to every tensor that was marked by RequireGrad and that t was
// computed from. It does not wait: errors of the computation are returned when the gradients are read. It can be called again as
// long as t exists.
func (t *Tensor) Backward() (*Gradients, error) { return Backward([]*Tensor{t}, nil) }

// Backward differentiates the sum of roots[i]·seeds[i], all on one device, with respect to wrt, or, if wrt is empty, to every
// marked tensor that a root was computed from. Nil seeds, or a nil seed, mean ones. wrt may contain intermediate tensors; the
// result has no gradient for a tensor that no root depends on. A root that was not computed from a marked tensor is an error, and
// so is a device without autodiff.
func Backward(roots, seeds []*Tensor, wrt ...*Tensor) (*Gradients, error) {
	if len(roots) == 0 || seeds != nil && len(seeds) != len(roots) {
		return nil, fmt.Errorf("tensor: backward of %d roots with %d seeds, want as many, at least one: %w", len(roots), len(seeds), core.ErrShape)
	}
	q := roots[0].queue.live()
	g := q.dev.gradients
	if g == nil {
		return nil, q.dev.noGradients("tensor: backward")
	}
	var s *scope
	rs, ss := make([]op.Desc, len(roots)), make([]op.Desc, len(roots))
	hold := make([]*Tensor, len(roots))
	var m temps
	defer m.done(nil)
	for i, r := range roots {
		s = deeper(s, r.scope)
		if seeds != nil {
			hold[i] = seeds[i]
		}
		if hold[i] == nil {
			hold[i] = m.of(r.OnesLike())
		}
		if r.queue.dev != q.dev || hold[i].queue.dev != q.dev {
			other := r
			if r.queue.dev == q.dev {
				other = hold[i]
			}
			return nil, fmt.Errorf("tensor: backward: a root or seed is on %s, the device of the first root: %w", apart(other.queue, q), core.ErrAttr)
		}
		rs[i], ss[i] = r.desc, hold[i].desc
	}
	var ids []op.TensorID
	for _, t := range wrt {
		ids = append(ids, t.desc.ID)
	}
	grads, n, err := q.backward(g, slices.Concat(roots, hold, wrt), rs, ss, ids)
	if err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	out := &Gradients{of: make(map[op.TensorID]*Tensor, len(grads))}
	for _, g := range grads {
		if g.Desc.ID != 0 {
			out.of[g.Of] = q.handle(g.Desc, n, s)
		}
	}
	return out, nil
}

// backward runs the pass on the queue, and returns the gradients and the number of the command.
func (q *queue) backward(g core.Gradients, all []*Tensor, roots, seeds []op.Desc, wrt []op.TensorID) ([]core.Gradient, uint64, error) {
	q.lockFor(all)
	defer q.mu.Unlock()
	if q.closed.Load() {
		return nil, 0, q.closedError()
	}
	q.flush()
	for _, t := range all {
		if !t.state.use(q, q.sent+1) {
			return nil, 0, fmt.Errorf("backward: %v was released: %w", t.desc, core.ErrUnknownTensor)
		}
		if err := q.dev.faults.get(t.desc.ID); err != nil {
			return nil, 0, err
		}
	}
	grads, err := g.Backward(q.stream, roots, seeds, wrt)
	if err == nil {
		q.sent++
	}
	return grads, q.sent, err
}
