package tensor

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Range is a part of a dimension, like Python's Start:End:Step. Negative bounds count from the end, and bounds are clamped to the
// dimension. Step 0 means 1, End 0 means no bound, and Start 0 with a negative Step means the last element. The zero Range is
// therefore the whole dimension, and Range{Step: -1} the whole dimension backwards.
type Range struct{ Start, End, Step int }

// of returns the first index, the number and the distance of the elements that r selects of a dimension of length dim.
func (r Range) of(dim int) (start, n, step int) {
	start, end, step := r.Start, r.End, r.Step
	if step == 0 {
		step = 1
	}
	switch {
	case step > 0 && end == 0:
		end = dim
	case step < 0:
		if start == 0 {
			start = dim - 1
		}
		if end == 0 {
			end = -dim - 1
		}
	}
	return cut(start, end, step, dim)
}

// cut clamps bounds to a dimension by Python's rules.
func cut(start, end, step, dim int) (first, n, apart int) {
	lo, hi := 0, dim // limits of start and end
	if step < 0 {
		lo, hi = -1, dim-1
	}
	in := func(i int) int {
		if i < 0 {
			i += dim
		}
		return min(max(i, lo), hi)
	}
	start, end = in(start), in(end)
	if step > 0 && end > start {
		n = (end-start-1)/step + 1
	} else if step < 0 && start > end {
		n = int(uint(start-end-1)/-uint(step)) + 1 // also for the least int
	}
	if n < 2 {
		step = 1 // not used, and maybe longer than any dimension
	}
	return start, n, step
}

// Slice returns the elements start, start+step, ... before end along axis, like Python's start:end:step: negative bounds count
// from the end, and bounds are clamped to the dimension. step may be negative; then end is an exclusive lower bound, and
// -(dimension+1) includes element 0.
func (t *Tensor) Slice(axis, start, end, step int) *Tensor {
	a := t.axis("slice", axis, t.Rank())
	if step == 0 {
		fail("slice: step 0 along axis %d of %v, want another: %w", a, t.desc, op.ErrShape)
	}
	first, n, step := cut(start, end, step, t.desc.Shape[a])
	return t.strided(a, first, n, step)
}

// strided returns n elements along axis a, which are step apart and must exist.
func (t *Tensor) strided(a, start, n, step int) *Tensor {
	starts, steps, sizes := make([]int, t.Rank()), slices.Repeat([]int{1}, t.Rank()), t.desc.Shape.Clone()
	starts[a], steps[a], sizes[a] = start, step, n
	return t.un(op.Slice, op.Ints("start", starts...), op.Dims("size", sizes), op.Ints("step", steps...))
}

// Narrow returns n elements along axis from start on.
func (t *Tensor) Narrow(axis, start, n int) *Tensor {
	a := t.axis("narrow", axis, t.Rank())
	if start < 0 || n < 0 || start > t.desc.Shape[a]-n {
		fail("narrow: %d elements from %d along axis %d of %v, want a part of %d: %w", n, start, a, t.desc, t.desc.Shape[a], op.ErrShape)
	}
	return t.strided(a, start, n, 1)
}

func (t *Tensor) ranges(name string, rs []Range) (starts, sizes, steps []int) {
	if len(rs) > t.Rank() {
		fail("%s: %d ranges for %v, want at most %d: %w", name, len(rs), t.desc, t.Rank(), op.ErrShape)
	}
	starts, sizes, steps = make([]int, t.Rank()), make([]int, t.Rank()), make([]int, t.Rank())
	for i, dim := range t.desc.Shape {
		var r Range
		if i < len(rs) {
			r = rs[i]
		}
		starts[i], sizes[i], steps[i] = r.of(dim)
	}
	return starts, sizes, steps
}

// SliceRanges returns the part of t that rs selects, one range per dimension; a dimension without a range is not cut.
func (t *Tensor) SliceRanges(rs ...Range) *Tensor {
	starts, sizes, steps := t.ranges("slice_ranges", rs)
	return t.un(op.Slice, op.Ints("start", starts...), op.Ints("size", sizes...), op.Ints("step", steps...))
}

// SliceAssign returns t with v in place of the part that SliceRanges returns; v broadcasts to that part. If the part is empty the result
// is t itself.
func (t *Tensor) SliceAssign(v *Tensor, rs ...Range) *Tensor {
	starts, sizes, steps := t.ranges("slice_assign", rs)
	if shape.Shape(sizes).Size() == 0 {
		return t
	}
	m := temps{from: t}
	return m.done(t.assign(&m, 0, starts, sizes, steps, m.of(v.Expand(sizes...))))
}

// SliceFill returns t with the number v at every element of the part that SliceRanges returns.
func (t *Tensor) SliceFill(v float64, rs ...Range) *Tensor {
	return t.withNumber(func(a, b *Tensor) *Tensor { return a.SliceAssign(b, rs...) }, v)
}

// assign returns t with a part of the dimensions from a on replaced by v: it copies the affected slices along a, replaces their
// part of the later dimensions, and writes the slices back.
func (t *Tensor) assign(m *temps, a int, starts, sizes, steps []int, v *Tensor) *Tensor {
	for a < t.Rank() && steps[a] == 1 && sizes[a] == t.desc.Shape[a] {
		a++
	}
	if a == t.Rank() {
		return v
	}
	start, n, step := starts[a], sizes[a], steps[a]
	if slices.ContainsFunc(steps[a+1:], func(s int) bool { return s != 1 }) || !slices.Equal(sizes[a+1:], t.desc.Shape[a+1:]) {
		v = m.of(m.of(t.strided(a, start, n, step)).assign(m, a+1, starts, sizes, steps, v))
	}
	if step != 1 {
		at := m.of(m.of(m.of(t.within().Iota(dtype.I64, n)).MulScalar(float64(step))).AddScalar(float64(start)))
		return t.IndexScatter(a, at, v, "assign")
	}
	return Concat(a, m.of(t.strided(a, 0, start, 1)), v, m.of(t.strided(a, start+n, t.desc.Shape[a]-start-n, 1)))
}
