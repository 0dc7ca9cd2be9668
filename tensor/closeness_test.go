package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// The ten elements and the counts come from the documentation of Burn's check_closeness.
func TestCloseness(t *testing.T) {
	d := open(t)
	got := tensor.From(d, []float64{1, 2, 3, 4, 5, 6.001, 7.002, 8.003, 9.004, 10.1}, 2, 5)
	want := tensor.From(d, []float64{1, 2, 3, 4, 5, 6, 7.001, 8.002, 9.003, 10.004}, 2, 5)
	c, err := tensor.CheckCloseness(ctx, got, want)
	require.NoError(t, err)
	var close []int
	for _, b := range c.Bands {
		close = append(close, b.Close)
	}
	require.Equal(t, []int{10, 10, 9, 6, 5, 5, 5, 5}, close)
	require.Equal(t, []int{1, 4}, c.Worst.Index)
	require.InDelta(t, 0.096, c.Worst.Abs, 1e-12)
	require.InDelta(t, 0.096/10.004, c.Worst.Rel, 1e-12)
	text := c.String()
	require.Contains(t, text, "within 1e-02: 10/10 (100.00%) pass\nwithin 1e-03: 9/10 (90.00%) warn\nwithin 1e-04: 6/10 (60.00%) fail\n")
	require.Contains(t, text, "worst: 10.1 at [1 4], want 10.004: difference 0.096, relative 0.0096\n")
}

func TestClosenessOfSpecialValues(t *testing.T) {
	d := open(t)
	inf, nan := math.Inf(1), math.NaN()
	c, err := tensor.CheckCloseness(ctx, tensor.From(d, []float32{float32(inf), float32(nan), float32(inf), 1, 0}),
		tensor.From(d, []float64{inf, nan, 2, nan, 0}))
	require.NoError(t, err)
	require.Equal(t, 2, c.NaN)
	require.Equal(t, 1, c.Infinite)
	require.Equal(t, 2, c.Bands[7].Close, "equal infinities and zeros")
	require.Equal(t, 40.0, c.Bands[7].Share(c.Elements))
	require.Equal(t, tensor.Worst{Index: []int{4}}, c.Worst)
	require.Contains(t, c.String(), "nan: 2\ninfinite on one side: 1\n")

	c, err = tensor.CheckCloseness(ctx, d.Zeros(dtype.I32, 0), d.Zeros(dtype.F32, 0))
	require.NoError(t, err)
	require.Nil(t, c.Worst.Index)
	require.Contains(t, c.String(), "within 1e-08: 0/0 (100.00%) pass")
	_, err = tensor.CheckCloseness(ctx, d.Zeros(dtype.F32, 2), d.Zeros(dtype.F32, 3))
	require.ErrorIs(t, err, core.ErrShape)
}
