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

// Optimizer updates parameters by their gradients. Only one goroutine may use it at a time.
type Optimizer interface {
	// Step replaces the value of every trained parameter that has a gradient. The old value is released, and its memory may be
	// reused for the new one: handles on it become invalid, but tensors computed from it stay valid. The caller still owns the
	// gradients, unless it gave them up (tensor.Gradients.GiveUp). After an error, no parameter on the device that reported the error has
	// changed. It is an error if params has no trained parameter. Errors at run time on the device are returned when a parameter is read.
	Step(lr float64, params []nn.Named, grads *tensor.Gradients) error
	// State returns the state that the next step depends on, in addition to parameters and gradients.
	State() State
	// Restore replaces the state by s, which the caller still owns.
	Restore(s State) error
}

// State is the state of an optimiser: tensors and numbers by name, as in "layer.weight/momentum". The caller to which it is returned
// owns the tensors, which never change.
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

// Names returns the names of the tensors, sorted.
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

// part returns the entries whose names begin with prefix, with the prefix removed.
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

// cutLast splits the name of an entry into the names of the parameter and the slot.
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

// or returns v, or def if v is zero.
func or(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
