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

// engine is the part that optimisers share: it remembers slots and steps by name, and runs a rule over all parameters as one
// program.
type engine struct {
	name   string
	rule   rule
	memory map[string]*memory
	progs  map[*core.Device]*programs // by device
}

// memory is what is kept for one parameter.
type memory struct {
	step  int // that were done
	slots []*tensor.Tensor
}

func newEngine(name string, r rule) engine {
	return engine{name: name, rule: r, memory: map[string]*memory{}, progs: map[*core.Device]*programs{}}
}

// item is a parameter that takes part in a step.
type item struct {
	nn.Named
	grad *tensor.Tensor
	mem  *memory
	row  int // of the numbers
}

// Step implements Optimizer.
func (e *engine) Step(lr float64, params []nn.Named, grads *tensor.Gradients) error {
	if math.IsNaN(lr) || math.IsInf(lr, 0) || lr < 0 {
		return fmt.Errorf("optim: %s: learning rate %v, want a finite number of at least 0: %w", e.name, lr, core.ErrAttr)
	}
	items, err := collect(e.name, params, grads)
	if err != nil {
		return err
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
	var runs []*run
	for _, d := range devices {
		r, err := e.run(d, lr, items)
		if err != nil {
			for _, r := range runs {
				r.drop()
			}
			return err
		}
		runs = append(runs, r)
	}
	for _, r := range runs {
		e.take(r)
	}
	return nil
}

// collect finds the parameters that have gradients, and checks them.
func collect(name string, params []nn.Named, grads *tensor.Gradients) ([]item, error) {
	items := make([]item, 0, len(params))
	seen := make(map[string]bool, len(params))
	for _, p := range params {
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
			return nil, fmt.Errorf("optim: %s: %s: gradient on %s, want %s: move it with To: %w", name, p.Name, g.Device(), p.Value().Device(), core.ErrAttr)
		}
		seen[p.Name] = true
		items = append(items, item{Named: p, grad: g})
	}
	return items, nil
}

// run is a step on one device that was queued.
type run struct {
	items []item
	outs  []*tensor.Tensor
}

func (r *run) drop() { release(r.outs) }

// run queues the step of the parameters on d.
func (e *engine) run(d *tensor.Device, lr float64, all []item) (*run, error) {
	var items []item
	var steps []int // a row of numbers for each
	key := []byte{}
	types := []dtype.DType{}
	for _, it := range all {
		if it.Value().Device().Core() != d.Core() {
			continue
		}
		if it.mem = e.memory[it.Name]; it.mem == nil {
			it.mem = &memory{}
		}
		step := it.mem.step + 1
		if it.row = slices.Index(steps, step); it.row < 0 {
			it.row = len(steps)
			steps = append(steps, step)
		}
		if dt := arithmetic(it.DType()); !slices.Contains(types, dt) {
			types = append(types, dt)
		}
		key = appendKey(key, it.DType(), it.Shape(), it.row<<8|int(it.grad.DType()))
		items = append(items, it)
	}
	width := 0
	var values []float64
	for _, s := range steps {
		n := e.rule.numbers(lr, s)
		width = len(n)
		values = append(values, n...)
	}
	key = append(key, byte(len(types)))
	var inputs, temps []*tensor.Tensor
	for _, dt := range types {
		key = append(key, byte(dt))
		temps = append(temps, numbers(d, dt, values))
	}
	inputs = append(inputs, temps...)
	for i := range items {
		it := &items[i]
		v := it.Value().Detach()
		temps = append(temps, v)
		inputs = append(inputs, v, it.grad)
		kept, err := e.slots(d, it)
		if err != nil {
			release(temps)
			return nil, err
		}
		if it.mem.slots == nil {
			temps = append(temps, kept...)
		}
		inputs = append(inputs, kept...)
	}
	defer release(temps)
	descs := make([]op.Desc, len(inputs))
	for i, t := range inputs {
		descs[i] = op.Desc{DType: t.DType(), Shape: t.Shape()}
	}
	ps := e.progs[d.Core()]
	if ps == nil {
		ps = &programs{}
		e.progs[d.Core()] = ps
	}
	exec, err := ps.get(d, e.name, key, descs, func(b *body, in []op.Desc) ([]op.Desc, error) {
		return e.build(b, in, items, types, len(steps), width), nil
	})
	if err != nil {
		return nil, err
	}
	outs, err := exec.Run(inputs)
	if err != nil {
		return nil, fmt.Errorf("optim: %s: %w", e.name, err)
	}
	return &run{items, outs}, nil
}

// slots are the tensors kept for a parameter, made when it is new.
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

// build records the step of all items.
func (e *engine) build(b *body, in []op.Desc, items []item, types []dtype.DType, rows, width int) []op.Desc {
	numbers := map[dtype.DType][]op.Desc{}
	for i, dt := range types {
		if width > 0 {
			numbers[dt] = b.scalars(in[i])
		}
	}
	in = in[len(types):]
	var outs []op.Desc
	for _, it := range items {
		dt := arithmetic(it.DType())
		p, g := b.Cast(in[0], dt), b.Cast(in[1], dt)
		count := len(e.rule.slots(in[0]))
		var n []op.Desc
		if width > 0 {
			n = numbers[dt][it.row*width : (it.row+1)*width]
		}
		next, kept := e.rule.update(b, p, g, in[2:2+count], n)
		outs = append(outs, b.Cast(next, it.DType()))
		outs = append(outs, kept...)
		in = in[2+count:]
	}
	return outs
}

// take puts the results of a step in their places.
func (e *engine) take(r *run) {
	outs := r.outs
	for _, it := range r.items {
		count := len(e.rule.slots(it.Value().Desc()))
		it.Param.Set(outs[0])
		for i, t := range outs[1 : 1+count] {
			t.Keep()
			if it.mem.slots != nil {
				it.mem.slots[i].Release()
			}
		}
		it.mem.slots = slices.Clone(outs[1 : 1+count])
		it.mem.step++
		e.memory[it.Name] = it.mem
		outs = outs[1+count:]
	}
}
