package optim

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// slotNames returns the names of the rule's slots, which are equal for all parameters.
func (e *engine) slotNames() []string {
	var names []string
	for _, s := range e.rule.slots(op.Desc{Shape: shape.Of(1, 1)}) {
		names = append(names, s.name)
	}
	return names
}

// State implements Optimizer. It waits for steps that may have been skipped; if that fails, reading the tensors fails too.
// Parameters whose steps were all skipped have no state.
func (e *engine) State() State {
	_ = e.Settle(context.Background())
	s := NewState()
	names := e.slotNames()
	for param, m := range e.memory {
		if m.count.low == 0 {
			continue
		}
		s.Numbers[param+"/step"] = float64(m.count.low)
		for i, t := range m.slots {
			s.Tensors[param+"/"+names[i]] = t.Detach()
		}
	}
	return s
}

// Restore implements Optimizer.
func (e *engine) Restore(s State) error {
	names := e.slotNames()
	memories := map[string]*memory{}
	for k, v := range s.Numbers {
		param, slot, ok := cutLast(k)
		if !ok || slot != "step" || v < 1 || v != float64(int(v)) {
			return badState("number %q is %v, want NAME/step and a whole number of at least 1: is this the state of %s?", k, v, e.name)
		}
		memories[param] = &memory{count: &tally{low: int(v), high: int(v)}, slots: make([]*tensor.Tensor, len(names))}
	}
	found := 0
	for param, m := range memories {
		for i, slot := range names {
			t := s.Tensors[param+"/"+slot]
			if t == nil {
				return badState("no tensor %s/%s, which %s keeps: is this the state of %s?", param, slot, e.name, e.name)
			}
			m.slots[i] = t
			found++
		}
	}
	if found != len(s.Tensors) {
		return badState("%d tensors, want %d: is this the state of %s?", len(s.Tensors), found, e.name)
	}
	for _, m := range e.memory {
		release(append(m.slots, m.count.done))
	}
	for _, m := range memories {
		for i, t := range m.slots {
			m.slots[i] = t.Detach().Keep()
		}
	}
	e.memory = memories
	return nil
}
