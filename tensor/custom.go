package tensor

import (
	"context"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Function is a computation with a custom gradient.
type Function struct {
	Name string
	// Forward computes the results y from the operands x, which are constants within Forward. saved are the tensors that Backward needs.
	// Second derivatives continue through saved tensors that are operands or results; other saved tensors are constants.
	Forward func(x []*Tensor) (y, saved []*Tensor)
	// Backward returns the gradient of each operand, or nil for none, from the saved tensors and the gradients of the results,
	// which are nil for results without a gradient. It runs on a separate device, and its tensors must not be used outside of it.
	Backward func(saved, grads []*Tensor) []*Tensor

	passes bool // Forward computes nothing: operands keep their types in Autocast
}

// Apply runs f on x, which must be on one device. With autodiff, f is recorded for the results. Without autodiff, and in NoGrad,
// Apply returns the results of Forward. In Autocast, operands of the narrow type are cast to f32, and Forward and Backward
// compute without Autocast.
func (f Function) Apply(x ...*Tensor) []*Tensor {
	if len(x) == 0 {
		fail("%s: no operands", f.Name)
	}
	q := x[0].queue.live()
	var s *scope
	for _, t := range x {
		s = deeper(s, t.scope)
	}
	if s != nil && s.narrow != dtype.Invalid && !f.passes {
		x = convert(q, s, s.narrow, dtype.F32, x)
		return scoped(&Device{queue: q, scope: s}, s.mute, dtype.Invalid, func(d *Device) []*Tensor {
			for i, t := range x {
				x[i] = t.In(d)
			}
			return f.Apply(x...)
		})
	}
	in := make([]*Tensor, len(x))
	for i, t := range x {
		in[i] = t.detached(s) // parameters too, which are in no scope themselves
	}
	y, saved := f.Forward(in)
	saved = slices.Clone(saved)
	for i, t := range saved { // the operand itself, through which a second derivative continues
		if k := slices.Index(in, t); k >= 0 {
			saved[i] = x[k]
		}
	}
	g := q.dev.gradients
	if g == nil || s != nil && s.mute {
		return y
	}
	c := core.CustomGradient{Name: f.Name, Backward: f.backward}
	list := func(ts []*Tensor) (ds []op.Desc) {
		for _, t := range ts {
			if t.queue.dev != q.dev {
				fail("%s: a tensor of Forward is on %s", f.Name, apart(t.queue, q))
			}
			ds = append(ds, t.desc)
		}
		return ds
	}
	c.Inputs, c.Outputs, c.Saved = list(x), list(y), list(saved)
	all := slices.Concat(x, y, saved)
	q.lockFor(all)
	defer q.mu.Unlock()
	q.flush()
	for _, t := range all {
		t.live(f.Name)
		if q.closed.Load() || q.dev.faults.get(t.desc.ID) != nil {
			return y // reported by the next wait
		}
	}
	if err := g.Custom(q.stream, c); err != nil {
		panic(&Error{err})
	}
	return y
}

// backward runs Backward on a device over the stream below the recorder, and releases everything except the results.
func (f Function) backward(b core.Below, saved, grads []op.Desc) (out []op.Desc, err error) {
	q := newDevice(&core.Place{Spec: "backward of " + f.Name}, b.Device, b.Stream)
	terr := Try(func() {
		Scope(&Device{queue: q}, func(d *Device) []*Tensor {
			borrow := func(ds []op.Desc) []*Tensor {
				ts := make([]*Tensor, len(ds))
				for i, desc := range ds {
					if desc.ID != 0 {
						ts[i] = &Tensor{queue: q, desc: desc, state: &state{home: q, id: desc.ID, lent: true}, scope: d.scope}
					}
				}
				return ts
			}
			lent := map[op.TensorID]bool{}
			for _, ds := range [][]op.Desc{saved, grads} {
				for _, desc := range ds {
					lent[desc.ID] = true
				}
			}
			for _, t := range f.Backward(borrow(saved), borrow(grads)) {
				if t == nil {
					out = append(out, op.Desc{})
					continue
				}
				if t.queue.dev != q.dev {
					fail("%s: a gradient is on %s, want it computed from what Backward was given", f.Name, t.queue)
				}
				if lent[t.desc.ID] {
					t = Op(op.Copy, []*Tensor{t})[0]
				}
				lent[t.desc.ID] = true
				t.claim() // the recorder owns it now
				out = append(out, t.desc)
			}
			return nil
		})
	})
	if terr != nil {
		return nil, terr
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
	return out, q.refused
}

// Hook returns a tensor that is equal to t. In the backward pass f receives the gradient of the result, and returns a
// replacement, or nil to keep it.
func (t *Tensor) Hook(f func(grad *Tensor) *Tensor) *Tensor {
	return Function{
		Name:    "hook",
		passes:  true,
		Forward: func(x []*Tensor) (y, saved []*Tensor) { return x, nil },
		Backward: func(_, grads []*Tensor) []*Tensor {
			if grads[0] == nil {
				return grads
			}
			if g := f(grads[0]); g != nil {
				return []*Tensor{g}
			}
			return grads
		},
	}.Apply(t)[0]
}

// Checked waits for the device of the gradients, and returns the error of the backward pass, or nil.
func (g *Gradients) Checked(ctx context.Context) error {
	for _, t := range g.of {
		return t.queue.Sync(ctx)
	}
	return nil
}
