package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// engine is the part that optimisers share: it keeps slots and step counts by name, and runs a rule over all parameters as one
// program.
type engine struct {
	name   string
	rule   rule
	memory map[string]*memory
	progs  map[core.Device]*programs
}

// memory is the state of one parameter.
type memory struct {
	count *tally
	slots []*tensor.Tensor
}

func newEngine(name string, r rule) engine {
	return engine{name: name, rule: r, memory: map[string]*memory{}, progs: map[core.Device]*programs{}}
}

// item is a parameter that takes part in a step.
type item struct {
	nn.Named
	grad *tensor.Tensor
	mem  *memory
	row  int // index into the tallies
}

// Step implements Optimizer.
func (e *engine) Step(lr float64, params []nn.Named, grads *tensor.Gradients) error {
	return e.step(lr, params, grads, nil)
}

// StepUnless implements Guarded.
func (e *engine) StepUnless(lr float64, params []nn.Named, grads *tensor.Gradients, g Guard) error {
	if err := g.check(e.name); err != nil {
		return err
	}
	return e.step(lr, params, grads, &g)
}

// step runs a step of all parameters, guarded if guard is not nil.
func (e *engine) step(lr float64, params []nn.Named, grads *tensor.Gradients, guard *Guard) error {
	if math.IsNaN(lr) || math.IsInf(lr, 0) || lr < 0 {
		return fmt.Errorf("optim: %s: learning rate %v, want a finite number of at least 0: %w", e.name, lr, core.ErrAttr)
	}
	items, err := collect(e.name, params, grads)
	if err != nil {
		return err
	}
	if !anyTrained(params) {
		return noParams(e.name, params)
	}
	var devices []*tensor.Device
	for _, it := range items {
		if err := e.rule.check(it.Value().Desc()); err != nil {
			return fmt.Errorf("optim: %s: %s: %w", e.name, it.Name, err)
		}
		d := it.Value().Device()
		if !slices.ContainsFunc(devices, func(o *tensor.Device) bool { return o.Core() == d.Core() }) {
			devices = append(devices, d)
		}
	}
	if guard != nil && len(devices) > 1 {
		return fmt.Errorf("optim: %s: guarded parameters on %s and %s, want one device: %w", e.name, devices[0], devices[1], core.ErrAttr)
	}
	if err := e.bound(items, guard); err != nil {
		return err
	}
	runs := make([]*run, len(devices))
	for i, d := range devices {
		if runs[i], err = e.prepare(d, lr, items, grads.GivenUp(), guard); err != nil {
			break
		}
	}
	for _, r := range runs {
		if err == nil {
			err = e.run(r)
		}
		r.drop()
	}
	return err
}

// collect returns the parameters that have gradients, and checks them.
func collect(name string, params []nn.Named, grads *tensor.Gradients) ([]item, error) {
	if grads == nil {
		return nil, fmt.Errorf("optim: %s: gradients are nil, want those of Backward: %w", name, core.ErrAttr)
	}
	items := make([]item, 0, len(params))
	seen := make(map[string]bool, len(params))
	for i, p := range params {
		if p.Param == nil || p.Value() == nil {
			return nil, fmt.Errorf("optim: %s: parameter %d, %q, is nil: %w", name, i, p.Name, core.ErrAttr)
		}
		if !p.Trainable() {
			continue
		}
		g := grads.Of(p.Value())
		if g == nil {
			continue
		}
		switch {
		case seen[p.Name]:
			return nil, fmt.Errorf("optim: %s: two parameters are named %q, want names that differ: %w", name, p.Name, core.ErrAttr)
		case !p.DType().IsFloat():
			return nil, fmt.Errorf("optim: %s: %s is %v, want floats: %w", name, p.Name, p.Value().Desc(), core.ErrDType)
		case !g.Shape().Equal(p.Shape()) || !g.DType().IsFloat():
			return nil, fmt.Errorf("optim: %s: %s: gradient %v, want floats of shape %v: %w", name, p.Name, g.Desc(), p.Shape(), core.ErrShape)
		case g.Device().Core() != p.Value().Device().Core():
			return nil, fmt.Errorf("optim: %s: %s: gradient on %s, want the device of the parameter, %s, in the same opening: move it with To: %w", name, p.Name, g.Device(), p.Value().Device(), core.ErrAttr)
		}
		seen[p.Name] = true
		items = append(items, item{Named: p, grad: g})
	}
	return items, nil
}

func anyTrained(params []nn.Named) bool {
	return slices.ContainsFunc(params, func(p nn.Named) bool { return p.Param != nil && p.Trainable() })
}

// noParams returns the error of a step without parameters to update.
func noParams(name string, params []nn.Named) error {
	if len(params) > 0 {
		return fmt.Errorf("optim: %s: none of %d parameters is trained, want at least one that is neither frozen nor a buffer: %w", name, len(params), core.ErrAttr)
	}
	return fmt.Errorf("optim: %s: no parameters, want at least one: nn.Trained lists those in exported fields, nn.Hidden the fields that it cannot see: %w", name, core.ErrAttr)
}

// run is a step on one device.
type run struct {
	device  *tensor.Device
	exec    *tensor.Executable
	items   []item
	guard   *Guard        // may be nil
	tallies []*tally      // the distinct tallies of the items
	types   []dtype.DType // types of the arithmetic
	width   int           // count of numbers per step
	inputs  []*tensor.Tensor
	give    []bool           // by input: whether the run may invalidate it
	temps   []*tensor.Tensor // temporary tensors of the run
}

// drop releases the remaining resources of the run, which may be nil.
func (r *run) drop() {
	if r != nil {
		release(r.temps)
	}
}

// add appends inputs.
func (r *run) add(give bool, ts ...*tensor.Tensor) {
	for _, t := range ts {
		r.inputs, r.give = append(r.inputs, t), append(r.give, give)
	}
}

// prepare prepares the step of the parameters on d. The caller must drop the run, also after an error.
func (e *engine) prepare(d *tensor.Device, lr float64, all []item, given bool, guard *Guard) (*run, error) {
	r := &run{device: d, guard: guard}
	key := []byte{guard.mode()}
	for _, it := range all {
		if it.Value().Device().Core() != d.Core() {
			continue
		}
		if it.mem = e.memory[it.Name]; it.mem == nil {
			it.mem = &memory{count: &tally{}}
		}
		if it.row = slices.IndexFunc(r.tallies, it.mem.count.same); it.row < 0 {
			it.row = len(r.tallies)
			r.tallies = append(r.tallies, it.mem.count)
		}
		if dt := arithmetic(it.DType()); !slices.Contains(r.types, dt) {
			r.types = append(r.types, dt)
		}
		key = appendKey(key, it.DType(), it.Shape(), it.row<<8|int(it.grad.DType()))
		r.items = append(r.items, it)
	}
	var values []float64
	for _, c := range r.tallies {
		for k := range guard.outcomes() {
			n := e.rule.numbers(lr, c.low+1+k)
			r.width = len(n)
			values = append(values, n...)
		}
	}
	key = append(key, byte(len(r.types)))
	for _, dt := range r.types {
		key = append(key, byte(dt))
		r.temps = append(r.temps, numbers(d, dt, values))
	}
	r.add(true, r.temps...)
	if guard != nil {
		r.guarded()
	}
	for i := range r.items {
		it := &r.items[i]
		kept, err := e.slots(d, it)
		if err != nil {
			return r, err
		}
		if it.mem.slots == nil {
			r.temps = append(r.temps, kept...)
		}
		// The gradient comes last: backends reuse the memory of donated inputs for results of the same type in order, so that the
		// value and its state keep their addresses, and the gradient's memory is free for the next gradient.
		r.add(true, it.Value())
		r.add(true, kept...)
		r.add(given, it.grad)
	}
	descs := make([]op.Desc, len(r.inputs))
	for i, t := range r.inputs {
		descs[i] = op.Desc{DType: t.DType(), Shape: t.Shape()}
	}
	ps := e.progs[d.Core()]
	if ps == nil {
		ps = &programs{}
		e.progs[d.Core()] = ps
	}
	var err error
	r.exec, err = ps.get(d, e.name, key, descs, func(b *body, in []op.Desc) ([]op.Desc, error) { return e.build(b, in, r), nil })
	return r, err
}

// run queues a step and stores its results. Values and slots are donated, so that the step needs only one copy of both.
func (e *engine) run(r *run) error {
	outs, err := apply(r.device, r.exec, r.inputs, r.give)
	if err != nil {
		return fmt.Errorf("optim: %s: %w", e.name, err)
	}
	for _, it := range r.items {
		count := len(e.rule.slots(it.Value().Desc()))
		it.Param.Set(outs[0])
		it.mem.slots = slices.Clone(outs[1 : 1+count])
		for _, t := range it.mem.slots {
			t.Keep()
		}
		e.memory[it.Name] = it.mem
		outs = outs[1+count:]
	}
	e.advance(r, outs)
	return nil
}

// slots returns the state tensors of a parameter, and creates them for a new one.
func (e *engine) slots(d *tensor.Device, it *item) ([]*tensor.Tensor, error) {
	want := e.rule.slots(it.Value().Desc())
	dt := arithmetic(it.DType())
	if it.mem.slots == nil {
		var ts []*tensor.Tensor
		for _, s := range want {
			ts = append(ts, d.Full(dt, s.start, s.shape...))
		}
		return ts, nil
	}
	for i, s := range want {
		t := it.mem.slots[i]
		if t == nil || t.DType() != dt || !t.Shape().Equal(s.shape) || t.Device().Core() != d.Core() {
			return nil, fmt.Errorf("optim: %s: %s: the state's %s does not fit %v on %s: restore the state of this model, or start anew: %w",
				e.name, it.Name, s.name, it.Value().Desc(), d, core.ErrShape)
		}
	}
	return it.mem.slots, nil
}

// build records the step for the items of r.
func (e *engine) build(b *body, in []op.Desc, r *run) []op.Desc {
	vectors := map[dtype.DType]op.Desc{}
	for i, dt := range r.types {
		vectors[dt] = in[i]
	}
	in = in[len(r.types):]
	var lock *lock
	if r.guard != nil {
		lock, in = newLock(in, r)
	}
	rows := r.numbersOf(b, vectors, lock)
	var outs []op.Desc
	for _, it := range r.items {
		dt := arithmetic(it.DType())
		count := len(e.rule.slots(in[0]))
		p, kept, g := b.Cast(in[0], dt), in[1:1+count], lock.unscale(b, b.Cast(in[1+count], dt))
		next, more := e.rule.update(b, p, g, kept, rows(dt, it.row))
		outs = append(outs, lock.choose(b, in[0], b.Cast(next, it.DType())))
		for i, x := range more {
			outs = append(outs, lock.choose(b, kept[i], x))
		}
		in = in[2+count:]
	}
	return append(outs, lock.count(b)...)
}
