package tensor

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// axis converts an axis, which may count from the end, to [0, rank).
func (t *Tensor) axis(name string, a, rank int) int {
	i, err := shape.Axis(a, rank)
	if err != nil {
		panic(&Error{&op.Error{Op: name, Inputs: []op.Desc{t.desc}, Msg: err.Error(), Err: op.ErrShape}})
	}
	return i
}

// axes converts each axis as axis does. An empty list means all axes of t.
func (t *Tensor) axes(name string, as []int) []int {
	out := make([]int, 0, len(as))
	for _, a := range as {
		out = append(out, t.axis(name, a, t.Rank()))
	}
	if len(as) == 0 {
		for i := range t.Rank() {
			out = append(out, i)
		}
	}
	return out
}

// Reshape returns the same elements in another shape; one dimension may be -1, and is then computed from the others.
func (t *Tensor) Reshape(dims ...int) *Tensor {
	s := slices.Clone(shape.Shape(dims))
	if i := slices.Index(s, -1); i >= 0 {
		s[i] = 1
		rest := s.Size()
		if rest > 0 && t.Size()%rest == 0 && !slices.Contains(s, -1) {
			s[i] = t.Size() / rest
		} else {
			fail("reshape: %v to %v, want one -1 that can be found: %w", t.desc, shape.Shape(dims), op.ErrShape)
		}
	}
	return t.un(op.Reshape, op.Dims("shape", s))
}

// Flatten returns t as a vector.
func (t *Tensor) Flatten() *Tensor { return t.Reshape(t.Size()) }

// FlattenFrom merges the axes from first to last, inclusive, into one. PyTorch's flatten with start and end.
func (t *Tensor) FlattenFrom(first, last int) *Tensor {
	a, b := t.axis("flatten", first, t.Rank()), t.axis("flatten", last, t.Rank())
	if a > b {
		fail("flatten: axes %d to %d of %v, want them in order: %w", a, b, t.desc, op.ErrShape)
	}
	s := t.desc.Shape
	dims := append(slices.Clone(s[:a]), s[a:b+1].Size())
	return t.Reshape(append(dims, s[b+1:]...)...)
}

// Permute reorders the dimensions: dimension i of the result is dimension axes[i] of t.
func (t *Tensor) Permute(axes ...int) *Tensor {
	as := make([]int, len(axes))
	for i, a := range axes {
		as[i] = t.axis("permute", a, t.Rank())
	}
	return t.un(op.Permute, op.Ints("axes", as...))
}

// Transpose exchanges two dimensions.
func (t *Tensor) Transpose(a, b int) *Tensor {
	as := make([]int, t.Rank())
	for i := range as {
		as[i] = i
	}
	a, b = t.axis("transpose", a, t.Rank()), t.axis("transpose", b, t.Rank())
	as[a], as[b] = b, a
	return t.un(op.Permute, op.Ints("axes", as...))
}

// T exchanges the last two dimensions.
func (t *Tensor) T() *Tensor { return t.Transpose(-2, -1) }

// MoveAxis moves each axis from[i] to position to[i] of the result; the others keep their order.
func (t *Tensor) MoveAxis(from, to []int) *Tensor {
	if len(from) != len(to) {
		fail("move_axis: from %v to %v of %v, want lists of one length: %w", from, to, t.desc, op.ErrShape)
	}
	place := slices.Repeat([]int{-1}, t.Rank())
	moved := make([]bool, t.Rank())
	for i := range from {
		a, b := t.axis("move_axis", from[i], t.Rank()), t.axis("move_axis", to[i], t.Rank())
		if moved[a] || place[b] >= 0 {
			fail("move_axis: from %v to %v of %v, want distinct axes: %w", from, to, t.desc, op.ErrShape)
		}
		moved[a], place[b] = true, a
	}
	next := 0
	for i := range place {
		if place[i] >= 0 {
			continue
		}
		for moved[next] {
			next++
		}
		place[i] = next
		next++
	}
	return t.Permute(place...)
}

// Expand broadcasts t to the given dimensions.
func (t *Tensor) Expand(dims ...int) *Tensor {
	return t.un(op.Expand, op.Ints("shape", slices.Clone(dims)...))
}

// SqueezeAll removes the given dimensions of length 1, or all such dimensions when none are given.
func (t *Tensor) SqueezeAll(axes ...int) *Tensor {
	drop := make([]bool, t.Rank())
	for _, a := range axes {
		i := t.axis("squeeze", a, t.Rank())
		if t.desc.Shape[i] != 1 {
			fail("squeeze: axis %d of %v has length %d, want 1: %w", i, t.desc, t.desc.Shape[i], op.ErrShape)
		}
		drop[i] = true
	}
	dims := []int{}
	for i, n := range t.desc.Shape {
		if !drop[i] && (n != 1 || len(axes) > 0) {
			dims = append(dims, n)
		}
	}
	return t.Reshape(dims...)
}

// Squeeze removes a dimension of length 1.
func (t *Tensor) Squeeze(axis int) *Tensor {
	a := t.axis("squeeze", axis, t.Rank())
	if t.desc.Shape[a] != 1 {
		fail("squeeze: axis %d of %v has length %d, want 1: %w", a, t.desc, t.desc.Shape[a], op.ErrShape)
	}
	return t.un(op.Reshape, op.Dims("shape", slices.Delete(t.desc.Shape.Clone(), a, a+1)))
}

// Unsqueeze inserts a dimension of length 1 at axis of the result.
func (t *Tensor) Unsqueeze(axis int) *Tensor {
	a := t.axis("unsqueeze", axis, t.Rank()+1)
	return t.un(op.Reshape, op.Dims("shape", slices.Insert(t.desc.Shape.Clone(), a, 1)))
}

// Flip reverses the order of the elements along axes; without axes, along all axes.
func (t *Tensor) Flip(axes ...int) *Tensor {
	return t.un(op.Flip, op.Ints("axes", t.axes("flip", axes)...))
}

// UnsqueezeAll inserts dimensions of length 1 at the given axes of the result.
func (t *Tensor) UnsqueezeAll(axes ...int) *Tensor {
	rank := t.Rank() + len(axes)
	dims := slices.Repeat([]int{-1}, rank)
	for _, a := range axes {
		i := t.axis("unsqueeze", a, rank)
		if dims[i] == 1 {
			fail("unsqueeze: axes %v of %v, want distinct ones: %w", axes, t.desc, op.ErrShape)
		}
		dims[i] = 1
	}
	next := 0
	for i := range dims {
		if dims[i] < 0 {
			dims[i] = t.desc.Shape[next]
			next++
		}
	}
	return t.Reshape(dims...)
}

// UnsqueezeTo inserts dimensions of length 1 before the first, up to the given rank.
func (t *Tensor) UnsqueezeTo(rank int) *Tensor {
	if rank < t.Rank() {
		fail("unsqueeze: %v to rank %d, want %d or more: %w", t.desc, rank, t.Rank(), op.ErrShape)
	}
	return t.Reshape(append(slices.Repeat([]int{1}, rank-t.Rank()), t.desc.Shape...)...)
}

// Roll shifts elements by shifts[i] along axes[i]; elements that leave at the end re-enter at the start.
func (t *Tensor) Roll(shifts, axes []int) *Tensor {
	return t.un(op.Roll, op.Ints("shifts", shifts...), op.Ints("axes", t.axes("roll", axes)...))
}

// rows returns the number of rows along the last axis of t.
func (t *Tensor) rows() int {
	if t.Rank() == 0 {
		fail("rank 0 of %v, want 1 or more: %w", t.desc, op.ErrShape)
	}
	return t.desc.Shape[:t.Rank()-1].Size()
}
