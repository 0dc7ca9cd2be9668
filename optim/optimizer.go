package optim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Optimizer updates parameters by their gradients. It is used by one goroutine at a time.
type Optimizer interface {
	// Step replaces the value of every trained parameter that has a gradient. The old value is given up, and its memory
	// may become that of the new one: handles on it are dead, what was computed from it is not touched. The gradients stay
	// the caller's, unless it gave them up (tensor.Gradients.GiveUp). An error means that no parameter has changed, on the
	// device that refused its part; params without one that is trained are an error, and faults that only running can show arrive when a parameter is read.
	Step(lr float64, params []nn.Named, grads *tensor.Gradients) error
	// State returns the state that the next step depends on, besides parameters and gradients.
	State() State
	// Restore replaces what the optimiser remembers by s, which stays the caller's.
	Restore(s State) error
}

// State is the state of an optimiser: tensors and numbers by name, "layer.weight/momentum". The tensors are handles of
// the receiver's own and never change.
type State struct {
	Tensors map[string]*tensor.Tensor
	Numbers map[string]float64
}

// NewState returns an empty state.
func NewState() State {
	return State{Tensors: map[string]*tensor.Tensor{}, Numbers: map[string]float64{}}
}

// Release releases the tensors.
func (s State) Release() {
	for _, t := range s.Tensors {
		t.Release()
	}
}

// Names lists the names of the tensors, sorted.
func (s State) Names() []string { return slices.Sorted(maps.Keys(s.Tensors)) }

// join adds the entries of t under prefix.
func (s State) join(prefix string, t State) {
	for k, v := range t.Tensors {
		s.Tensors[prefix+k] = v
	}
	for k, v := range t.Numbers {
		s.Numbers[prefix+k] = v
	}
}

// part returns the entries whose names begin with prefix, without it.
func (s State) part(prefix string) State {
	p := NewState()
	for k, v := range s.Tensors {
		if name, ok := strings.CutPrefix(k, prefix); ok {
			p.Tensors[name] = v
		}
	}
	for k, v := range s.Numbers {
		if name, ok := strings.CutPrefix(k, prefix); ok {
			p.Numbers[name] = v
		}
	}
	return p
}

// cutLast splits the name of an entry into that of the parameter and that of the slot.
func cutLast(name string) (param, slot string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

func badState(format string, args ...any) error {
	return fmt.Errorf("optim: restore: "+format+": %w", append(args, core.ErrAttr)...)
}

// or returns v, or def where v is zero.
func or(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
