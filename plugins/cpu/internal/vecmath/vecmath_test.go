package vecmath

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// inputs returns numbers of all magnitudes and both signs, and special values.
func inputs() []float32 {
	xs := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32, 88.7228, 88.723, -87.4, -103.9, -104}
	for b := uint32(0); b < 0x7f800000; b += 99991 {
		x := math.Float32frombits(b)
		xs = append(xs, x, -x)
	}
	for i := range 40000 {
		xs = append(xs, float32(i-20000)/173)
	}
	return xs
}

func check(t *testing.T, name string, f func(dst, x []float32), want func(float64) float64, ulps float64) {
	t.Helper()
	xs := inputs()
	got := make([]float32, len(xs))
	f(got, xs)
	worst, at := 0.0, float32(0)
	for i, x := range xs {
		w := want(float64(x))
		r := float32(w)
		g := got[i]
		if r != r || math.IsInf(float64(r), 0) || r == 0 {
			if !(r != r && g != g) && math.Float32bits(r) != math.Float32bits(g) && !(math.Abs(float64(g)) <= 0x1p-148 && r == 0) {
				require.Failf(t, name, "%s(%g) = %g, want %g", name, x, g, r)
			}
			continue
		}
		unit := math.Max(math.Ldexp(1, math.Ilogb(math.Abs(w))-23), 0x1p-149)
		if e := math.Abs(float64(g)-w) / unit; e > worst || e != e {
			worst, at = e, x
		}
	}
	t.Logf("%s: %.2f units at %g", name, worst, at)
	require.LessOrEqual(t, worst, ulps, "%s at %g", name, at)
}

func TestAccuracy(t *testing.T) {
	check(t, "exp", Exp, math.Exp, 3)
	check(t, "log", Log, math.Log, 3)
	check(t, "erf", Erf, math.Erf, 3)
	check(t, "tanh", Tanh, math.Tanh, 3)
	normal := func(x float64) float64 {
		y := 1 / (1 + math.Exp(-x))
		if y < 0x1p-126 { // subnormal results may be zero, as 1/(1+Inf) is
			return 0
		}
		return y
	}
	check(t, "sigmoid", func(d, x []float32) {
		Sigmoid(d, x)
		for i, v := range d {
			if v < 0x1p-126 {
				d[i] = 0
			}
		}
	}, normal, 3)
}

func TestGelu(t *testing.T) {
	xs := inputs()
	for name, c := range map[string]struct {
		f    func(d, x []float32)
		want func(x float64) float64
		rel  float64
	}{
		"erf":  {Gelu, func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }, 2e-6},
		"tanh": {GeluTanh, func(x float64) float64 { return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }, 1.2e-5},
	} {
		got := make([]float32, len(xs))
		c.f(got, xs)
		for i, x := range xs {
			w := c.want(float64(x))
			if w != w || math.IsInf(w, 0) {
				require.True(t, float64(got[i]) == w || got[i] != got[i] && w != w, "%s(%g) = %g, want %g", name, x, got[i], w)
				continue
			}
			require.LessOrEqual(t, math.Abs(float64(got[i])-w), c.rel*math.Abs(w)+1e-37, "%s(%g) = %g, want %g", name, x, got[i], w)
		}
	}
}

func BenchmarkErf(b *testing.B)  { bench(b, Erf) }
func BenchmarkGelu(b *testing.B) { bench(b, Gelu) }
func BenchmarkExp(b *testing.B)  { bench(b, Exp) }
func BenchmarkLog(b *testing.B)  { bench(b, Log) }
func BenchmarkTanh(b *testing.B) { bench(b, Tanh) }

func bench(b *testing.B, f func(d, x []float32)) {
	x, d := make([]float32, 4096), make([]float32, 4096)
	for i := range x {
		x[i] = float32(i)/1000 + 0.1
	}
	b.SetBytes(4 * 4096)
	for b.Loop() {
		f(d, x)
	}
}
