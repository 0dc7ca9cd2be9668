package vecmath_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
)

// functions lists the functions of one operand, each with its definition in float64.
var functions = map[string]struct {
	run  func(d, x []float32)
	want func(x float64) float64
}{
	"exp":     {vecmath.Exp, math.Exp},
	"log":     {vecmath.Log, math.Log},
	"erf":     {vecmath.Erf, math.Erf},
	"tanh":    {vecmath.Tanh, math.Tanh},
	"sigmoid": {vecmath.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	"silu":    {func(d, x []float32) { vecmath.Silu(d, x, 1.5) }, func(x float64) float64 { return x / (1 + math.Exp(-1.5*x)) }},
	"exp sub": {func(d, x []float32) { vecmath.ExpSub(d, x, -0.5) }, func(x float64) float64 { return math.Exp(x + 0.5) }},
}

// TestSpecialValuesInLines puts one special value at several positions of lines whose lengths are around the lengths of vectors. Its
// result and the results of its neighbours must be right. Results may be computed in place.
func TestSpecialValuesInLines(t *testing.T) {
	specials := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, 1e-40}
	for name, f := range functions {
		for n := 1; n < 40; n += 1 + n/9 {
			for _, special := range specials {
				if name == "silu" && math.IsInf(special, -1) {
					continue // minus infinity times zero
				}
				for at := 0; at < n; at += 1 + n/5 {
					x := make([]float32, n)
					for i := range x {
						x[i] = 0.5 + float32(i)/16
					}
					x[at] = float32(special)
					d := make([]float32, n+1)
					d[n] = 42
					f.run(d[:n], x)
					require.EqualValues(t, 42, d[n], "the element behind the line was written")
					for i, v := range x {
						want := f.want(float64(v))
						got := float64(d[i])
						switch {
						case math.IsNaN(want) || math.IsNaN(got):
							require.True(t, math.IsNaN(want) && math.IsNaN(got), "%s(%v) = %v, want %v", name, v, got, want)
						case math.IsInf(want, 0) || math.Abs(want) > math.MaxFloat32:
							require.Equal(t, math.Copysign(math.Inf(1), want), got, "%s(%v)", name, v)
						default:
							require.InDelta(t, want, got, 1e-6*math.Abs(want)+1e-37, "%s(%v)", name, v)
						}
					}
					f.run(x, x)
					require.True(t, equal(d[:n], x), "%s in place", name)
				}
			}
		}
	}
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] && (a[i] == a[i] || b[i] == b[i]) {
			return false
		}
	}
	return true
}

// TestExpSubSums compares the sum that ExpSub returns with the sum of the exponentials in float64.
func TestExpSubSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < 3000; n += 1 + n/3 {
		x, d := make([]float32, n), make([]float32, n)
		var want float64
		for i := range x {
			x[i] = rng.Float32()*6 - 3
			want += math.Exp(float64(x[i]) - 1.5)
		}
		require.InDelta(t, want, vecmath.ExpSub(d, x, 1.5), 2e-6*want)
	}
	require.Panics(t, func() { vecmath.Exp(make([]float32, 3), make([]float32, 4)) }, "the result is shorter")
}
