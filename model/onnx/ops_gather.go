package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Gather", 1, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		x := n.input(0)
		axis := t.axis(n.int("axis", 0), x.rank())
		index := t.wrapIndices(n.input(1), x.shape()[axis])
		if y, ok := t.gatherRun(x, index, axis); ok {
			return []value{y}
		}
		return []value{t.do(op.Gather, []value{x, index}, op.Int("axis", axis))}
	})
	register("GatherElements", 11, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		x := n.input(0)
		axis := t.axis(n.int("axis", 0), x.rank())
		return []value{t.do(op.GatherElements, []value{x, t.wrapIndices(n.input(1), x.shape()[axis])}, op.Int("axis", axis))}
	})
	register("GatherND", 11, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		batch := n.int("batch_dims", 0)
		return []value{t.do(op.GatherND, []value{n.input(0), t.wrapTuples(n.input(1), n.input(0).shape(), batch)}, op.Int("batch", batch))}
	})
	register("ReverseSequence", 10, reverseSequence)
	register("OneHot", 9, oneHot)
}

// gatherRun returns the elements of x along axis as a slice, if the indices are constant, in range and equally spaced. The slice
// is a view, while a gather copies. Exporters write the selection of one row this way.
func (t *tracer) gatherRun(x, index value, axis int) (value, bool) {
	n := index.shape().Size()
	if !index.constant() || n == 0 {
		return x, false
	}
	at, step := t.hostInts(index), 1
	if n > 1 {
		step = at[1] - at[0]
	}
	for i, v := range at {
		if v != at[0]+i*step || v < 0 || v >= x.shape()[axis] || step == 0 {
			return x, false
		}
	}
	s := x.shape()
	start, size, steps := make([]int, len(s)), slices.Clone(s), make([]int, len(s))
	for i := range steps {
		steps[i] = 1
	}
	start[axis], size[axis], steps[axis] = at[0], n, step
	return t.reshape(t.slice(x, start, size, steps), slices.Concat(s[:axis], index.shape(), s[axis+1:])...), true
}

// wrapIndices adds d to negative indices. Constant indices are wrapped while tracing.
func (t *tracer) wrapIndices(v value, d int) value {
	if v.shape().Size() == 0 {
		return v
	}
	if v.constant() {
		index := t.hostInts(v)
		if !slices.ContainsFunc(index, negative) {
			return v
		}
		index = slices.Clone(index)
		for i, x := range index {
			if x < 0 {
				index[i] = x + d
			}
		}
		return t.constInts(v.dtype(), v.shape(), index)
	}
	return t.wrapBy(v, t.scalarInt(v.dtype(), int64(d)))
}

func negative(i int) bool { return i < 0 }

func (t *tracer) wrapBy(v, d value) value {
	below := t.do(op.Less, []value{v, t.scalarInt(v.dtype(), 0)})
	return t.do(op.Where, []value{below, t.do(op.Add, []value{v, d}), v})
}

// wrapTuples applies wrapIndices to index tuples into s after its batch dimensions.
func (t *tracer) wrapTuples(v value, s shape.Shape, batch int) value {
	if v.rank() == 0 || v.shape().Size() == 0 {
		return v
	}
	r := v.shape()[v.rank()-1]
	if batch < 0 || batch > len(s)-r {
		t.fail("%d batch dimensions and tuples of %d for %v", batch, r, s)
	}
	span := s[batch : batch+r]
	if !v.constant() {
		return t.wrapBy(v, t.constInts(v.dtype(), shape.Of(r), span))
	}
	index := t.hostInts(v)
	if !slices.ContainsFunc(index, negative) {
		return v
	}
	index = slices.Clone(index)
	for i, x := range index {
		if x < 0 {
			index[i] = x + span[i%r]
		}
	}
	return t.constInts(v.dtype(), v.shape(), index)
}

// reverseSequence reverses the first lens elements of each sequence of the batch and keeps the others.
func reverseSequence(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, lens := n.input(0), t.cast(n.input(1), dtype.I64)
	if x.rank() < 2 {
		t.fail("input is %v, want rank 2 or more", x.shape())
	}
	batch, time := n.int("batch_axis", 1), n.int("time_axis", 0)
	if batch != 1-time || batch != 0 && batch != 1 {
		t.fail("batch_axis is %d and time_axis is %d, want 0 and 1 in some order", batch, time)
	}
	b, steps := x.shape()[batch], x.shape()[time]
	if !lens.shape().Equal(shape.Of(b)) {
		t.fail("sequence_lens is %v, want [%d]", lens.shape(), b)
	}
	there := []int{batch, time}
	for i := 2; i < x.rank(); i++ {
		there = append(there, i)
	}
	at := t.do(op.Iota, nil, op.Type("dtype", dtype.I64), op.Ints("shape", 1, steps), op.Int("axis", 1))
	lens = t.reshape(lens, b, 1)
	back := t.do(op.Sub, []value{t.do(op.Sub, []value{lens, t.scalarInt(dtype.I64, 1)}), at})
	index := t.do(op.Where, []value{t.do(op.Less, []value{at, lens}), back, at})
	y := t.do(op.Gather, []value{t.permute(x, there...), index}, op.Int("axis", 1), op.Int("batch", 1))
	return []value{t.permute(y, there...)} // a swap undoes itself
}

func oneHot(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	depth, values := t.hostInt(t.cast(n.input(1), dtype.I64)), n.input(2)
	if depth < 0 {
		t.fail("depth is %d, want none negative", depth)
	}
	if !values.shape().Equal(shape.Of(2)) {
		t.fail("values is %v, want [2]", values.shape())
	}
	index := t.wrapIndices(t.cast(n.input(0), dtype.I64), depth)
	hot := t.do(op.OneHot, []value{index}, op.Int("depth", depth), op.Int("axis", t.axis(n.int("axis", -1), index.rank()+1)),
		op.Type("dtype", dtype.Bool))
	pick := func(i int) value { return t.reshape(t.narrow(values, 0, i, 1)) }
	return []value{t.do(op.Where, []value{hot, pick(1), pick(0)})}
}
