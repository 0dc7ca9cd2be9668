package optim

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Guard holds conditions of a step that are known only on the device. The caller owns its tensors, which are on the device of the
// parameters.
type Guard struct {
	Skip    *tensor.Tensor // bool of rank 0: true leaves parameters and state unchanged
	Unscale *tensor.Tensor // f32 of rank 0: gradients are multiplied by it first; nil means 1
}

// Guarded is implemented by optimisers whose step the device can skip, so that the host need not wait for the condition. All
// optimisers of this package except LBFGS implement it.
type Guarded interface {
	Optimizer
	// StepUnless is like Step, but does nothing if g.Skip is true.
	StepUnless(lr float64, params []nn.Named, grads *tensor.Gradients, g Guard) error
	// Settle waits for the steps so far, to learn which of them were skipped. StepUnless does this by itself after many unsettled
	// steps.
	Settle(ctx context.Context) error
}

// window is the greatest number of unsettled steps.
const window = 32

// outcomes returns the number of consecutive step counts, from the least possible one, for which a step needs the numbers of its rule.
// A nil Guard never skips, so that the host knows the count.
func (g *Guard) outcomes() int {
	if g == nil {
		return 1
	}
	return window
}

// mode encodes the settings that the program of a step depends on.
func (g *Guard) mode() byte {
	switch {
	case g == nil:
		return 0
	case g.Unscale == nil:
		return 1
	}
	return 2
}

func (g *Guard) check(name string) error {
	if g.Skip == nil || g.Skip.DType() != dtype.Bool || g.Skip.Rank() != 0 {
		return fmt.Errorf("optim: %s: guard without a bool of rank 0 in Skip, want one: %w", name, core.ErrAttr)
	}
	if u := g.Unscale; u != nil && (u.DType() != dtype.F32 || u.Rank() != 0) {
		return fmt.Errorf("optim: %s: guard with %v in Unscale, want f32 of rank 0: %w", name, u.Desc(), core.ErrAttr)
	}
	return nil
}

// stepUnless runs a step of any optimiser. If o does not implement Guarded, it waits for the condition.
func stepUnless(o Optimizer, lr float64, params []nn.Named, grads *tensor.Gradients, g Guard) error {
	if o, ok := o.(Guarded); ok {
		return o.StepUnless(lr, params, grads, g)
	}
	skip, err := tensor.Item[bool](context.Background(), g.Skip)
	if err != nil || skip {
		return err
	}
	if g.Unscale != nil {
		for _, p := range params {
			if x := grads.Of(p.Value()); x != nil {
				factor := g.Unscale.Cast(x.DType())
				grads.Set(p.Value(), x.Mul(factor))
				x.Release()
				if factor != g.Unscale {
					factor.Release()
				}
			}
		}
	}
	return o.Step(lr, params, grads)
}

// tally counts the steps of a parameter. After steps that may have been skipped the count is between low and high, and done holds
// it on the device. Parameters that took part in the same steps share a tally, which only Settle changes.
type tally struct {
	low, high int
	done      *tensor.Tensor // i32 of rank 0; nil if low equals high
}

// same reports whether the counts are known to be equal.
func (c *tally) same(o *tally) bool {
	return c == o || c.done == nil && o.done == nil && c.low == o.low
}

// bound settles the tallies of items if the next step needs to know them.
func (e *engine) bound(items []item, guard *Guard) error {
	for _, it := range items {
		if m := e.memory[it.Name]; m != nil && m.count.high-m.count.low >= guard.outcomes() {
			return e.Settle(context.Background())
		}
	}
	return nil
}

// Settle implements Guarded.
func (e *engine) Settle(ctx context.Context) error {
	var tx tensor.Transaction
	var open []*tally
	counts := map[*tally]*[]int32{}
	for _, m := range e.memory {
		if c := m.count; c.done != nil && counts[c] == nil {
			counts[c] = new([]int32)
			open = append(open, c)
			tensor.Fetch(&tx, c.done, counts[c])
		}
	}
	if err := tx.Execute(ctx); err != nil {
		return fmt.Errorf("optim: %s: %w", e.name, err)
	}
	for _, c := range open {
		n := int((*counts[c])[0])
		c.done.Release()
		*c = tally{low: n, high: n}
	}
	return nil
}

// guarded adds the inputs of a guarded step: the flag, the factor, and for each tally the least and the actual number of steps.
func (r *run) guarded() {
	r.add(false, r.guard.Skip)
	if r.guard.Unscale != nil {
		r.add(false, r.guard.Unscale)
	}
	for _, c := range r.tallies {
		low := tensor.From(r.device, []int32{int32(c.low)}, []int{}...)
		r.temps = append(r.temps, low)
		r.add(false, low)
		if c.done == nil {
			r.add(false, low)
		} else {
			r.add(false, c.done)
		}
	}
}

// advance counts the step for all items. more holds the new counts of a guarded step.
func (e *engine) advance(r *run, more []*tensor.Tensor) {
	next := make([]*tally, len(r.tallies))
	for i, c := range r.tallies {
		next[i] = &tally{low: c.low + 1, high: c.high + 1}
		if r.guard != nil {
			next[i] = &tally{low: c.low, high: c.high + 1, done: more[i].Keep()}
		}
	}
	for _, it := range r.items {
		it.mem.count = next[it.row]
	}
	used := map[*tally]bool{}
	for _, m := range e.memory {
		used[m.count] = true
	}
	for _, c := range r.tallies {
		if c.done != nil && !used[c] {
			c.done.Release()
		}
	}
}

// lock contains the inputs of a guarded step while it is recorded. A step without guard has a nil lock.
type lock struct {
	skip, factor op.Desc // factor has id 0 if the guard has no factor
	low, done    []op.Desc
}

// newLock removes the inputs that guarded added from in.
func newLock(in []op.Desc, r *run) (*lock, []op.Desc) {
	l := &lock{skip: in[0]}
	in = in[1:]
	if r.guard.Unscale != nil {
		l.factor, in = in[0], in[1:]
	}
	for range r.tallies {
		l.low, l.done, in = append(l.low, in[0]), append(l.done, in[1]), in[2:]
	}
	return l, in
}

func (l *lock) unscale(b *body, g op.Desc) op.Desc {
	if l == nil || l.factor.ID == 0 {
		return g
	}
	return b.mul(g, b.Cast(l.factor, g.DType))
}

func (l *lock) choose(b *body, old, next op.Desc) op.Desc {
	if l == nil {
		return next
	}
	return b.Do(op.Where, l.skip, old, next)
}

// count records the tallies after the step.
func (l *lock) count(b *body) (outs []op.Desc) {
	if l == nil {
		return nil
	}
	one := b.Cast(b.Do(op.Not, l.skip), dtype.I32)
	for _, d := range l.done {
		outs = append(outs, b.add(d, one))
	}
	return outs
}

// numbersOf returns a function that returns the numbers of the rule for a type and the index of a tally. Each of the vectors contains
// a row of numbers for each tally. In a guarded step a vector contains a row for each possible count of each tally, and the count on the
// device selects one.
func (r *run) numbersOf(b *body, vectors map[dtype.DType]op.Desc, l *lock) func(dt dtype.DType, row int) []op.Desc {
	if r.width == 0 {
		return func(dtype.DType, int) []op.Desc { return nil }
	}
	made := map[dtype.DType][]op.Desc{}
	for _, dt := range r.types {
		v := vectors[dt]
		if l == nil {
			made[dt] = b.scalars(v)
			continue
		}
		table := b.Reshape(v, shape.Of(len(r.tallies), window, r.width))
		for i := range r.tallies {
			rows := b.Reshape(b.Narrow(table, 0, i, 1), shape.Of(window, r.width))
			at := b.sub(l.done[i], l.low[i])
			made[dt] = append(made[dt], b.scalars(b.With(op.Gather, []op.Desc{rows, at}, op.Int("axis", 0), op.Int("batch", 0)))...)
		}
	}
	return func(dt dtype.DType, row int) []op.Desc { return made[dt][row*r.width : (row+1)*r.width] }
}
