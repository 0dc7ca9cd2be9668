package onnxtest

import (
	"math"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/stretchr/testify/require"
)

func arr[T dtype.Native](dims []int, v ...T) Array {
	return Array{dtype.Of[T](), shape.Shape(dims), dtype.Bytes(v)}
}

func TestCompare(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	half := func(v ...float32) Array {
		hs := make([]dtype.Float16, len(v))
		for i, f := range v {
			hs[i] = dtype.ToFloat16(f)
		}
		return arr([]int{len(v)}, hs...)
	}
	for name, c := range map[string]struct {
		got, want Array
		tol       Tolerance
		what      string // empty: equal
		index     []int
		max       float64
	}{
		"equal":        {got: arr([]int{2}, float32(1), 2), want: arr([]int{2}, float32(1), 2), tol: Default},
		"empty":        {got: arr[float32]([]int{0, 3}), want: arr[float32]([]int{0, 3}), tol: Default},
		"scalar":       {got: arr(nil, int64(3)), want: arr(nil, int64(3))},
		"nan is nan":   {got: arr([]int{1}, nan), want: arr([]int{1}, nan)},
		"nan is not 0": {got: arr([]int{2}, 0, nan), want: arr([]int{2}, float32(0), 0), tol: Tolerance{Rel: 1, Abs: 1}, what: "1 of 2", index: []int{1}},
		"inf is inf":   {got: arr([]int{1}, inf), want: arr([]int{1}, inf)},
		"inf sign":     {got: arr([]int{1}, -inf), want: arr([]int{1}, inf), tol: Default, what: "1 of 1", index: []int{0}},
		"inf for much": {got: arr([]int{1}, float32(3e38)), want: arr([]int{1}, inf), tol: Default, what: "1 of 1", index: []int{0}},
		"relative":     {got: arr([]int{1}, float32(1000.9)), want: arr([]int{1}, float32(1000)), tol: Default},
		"too far":      {got: arr([]int{1}, float32(1002)), want: arr([]int{1}, float32(1000)), tol: Default, what: "max error 2, relative 0.002", index: []int{0}, max: 2},
		"absolute":     {got: arr([]int{1}, float32(9e-6)), want: arr([]int{1}, float32(0)), tol: Default},
		"above zero":   {got: arr([]int{1}, float32(2e-5)), want: arr([]int{1}, float32(0)), tol: Tolerance{Rel: 1, Abs: 1e-5}, what: "1 of 1", index: []int{0}, max: 2e-5},
		"first index":  {got: arr([]int{2, 2}, float64(0), 0, 5, 7), want: arr([]int{2, 2}, float64(0), 0, 1, 1), tol: Default, what: "2 of 4 elements out of tolerance, max error 6, relative 6; first at [1,0]: got 5, want 1", index: []int{1, 0}, max: 6},
		"half":         {got: half(1.005), want: half(1), tol: Half},
		"ints exact":   {got: arr([]int{1}, uint8(101)), want: arr([]int{1}, uint8(100)), tol: Tolerance{Rel: 1, Abs: 10}, what: "1 of 1 elements differ, by up to 1; first at [0]: got 101, want 100", index: []int{0}, max: 1},
		"u64":          {got: arr([]int{1}, uint64(math.MaxUint64)), want: arr([]int{1}, uint64(0)), what: "got 18446744073709551615, want 0", index: []int{0}, max: math.MaxUint64},
		"bool":         {got: arr([]int{1}, true), want: arr([]int{1}, false), what: "got true, want false", index: []int{0}, max: 1},
		"dtype":        {got: arr([]int{1}, int32(1)), want: arr([]int{1}, int64(1)), what: "got i32[1], want i64[1]"},
		"shape":        {got: arr([]int{1, 2}, int32(1), 2), want: arr([]int{2}, int32(1), 2), what: "got i32[1,2], want i32[2]"},
		"any value":    {got: arr([]int{1}, true), want: arr([]int{1}, false), tol: Tolerance{Any: true}},
		"any, dtype":   {got: arr([]int{1}, true), want: arr([]int{1}, uint8(0)), tol: Tolerance{Any: true}, what: "got bool[1], want u8[1]"},
		"rank 0":       {got: arr([]int{1}, int32(1)), want: arr(nil, int32(1)), what: "got i32[1], want i32[]"},
	} {
		t.Run(name, func(t *testing.T) {
			m := compare("y", c.got, c.want, c.tol)
			if c.what == "" {
				require.Nil(t, m)
				return
			}
			require.NotNil(t, m)
			require.ErrorContains(t, m, "y: ")
			require.ErrorContains(t, m, c.what)
			require.Equal(t, c.index, m.Index)
			require.InDelta(t, c.max, m.MaxAbs, 1e-6)
		})
	}
}
