package curve

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCurve checks that a curve keeps means of its values, in order, in bounded memory.
func TestCurve(t *testing.T) {
	var c Curve
	const n = 1 << 14
	for i := range n {
		c.Add(float64(i), float64(i%7))
	}
	c.Add(n, math.NaN())
	require.LessOrEqual(t, len(c.X), Most)
	require.GreaterOrEqual(t, len(c.X), Most/2)
	for i := 1; i < len(c.X); i++ {
		require.Greater(t, c.X[i], c.X[i-1])
	}
	var sum float64
	for _, y := range c.Y {
		sum += y
	}
	require.InDelta(t, 3, sum/float64(len(c.Y)), 0.05)
	c.Cut(100)
	require.LessOrEqual(t, c.X[len(c.X)-1], 100.0)
	c.Add(200, 1)
	require.Equal(t, 200.0, c.X[len(c.X)-1])
}
