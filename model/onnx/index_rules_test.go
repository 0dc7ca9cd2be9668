package onnx

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func TestReshapeDims(t *testing.T) {
	tests := []struct {
		from, want []int
		literal    bool
		dims       []int
		err        string
	}{
		{[]int{2, 3, 4}, []int{4, 6}, false, []int{4, 6}, ""},
		{[]int{2, 3, 4}, []int{0, -1}, false, []int{2, 12}, ""},
		{[]int{2, 3, 4}, []int{-1, 0}, false, []int{8, 3}, ""},
		{[]int{2, 3, 4}, []int{4, 0, -1}, false, []int{4, 3, 2}, ""},
		{[]int{0, 3}, []int{0, -1}, false, []int{0, 3}, ""},
		{[]int{0, 3}, []int{3, 0}, true, []int{3, 0}, ""},
		{[]int{0, 3}, []int{-1}, false, []int{0}, ""},
		{[]int{0, 3}, []int{0, -1}, true, nil, "-1 together with an empty dimension"},
		{[]int{1}, []int{}, false, []int{}, ""},
		{[]int{6}, []int{4, -1}, false, nil, "the elements do not fit"},
		{[]int{6}, []int{7}, false, nil, "the elements do not fit"},
		{[]int{6}, []int{-1, -1}, false, nil, "more than one -1"},
		{[]int{6}, []int{-2}, false, nil, "a negative dimension"},
		{[]int{6}, []int{6, 0}, false, nil, "a zero beyond the rank"},
		{[]int{0}, []int{6, 0}, false, nil, "a zero beyond the rank"},
	}
	for _, c := range tests {
		dims, err := reshapeDims(c.from, c.want, c.literal)
		require.Equal(t, c.err, err, "%v to %v", c.from, c.want)
		require.Equal(t, c.dims, dims, "%v to %v", c.from, c.want)
	}
}

// slicedBy returns the indices that Slice copies by the rules of its specification. They equal range(*slice(start, end, step).indices(d))
// in Python, except that a start before the first element is clamped to the first element for a negative step too.
func slicedBy(d, start, end, step int) []int {
	in := func(i, low, high int) int {
		if i < 0 {
			if i += d; i < low {
				i = low
			}
			return i
		}
		return min(i, high)
	}
	var l []int
	if step > 0 {
		for i := in(start, 0, d); i < in(end, 0, d); i += step {
			l = append(l, i)
		}
		return l
	}
	for i := in(max(start, -d), -1, d-1); i > in(end, -1, d-1); i += step {
		l = append(l, i)
	}
	return l
}

func TestClampRange(t *testing.T) {
	for d := range 5 {
		for start := -7; start <= 7; start++ {
			for end := -7; end <= 7; end++ {
				for _, step := range []int{1, 2, 3, 9, -1, -2, -9} {
					want := slicedBy(d, start, end, step)
					first, count := clampRange(d, start, end, step)
					require.Len(t, want, count, "%d: [%d:%d:%d]", d, start, end, step)
					if count > 0 {
						require.Equal(t, want[0], first, "%d: [%d:%d:%d]", d, start, end, step)
					}
				}
			}
		}
	}
	for _, step := range []int{math.MaxInt, 1, math.MinInt, -1} {
		start, end := math.MinInt, math.MaxInt
		if step < 0 {
			start, end = end, start
		}
		first, count := clampRange(3, start, end, step)
		want := map[bool][2]int{true: {0, 3}, false: {0, 1}}[step == 1]
		if step < 0 {
			want = map[bool][2]int{true: {2, 3}, false: {2, 1}}[step == -1]
		}
		require.Equal(t, want, [2]int{first, count}, "step %d", step)
	}
}

func TestPaddingSources(t *testing.T) {
	at := func(f func(i, d int) int, d int) (l []int) {
		for i := -4; i < d+4; i++ {
			l = append(l, f(i, d))
		}
		return l
	}
	require.Equal(t, []int{0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}, at(reflected, 3))
	require.Equal(t, []int{0, 0, 0, 0, 0, 0, 0, 0, 0}, at(reflected, 1))
	require.Equal(t, []int{0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2}, at(nearest, 3))
	require.Equal(t, []int{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, at(wrapped, 3))
}

func TestEvenly(t *testing.T) {
	require.Equal(t, []int{3, 3, 1}, evenly(7, 3, 3))
	require.Equal(t, []int{2, 2, 1, 0}, evenly(5, 2, 4))
	require.Equal(t, []int{0, 0}, evenly(0, 0, 2))
}

func TestSortKeyOrders(t *testing.T) {
	floats := []float64{math.Inf(-1), -2, -math.SmallestNonzeroFloat32, 0, math.SmallestNonzeroFloat32, 1, 3e38, math.Inf(1), math.NaN()}
	for i := 1; i < len(floats); i++ {
		for _, d := range []dtype.DType{dtype.F64, dtype.F32} {
			a, b := sortKey(d, appendFloat(nil, d, floats[i-1])), sortKey(d, appendFloat(nil, d, floats[i]))
			require.Less(t, a, b, "%v: %v before %v", d, floats[i-1], floats[i])
		}
	}
	require.Equal(t, sortKey(dtype.F32, appendFloat(nil, dtype.F32, 0)), sortKey(dtype.F32, appendFloat(nil, dtype.F32, math.Copysign(0, -1))))
	for _, d := range []dtype.DType{dtype.I8, dtype.I64} {
		require.Less(t, sortKey(d, appendInt(nil, d, -1)), sortKey(d, appendInt(nil, d, 0)))
		require.Less(t, sortKey(d, appendInt(nil, d, 3)), sortKey(d, appendInt(nil, d, 100)))
	}
	require.Less(t, sortKey(dtype.U64, appendInt(nil, dtype.U64, 1)), sortKey(dtype.U64, appendInt(nil, dtype.U64, -1)))
	require.Less(t, sortKey(dtype.U8, []byte{1}), sortKey(dtype.U8, []byte{200}))
}

// TestUniqueNaive compares with a linear search through all earlier slices.
func TestUniqueNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := shape.Of(r.IntN(3), r.IntN(5), 1+r.IntN(2))
		x := hostTensor{DType: dtype.I8, Shape: s}
		for range s.Size() {
			x.Data = append(x.Data, byte(r.IntN(2)))
		}
		axis := r.IntN(3)
		items := make([]string, s[axis])
		for i := range items {
			for k, stride := 0, s[axis+1:].Size(); k < s.Size(); k++ {
				if k/stride%s[axis] == i {
					items[i] += string('0' + rune(x.Data[k]))
				}
			}
		}
		var seen []string
		var first, counts, inverse []int
		for i, item := range items {
			at := -1
			for k, other := range seen {
				if other == item {
					at = k
				}
			}
			if at < 0 {
				at = len(seen)
				seen, first, counts = append(seen, item), append(first, i), append(counts, 0)
			}
			counts[at]++
			inverse = append(inverse, at)
		}
		got := uniqueOf(x, axis, false)
		require.Equal(t, len(seen), got[0].Shape[axis])
		require.Len(t, got[0].Data, got[0].Shape.Size())
		for i, want := range [][]int{first, inverse, counts} {
			if have := toInts(dtype.I64, got[1+i].Data); len(want)+len(have) > 0 {
				require.Equal(t, want, have, "output %d of %v along %d", 1+i, s, axis)
			}
		}
	}
}
