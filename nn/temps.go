package nn

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// temps are the tensors that a layer makes on the way to its result. They are released as soon as the result is queued: the
// garbage collector sees small handles only, however much memory they stand for.
type temps struct {
	kept []*tensor.Tensor // somebody else's, never released
	made []*tensor.Tensor
}

// keeping returns temps that leave ts alone, should a step give one of them back unchanged.
func keeping(ts ...*tensor.Tensor) *temps { return &temps{kept: ts} }

// of remembers t as made by the layer.
func (m *temps) of(t *tensor.Tensor) *tensor.Tensor {
	if t != nil && !slices.Contains(m.kept, t) {
		m.made = append(m.made, t)
	}
	return t
}

// own excludes t from what done releases.
func (m *temps) own(t *tensor.Tensor) *tensor.Tensor {
	m.kept = append(m.kept, t)
	m.made = slices.DeleteFunc(m.made, func(x *tensor.Tensor) bool { return x == t })
	return t
}

// done releases the temporaries, except the result y, and returns y.
func (m *temps) done(y *tensor.Tensor) *tensor.Tensor {
	for _, t := range m.made {
		if t != y {
			t.Release()
		}
	}
	return y
}

// fail panics with *tensor.Error, as tensors do on a programmer's error.
func fail(format string, args ...any) { panic(&tensor.Error{Err: fmt.Errorf(format, args...)}) }

// positive panics unless every size is at least 1.
func positive(name string, sizes ...int) {
	for _, n := range sizes {
		if n < 1 {
			fail("%s: sizes %v, want 1 or more each: %w", name, sizes, core.ErrShape)
		}
	}
}

// fraction panics unless p is a probability below 1.
func fraction(name string, p float64) float64 {
	if !(p >= 0 && p < 1) {
		fail("%s: probability %v, want one in [0, 1): %w", name, p, core.ErrAttr)
	}
	return p
}

// or returns v, or def where v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
