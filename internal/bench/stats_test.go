package bench

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	ms := func(v ...int) []time.Duration {
		d := make([]time.Duration, len(v))
		for i, x := range v {
			d[i] = time.Duration(x) * time.Millisecond
		}
		return d
	}
	for name, c := range map[string]struct {
		in                      []time.Duration
		median, best, low, high time.Duration
	}{
		"none":  {},
		"one":   {ms(3), 3e6, 3e6, 3e6, 3e6},
		"odd":   {ms(5, 1, 3), 3e6, 1e6, 2e6, 4e6},
		"even":  {ms(4, 1, 2, 3), 2.5e6, 1e6, 1.75e6, 3.25e6}, // as numpy.percentile computes them
		"equal": {ms(2, 2, 2, 2, 2), 2e6, 2e6, 2e6, 2e6},
	} {
		s := Summarize(c.in)
		require.Equal(t, Stats{len(c.in), c.median, c.best, c.low, c.high}, s, name)
	}
	require.InDelta(t, 2.0/3, Summarize(ms(5, 1, 3)).Spread(), 1e-12)
	require.Zero(t, Stats{}.Spread())
}

func TestMeans(t *testing.T) {
	require.InDelta(t, 2, GeoMean([]float64{1, 2, 4}), 1e-12)
	require.InDelta(t, 1, GeoMean([]float64{0.25, 4}), 1e-12)
	require.True(t, math.IsNaN(GeoMean(nil)))
	require.InDelta(t, 4, Rate(2_000_000, 500*time.Microsecond), 1e-12)
	require.Zero(t, Rate(1, 0))
}

func TestSampler(t *testing.T) { synctest.Test(t, samples) }

func samples(t *testing.T) {
	var s sampler
	calls := 0
	require.NoError(t, s.turn(t.Context(), 20*time.Millisecond, func(n int) error {
		calls += n
		time.Sleep(time.Duration(n) * 100 * time.Microsecond)
		return nil
	}))
	require.Greater(t, s.batch, 1, "short calls must be measured in batches")
	st := s.Stats()
	require.Equal(t, 100*time.Microsecond, st.Median)
	require.Less(t, st.Runs, calls, "the warm-up must not be counted")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.turn(ctx, time.Hour, func(int) error { return nil }), context.Canceled)
	require.ErrorIs(t, Race(ctx, time.Hour, 0, Copy(1024, 1)), context.Canceled)
}

func TestLimits(t *testing.T) {
	l, err := Measure(t.Context(), 2, 2*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, 2, l.Threads)
	require.Equal(t, "f32", l.Flops[0].Type)
	require.Len(t, l.Copy, len(CopySizes))
	for _, c := range l.Flops {
		require.Positive(t, c.GFlops)
		require.NotEmpty(t, c.Level)
	}
	for _, c := range l.Copy {
		require.Positive(t, c.GBps)
	}
	_, ok := Compute(0, 1)
	require.False(t, ok)
}
