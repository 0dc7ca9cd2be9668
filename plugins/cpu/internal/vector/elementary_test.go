package vector

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// sweep returns numbers of all magnitudes and both signs, densely for small numbers, and special values.
func sweep() []float32 {
	x := append([]float32(nil), specials...)
	for b := uint32(0); b < 0x7f800000; b += 49999 {
		v := math.Float32frombits(b)
		x = append(x, v, -v)
	}
	for i := range 60000 {
		x = append(x, float32(i-30000)/997)
	}
	return x
}

// distance returns the distance from want to got, in units in the last place of float32. Zeros of different signs are infinitely apart.
func distance(got float32, want float64) float64 {
	rounded := float32(want)
	switch {
	case want != want:
		if got != got {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(float64(rounded), 0) || math.IsInf(float64(got), 0):
		if got == rounded || math.Abs(want) > math.MaxFloat32 && math.Abs(float64(got)) == math.MaxFloat32 {
			return 0
		}
		return math.Inf(1)
	case want == 0:
		if math.Float32bits(got) == math.Float32bits(rounded) {
			return 0
		}
		return math.Inf(1)
	}
	unit := math.Max(math.Ldexp(1, math.Ilogb(want)-23), 0x1p-149)
	return math.Abs(float64(got)-want) / unit
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func logOf(x float64) float64 { return math.Log(x) }

func TestElementary(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			f    Function
			want func(x float64) float64
			most float64
		}{
			{"log", Log, logOf, 2},
			{"log1p", Log1p, math.Log1p, 2},
			{"expm1", Expm1, math.Expm1, 2},
			{"erf", Erf, math.Erf, 2},
			{"gelu", Gelu, func(x float64) float64 { return x * (math.Erfc(-x/math.Sqrt2) / 2) }, 5},
			{"gelu tanh", GeluTanh, func(x float64) float64 {
				t := 2 * math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)
				if math.Abs(x) > 1e20 {
					t = math.Copysign(1e30, x)
				}
				return x * (1 / (1 + math.Exp(-t)))
			}, 4},
			{"softplus", Softplus, softplus, 3},
			{"mish", Mish, func(x float64) float64 {
				e := math.Exp(math.Min(x, 60))
				return x * (e * (e + 2) / (e*(e+2) + 2))
			}, 5},
			{"sin", Sine, math.Sin, 2},
			{"cos", Cosine, math.Cos, 2},
			{"neg", Neg, func(x float64) float64 { return -x }, 0},
			{"abs", Abs, math.Abs, 0},
			{"square", Square, func(x float64) float64 { return x * x }, 0.5},
			{"sqrt", Sqrt, math.Sqrt, 0.5},
			{"rsqrt", Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.5},
			{"reciprocal", Reciprocal, func(x float64) float64 { return 1 / x }, 0.5},
			{"round", Round, math.RoundToEven, 0},
			{"floor", Floor, math.Floor, 0},
			{"ceil", Ceil, math.Ceil, 0},
			{"trunc", Trunc, math.Trunc, 0},
		} {
			x := sweep()
			if c.f == Sine || c.f == Cosine {
				kept := x[:0]
				for _, v := range x {
					if v != v || math.Abs(float64(v)) <= Reach {
						kept = append(kept, v)
					}
				}
				x = kept
			}
			d := make([]float32, len(x))
			c.f.Apply(d, x)
			worst, at := 0.0, float32(0)
			for i, v := range x {
				want := c.want(float64(v))
				if math.Abs(want) < 0x1p-118 && (c.f == Gelu || c.f == GeluTanh || c.f == Mish || c.f == Softplus) && math.Abs(float64(d[i])-want) < 0x1p-140 {
					continue // a factor is subnormal
				}
				if u := distance(d[i], want); u > worst {
					worst, at = u, v
				}
			}
			t.Logf("%s: %.2f units at %g", c.name, worst, at)
			if !(worst <= c.most) {
				y := make([]float32, 1)
				c.f.Apply(y, []float32{at})
				t.Errorf("%s(%g), got %g, want %g: %.2f units, want at most %g", c.name, at, y[0], c.want(float64(at)), worst, c.most)
			}
		}
	})
}

// atMost fails when d is above bound or NaN. It is called for millions of elements, for which require is slow.
func atMost(t *testing.T, d, bound float64, format string, args ...any) {
	if !(d <= bound) {
		t.Helper()
		t.Fatalf("%g units in the last place, want at most %g: "+format, append([]any{d, bound}, args...)...)
	}
}

func TestCoefficients(t *testing.T) {
	each(t, func(t *testing.T) {
		x := sweep()
		d := make([]float32, len(x))
		Elu(d, x, 1.5, 1.25, 2)
		for i, v := range x {
			want := 1.25 * float64(v)
			if v < 0 {
				want = 1.25 * 1.5 * math.Expm1(float64(v)/2)
			}
			atMost(t, distance(d[i], want), 4.0, "elu(%g) = %g", v, d[i])
		}
		Leaky(d, x, 0.25)
		for i, v := range x {
			same(t, max(v, v*0.25), d[i], v)
		}
		for _, times := range []bool{false, true} {
			Gate(d, x, 1.0/6, 0.5, times)
			for i, v := range x {
				want := math.Min(math.Max(float64(v)/6+0.5, 0), 1)
				if times {
					want *= float64(v)
				}
				if want == 0 && d[i] == 0 {
					continue
				}
				atMost(t, distance(d[i], want), 2.0, "gate(%g) = %g, want %g", v, d[i], want)
			}
		}
		Linear(d, x, 3, -1)
		for i, v := range x {
			atMost(t, distance(d[i], math.FMA(float64(v), 3, -1)), 0.5, "linear(%g)", v)
		}
		Standard(d, x, 1, 2)
		for i, v := range x {
			same(t, (v-1)*2, d[i], v)
		}
	})
}

func BenchmarkFunctions(b *testing.B) {
	if !Has() {
		b.Skip("this processor has no vector loops")
	}
	x, d := make([]float32, 4096), make([]float32, 4096)
	for i := range x {
		x[i] = float32(i)/1000 + 0.1
	}
	for f := range functions {
		b.Run(fmt.Sprint(int(f)), func(b *testing.B) {
			b.SetBytes(8 * 4096)
			for b.Loop() {
				f.Apply(d, x)
			}
		})
	}
}

func TestPow(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, y := range []float64{0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.7, 1. / 3, 2.4, 10.25, -37.5, 300, 1e-3, 1e9} {
			var x []float32
			for _, v := range sweep() {
				if v > 0 && !math.IsInf(float64(v), 0) || y > 0.2 && math.Float32bits(v) == 0 {
					x = append(x, v)
				}
			}
			for i := range 4096 {
				x = append(x, 1+float32(i-2048)/(1<<21), float32(i+1)/64)
			}
			x = x[:len(x)&^15]
			d := make([]float32, len(x))
			require.Equal(t, len(x), Pow(d, x, y))
			for i, v := range x {
				atMost(t, distance(d[i], math.Pow(float64(v), y)), 1.0, "%g to the power %g: got %g", v, y, d[i])
			}
		}
	})
}
