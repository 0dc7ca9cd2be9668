package nn

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// temps holds the intermediate tensors of a layer. They are released as soon as the result is queued. The garbage collector would
// free them late, because it sees only their small handles.
type temps struct {
	kept []*tensor.Tensor // owned by others, never released
	made []*tensor.Tensor
}

// keeping returns temps that do not release ts, even if a step returns one of them unchanged.
func keeping(ts ...*tensor.Tensor) *temps { return &temps{kept: ts} }

// of records that the layer created t, and returns t.
func (m *temps) of(t *tensor.Tensor) *tensor.Tensor {
	if t != nil && !slices.Contains(m.kept, t) {
		m.made = append(m.made, t)
	}
	return t
}

// own excludes t from the tensors that done releases.
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

// or returns v, or def if v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
