package optim

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Entries returns the tensors in the order of their names. Entries and Metadata are the arguments of record.Save.
func (s State) Entries() []nn.Entry {
	var list []nn.Entry
	for _, n := range s.Names() {
		list = append(list, nn.Entry{Name: n, Tensor: s.Tensors[n]})
	}
	return list
}

// Metadata returns the numbers as text from which ReadState reads equal numbers.
func (s State) Metadata() map[string]string {
	m := make(map[string]string, len(s.Numbers))
	for k, v := range s.Numbers {
		m[k] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return m
}

// ReadState returns the state whose Entries and Metadata were saved, with tensors on d. The caller owns the tensors.
func ReadState(ctx context.Context, d *tensor.Device, src nn.Source, metadata map[string]string) (State, error) {
	s := NewState()
	for k, text := range metadata {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return State{}, fmt.Errorf("optim: state: %s is %q, want a number: %w", k, text, core.ErrAttr)
		}
		s.Numbers[k] = v
	}
	for _, n := range src.Names() {
		t, err := src.Tensor(ctx, d, n)
		if err != nil {
			s.Release()
			return State{}, fmt.Errorf("optim: state: %w", err)
		}
		s.Tensors[n] = t
	}
	return s, nil
}
