package amd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

func TestInts(t *testing.T) {
	got, err := ints("padding", []int64{math.MinInt32, -1, 0, math.MaxInt32})
	require.NoError(t, err)
	require.Equal(t, []int32{math.MinInt32, -1, 0, math.MaxInt32}, got)
	for _, x := range []int64{1 << 31, 1 << 32, -1<<31 - 1} {
		_, err := ints("padding", []int64{0, x})
		require.ErrorIs(t, err, vendor.ErrUnsupported, "%d", x)
		require.ErrorContains(t, err, "padding")
	}
}
