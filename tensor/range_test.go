package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// python returns the positions of range(*slice(start, end, step).indices(n)), by the text of Python's reference.
func python(n, start, end, step int) []int64 {
	clamp := func(i, low, high int) int {
		if i < 0 {
			return max(i+n, low)
		}
		return min(i, high)
	}
	out := []int64{}
	if step > 0 {
		for i, last := clamp(start, 0, n), clamp(end, 0, n); i < last; i += step {
			out = append(out, int64(i))
			if step > n {
				break
			}
		}
		return out
	}
	for i, last := clamp(start, -1, n-1), clamp(end, -1, n-1); i > last; i += step {
		out = append(out, int64(i))
		if step < -n {
			break
		}
	}
	return out
}

// Slices of every start, end and step, on and beyond the ends, agree with Python; steps and bounds may be as great as an int.
func TestSliceIsPythons(t *testing.T) {
	d := open(t)
	huge := []int{math.MinInt, math.MinInt + 1, math.MaxInt}
	bounds := append([]int{-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6}, huge...)
	for _, n := range []int{0, 1, 4} {
		x := d.Iota(dtype.I64, n)
		for _, start := range bounds {
			for _, end := range bounds {
				for _, step := range append([]int{1, 2, 3, 5, -1, -2, -5}, huge...) {
					want := python(n, start, end, step)
					require.Equal(t, want, append([]int64{}, data[int64](t, x.Slice(0, start, end, step))...), "%d: [%d:%d:%d]", n, start, end, step)
				}
			}
		}
	}
}

// TestSliceAssignIsItsInverse checks that SliceAssign writes exactly the elements that SliceRanges reads and leaves all others, for
// ranges of two dimensions.
func TestSliceAssignIsItsInverse(t *testing.T) {
	d := open(t)
	ranges := []tensor.Range{{}, {Step: -1}, {Start: 1, End: 3}, {Start: -1}, {Start: 3, Step: -2}, {Step: 2}, {Start: 2, End: 2}, {Start: 1, End: -1, Step: 3}}
	x := d.Iota(dtype.I64, 20).Reshape(4, 5)
	for _, a := range ranges {
		for _, b := range ranges {
			part := x.SliceRanges(a, b)
			v := part.Neg().AddScalar(-100)
			y := x.SliceAssign(v, a, b)
			require.Equal(t, data[int64](t, v), data[int64](t, y.SliceRanges(a, b)), "%v %v", a, b)
			taken := map[int64]bool{}
			for _, k := range data[int64](t, part) {
				taken[k] = true
			}
			for k, got := range data[int64](t, y) {
				if !taken[int64(k)] {
					require.Equal(t, int64(k), got, "%v %v: element %d stays", a, b, k)
				} else {
					require.Equal(t, -int64(k)-100, got, "%v %v: element %d", a, b, k)
				}
			}
			filled := data[int64](t, x.SliceFill(7, a, b))
			for k, got := range filled {
				want := int64(k)
				if taken[want] {
					want = 7
				}
				require.Equal(t, want, got)
			}
		}
	}
}
