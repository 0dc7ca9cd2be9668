package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var specials = []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
	math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32, 0.5, -3}

// same checks that two numbers have equal bits; NaNs are equal.
func same(t *testing.T, want, got float32, what ...any) {
	if want != want && got != got {
		return
	}
	if math.Float32bits(want) != math.Float32bits(got) {
		t.Helper()
		t.Fatalf("got %v, want %v: %v", got, want, fmt.Sprint(what...))
	}
}

func TestPairs(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			pair Pair
			op   func(a, b float32) float32
		}{
			{"add", Add(), func(a, b float32) float32 { return a + b }},
			{"sub", Sub(), func(a, b float32) float32 { return a - b }},
			{"mul", Mul(), func(a, b float32) float32 { return a * b }},
			{"div", Div(), func(a, b float32) float32 { return a / b }},
			{"max", Max(), func(a, b float32) float32 { return max(a, b) }},
			{"min", Min(), func(a, b float32) float32 { return min(a, b) }},
		} {
			var a, b []float32
			for _, x := range specials {
				for _, y := range specials {
					a, b = append(a, x), append(b, y)
				}
			}
			for n := 0; n <= len(a); n += 1 + n/9 {
				d := make([]float32, n+1)
				d[n] = 7
				c.pair.Both(d[:n], a[:n], b[:n])
				for i := range n {
					same(t, c.op(a[i], b[i]), d[i], c.name, a[i], b[i])
				}
				for _, y := range specials {
					c.pair.To(d[:n], a[:n], y)
					for i := range n {
						same(t, c.op(a[i], y), d[i], c.name, a[i], y)
					}
					c.pair.From(d[:n], y, b[:n])
					for i := range n {
						same(t, c.op(y, b[i]), d[i], c.name, y, b[i])
					}
				}
				require.Equal(t, float32(7), d[n], "the element behind the result was written")
			}
		}
	})
}

func TestClamp(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for n := range 70 {
			x := append(random(rng, n), specials...)
			d := make([]float32, len(x))
			Clamp(d, x, -0.25, 0.5)
			for i, v := range x {
				same(t, min(max(v, -0.25), 0.5), d[i], v)
			}
		}
	})
}

// units returns the distance between a and b, in units in the last place of b
// as a float32.
func units(a float32, b float64) float64 {
	want := float32(b)
	if a != a && want != want || a == want {
		return 0
	}
	next := math.Nextafter32(want, float32(math.Inf(1)))
	return math.Abs(float64(a)-b) / math.Abs(float64(next)-float64(want))
}

func TestFunctions(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			got  func(d, x []float32)
			want func(x float64) float64
			most float64
		}{
			{"exp", Exp, math.Exp, 2},
			{"tanh", Tanh, math.Tanh, 3},
			{"sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 4},
			{"silu", func(d, x []float32) { Silu(d, x, 1) }, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 5},
		} {
			x := append([]float32(nil), specials...)
			for v := float32(-86); v < 92; v += 0.00731 {
				x = append(x, v, v/1000)
			}
			if c.name == "exp" {
				for v := float32(-110); v < -86; v += 0.013 {
					x = append(x, v)
				}
			}
			d := make([]float32, len(x))
			c.got(d, x)
			for i, v := range x {
				want := c.want(float64(v))
				if c.name == "silu" && (v < -55 || v != v) || c.name == "sigmoid" && v < -86 {
					continue // the quotient is below what float32 holds, or infinity over infinity
				}
				if u := units(d[i], want); !(u <= c.most) {
					t.Fatalf("%s(%v), got %v, want %v: %v units apart", c.name, v, d[i], want, u)
				}
			}
		}
	})
}

func TestExpSub(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for n := range 90 {
			x, d, sum := random(rng, n), make([]float32, n), 0.0
			got := ExpSub(d, x, 0.5)
			for i, v := range x {
				want := math.Exp(float64(v) - 0.5)
				require.InEpsilon(t, want, d[i], 1e-6)
				sum += want
			}
			require.InDelta(t, sum, got, 1e-5)
		}
	})
}
