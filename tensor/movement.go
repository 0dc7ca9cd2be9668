package tensor

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// axis brings an axis that may count from the end into [0, rank).
func (t *Tensor) axis(name string, a, rank int) int {
	i, err := shape.Axis(a, rank)
	if err != nil {
		panic(&Error{&op.Error{Op: name, Inputs: []op.Desc{t.desc}, Msg: err.Error(), Err: op.ErrShape}})
	}
	return i
}

// axes does the same for several; none means all.
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

// Reshape gives the same elements another shape; one dimension may be -1 and is found from the others.
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

// Flatten is t as a vector.
func (t *Tensor) Flatten() *Tensor { return t.Reshape(t.Size()) }

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

// Expand broadcasts t to the given dimensions.
func (t *Tensor) Expand(dims ...int) *Tensor {
	return t.un(op.Expand, op.Ints("shape", slices.Clone(dims)...))
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

// Narrow takes n elements along axis from start.
func (t *Tensor) Narrow(axis, start, n int) *Tensor { return t.Slice(axis, start, start+n, 1) }

// Slice takes elements start, start+step, ... before end along axis, as Python's start:end:step: negative bounds count
// from the end and are cut to the dimension. step may be negative, and then end is exclusive on the way down; use
// -(dimension+1) to go through element 0.
func (t *Tensor) Slice(axis, start, end, step int) *Tensor {
	a := t.axis("slice", axis, t.Rank())
	if step == 0 {
		fail("slice: step 0 along axis %d of %v: %w", a, t.desc, op.ErrShape)
	}
	n := t.desc.Shape[a]
	lo, hi := 0, n // bounds that start and end are cut to
	if step < 0 {
		lo, hi = -1, n-1
	}
	cut := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi)
	}
	start, end = cut(start), cut(end)
	size := 0
	if step > 0 && end > start {
		size = (end - start + step - 1) / step
	} else if step < 0 && start > end {
		size = (start - end - step - 1) / -step
	}
	starts, steps, sizes := make([]int, t.Rank()), slices.Repeat([]int{1}, t.Rank()), t.desc.Shape.Clone()
	starts[a], steps[a], sizes[a] = start, step, size
	return t.un(op.Slice, op.Ints("start", starts...), op.Dims("size", sizes), op.Ints("step", steps...))
}

// Flip reverses the order along axes; none means all.
func (t *Tensor) Flip(axes ...int) *Tensor {
	return t.un(op.Flip, op.Ints("axes", t.axes("flip", axes)...))
}

// Pad puts lo elements v before and hi after t along axis; a negative number removes elements.
func (t *Tensor) Pad(axis, lo, hi int, v float64) *Tensor {
	a := t.axis("pad", axis, t.Rank())
	los, his := make([]int, t.Rank()), make([]int, t.Rank())
	los[a], his[a] = lo, hi
	return t.un(op.Pad, op.Ints("lo", los...), op.Ints("hi", his...), op.ScalarFloat("value", v))
}

// Concat joins tensors along axis.
func Concat(axis int, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		fail("concat: no tensors: %w", op.ErrShape)
	}
	return Op(op.Concat, ts, op.Int("axis", ts[0].axis("concat", axis, ts[0].Rank())))[0]
}

// Stack joins tensors of one shape along a new axis.
func Stack(axis int, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		fail("stack: no tensors: %w", op.ErrShape)
	}
	a := ts[0].axis("stack", axis, ts[0].Rank()+1)
	us := make([]*Tensor, len(ts))
	for i, t := range ts {
		us[i] = t.Unsqueeze(a)
	}
	return Concat(a, us...)
}

// Gather takes slices along axis at indices, which are i64 or i32 in [0, dimension); their shape replaces the axis. An
// index outside is core.ErrIndex when the result is read.
func (t *Tensor) Gather(axis int, indices *Tensor) *Tensor {
	return Op(op.Gather, []*Tensor{t, indices}, op.Int("axis", t.axis("gather", axis, t.Rank())))[0]
}

// Scatter is t with updates put into (mode "assign") or combined with ("add", "mul", "min", "max") the slices that
// Gather reads.
func (t *Tensor) Scatter(axis int, indices, updates *Tensor, mode string) *Tensor {
	return Op(op.Scatter, []*Tensor{t, indices, updates}, op.Int("axis", t.axis("scatter", axis, t.Rank())), op.Str("mode", mode))[0]
}
