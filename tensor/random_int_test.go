package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/tensor"
)

// Integers are drawn from ranges within their type; beyond it they would wrap, so that is refused, as NumPy and PyTorch do.
func TestRandomIntWithinItsType(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		t         dtype.DType
		low, high int
		fits      bool
	}{
		{dtype.U8, 0, 256, true}, {dtype.U8, 0, 257, false}, {dtype.U8, -1, 5, false}, {dtype.I8, -128, 128, true}, {dtype.I8, -129, 0, false}, {dtype.I8, 0, 129, false}, {dtype.U16, 0, 1 << 16, true},
		{dtype.I16, 0, 1<<15 + 1, false}, {dtype.I32, math.MinInt32, math.MaxInt32 + 1, true}, {dtype.I32, 0, math.MaxInt32 + 2, false}, {dtype.U32, 0, 1 << 32, true}, {dtype.U32, 0, 1<<32 + 1, false},
		{dtype.U64, -5, 5, false}, {dtype.U64, 0, 1 << 61, true}, {dtype.I64, math.MinInt64, math.MinInt64 + 10, true}, {dtype.I64, math.MaxInt64 - 9, math.MaxInt64, true},
		{dtype.I64, -1 << 61, 1 << 61, false}, {dtype.I32, 5, 5, false}, {dtype.F32, 0, 5, false}, {dtype.Bool, 0, 2, false},
	} {
		err := tensor.Try(func() {
			x := d.RandomInt(c.t, c.low, c.high, 200)
			for _, v := range data[int64](t, x.Cast(dtype.I64)) {
				require.GreaterOrEqual(t, v, int64(c.low))
				require.Less(t, v, int64(c.high))
			}
		})
		if c.fits {
			require.NoError(t, err, "%v from %d to %d", c.t, c.low, c.high)
		} else {
			require.ErrorIs(t, err, op.ErrAttr, "%v from %d to %d", c.t, c.low, c.high)
		}
	}
	seen := map[int64]int{} // all numbers of a small range, about as often as each other
	for _, v := range data[int64](t, d.RandomInt(dtype.I64, -2, 3, 5000)) {
		seen[v]++
	}
	require.Len(t, seen, 5)
	for v, n := range seen {
		require.InDelta(t, 1000, n, 150, "%d", v) // five standard deviations
	}
}
