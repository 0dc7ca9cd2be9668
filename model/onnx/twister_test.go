package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected numbers come from numpy.random.RandomState(seed).
func TestTwister(t *testing.T) {
	uniform := func(seed uint32, n int) []float64 {
		g, out := newTwister(seed), make([]float64, n)
		for i := range out {
			out[i] = g.Float64()
		}
		return out
	}
	require.Equal(t, []float64{0.5488135039273248, 0.7151893663724195, 0.6027633760716439}, uniform(0, 3))
	require.Equal(t, []float64{0.0976320289940138, 0.9123828453026218}, uniform(4294967295, 2))
	require.Equal(t, 0.7905930946436218, uniform(5, 1000)[999])
	g := newTwister(7)
	for _, want := range []float64{1.690525703800356, -0.4659373705408328, 0.0328201636785844, 0.40751628299650783} {
		require.InDelta(t, want, g.NormFloat64(), 1e-15)
	}
}
