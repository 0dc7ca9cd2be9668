package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// This file contains shorthands for the movement ops that converters emit. A call that would change nothing emits no node.

// reshape returns v with another shape; one of dims may be -1 and is computed from the others.
func (t *tracer) reshape(v value, dims ...int) value {
	s := slices.Clone(dims)
	if i := slices.Index(s, -1); i >= 0 {
		rest := 1
		for k, d := range s {
			if k != i {
				rest *= d
			}
		}
		if rest <= 0 || v.shape().Size()%rest != 0 {
			t.fail("reshape: %v to %v", v.shape(), shape.Shape(dims))
		}
		s[i] = v.shape().Size() / rest
	}
	if v.isTensor() && v.shape().Equal(s) {
		return v
	}
	return t.do(op.Reshape, []value{v}, op.Dims("shape", s))
}

// permute reorders dimensions: dimension i of the result is dimension axes[i] of v.
func (t *tracer) permute(v value, axes ...int) value {
	for i, a := range axes {
		if i != a {
			return t.do(op.Permute, []value{v}, op.Ints("axes", slices.Clone(axes)...))
		}
	}
	if len(axes) != v.rank() {
		t.fail("permute: %d axes for rank %d", len(axes), v.rank())
	}
	return v
}

// expand broadcasts v to exactly s.
func (t *tracer) expand(v value, s shape.Shape) value {
	if v.isTensor() && v.shape().Equal(s) {
		return v
	}
	return t.do(op.Expand, []value{v}, op.Dims("shape", s.Clone()))
}

func (t *tracer) cast(v value, d dtype.DType) value {
	if v.isTensor() && v.dtype() == d {
		return v
	}
	return t.do(op.Cast, []value{v}, op.Type("dtype", d))
}

// slice returns size[i] elements along axis i, starting at start[i] and step[i] apart; steps may be negative.
func (t *tracer) slice(v value, start, size, step []int) value {
	s := v.shape()
	if len(start) == len(s) && v.isTensor() && s.Equal(size) {
		same := true
		for i := range s {
			same = same && (s[i] == 0 || start[i] == 0 && (step[i] == 1 || s[i] == 1))
		}
		if same {
			return v
		}
	}
	return t.do(op.Slice, []value{v}, op.Ints("start", slices.Clone(start)...), op.Ints("size", slices.Clone(size)...),
		op.Ints("step", slices.Clone(step)...))
}

// narrow returns n elements along axis, beginning at start.
func (t *tracer) narrow(v value, axis, start, n int) value {
	if axis < 0 || axis >= v.rank() {
		t.fail("axis %d, want one in [0,%d)", axis, v.rank())
	}
	starts, steps, size := make([]int, v.rank()), make([]int, v.rank()), v.shape().Clone()
	for i := range steps {
		steps[i] = 1
	}
	starts[axis], size[axis] = start, n
	return t.slice(v, starts, size, steps)
}

// unsqueeze inserts dimensions of length 1; axes are positions in the result, and negative ones count from its end.
func (t *tracer) unsqueeze(v value, axes ...int) value {
	rank := v.rank() + len(axes)
	at := t.axes(axes, rank)
	s := make([]int, 0, rank)
	next := 0
	for i := range rank {
		if slices.Contains(at, i) {
			s = append(s, 1)
		} else {
			s = append(s, v.shape()[next])
			next++
		}
	}
	return t.reshape(v, s...)
}

// squeeze removes dimensions of length 1. Without axes it removes nothing.
func (t *tracer) squeeze(v value, axes ...int) value {
	at := t.axes(axes, v.rank())
	s := []int{}
	for i, d := range v.shape() {
		switch {
		case !slices.Contains(at, i):
			s = append(s, d)
		case d != 1:
			t.fail("squeeze: dimension %d of %v is %d, want 1", i, v.shape(), d)
		}
	}
	return t.reshape(v, s...)
}

func (t *tracer) concat(axis int, vs ...value) value {
	if len(vs) == 0 {
		t.fail("concat: no operands")
	}
	if len(vs) == 1 {
		return vs[0]
	}
	return t.do(op.Concat, vs, op.Int("axis", axis))
}

// pad adds lo elements before and hi after along each axis; negative numbers remove elements. fill is the padding value, an
// attribute of any name created by op.ScalarInt or op.ScalarFloat; the zero Attr pads with zero.
func (t *tracer) pad(v value, lo, hi []int, fill op.Attr) value {
	if allZero(lo) && allZero(hi) && len(lo) == v.rank() {
		return v
	}
	attrs := []op.Attr{op.Ints("lo", slices.Clone(lo)...), op.Ints("hi", slices.Clone(hi)...)}
	if fill.Value.Kind() != 0 {
		fill.Name = "value"
		attrs = append(attrs, fill)
	}
	return t.do(op.Pad, []value{v}, attrs...)
}

func allZero(vs []int) bool { return !slices.ContainsFunc(vs, func(v int) bool { return v != 0 }) }

// reduce reduces axes, each in [0, rank), with one of the reduction ops.
func (t *tracer) reduce(c op.Code, v value, keep bool, axes ...int) value {
	return t.do(c, []value{v}, op.Ints("axes", slices.Clone(axes)...), op.Flag("keep_dims", keep))
}

// axis converts an axis that may count from the end to [0, rank).
func (t *tracer) axis(a, rank int) int {
	i, err := shape.Axis(a, rank)
	if err != nil {
		t.fail("%v", err)
	}
	return i
}

// axes applies axis to a list, which must not name a dimension twice.
func (t *tracer) axes(as []int, rank int) []int {
	out := make([]int, len(as))
	for i, a := range as {
		out[i] = t.axis(a, rank)
		if slices.Contains(out[:i], out[i]) {
			t.fail("axis %d is given twice in %v", a, as)
		}
	}
	return out
}
