package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestResultsDoNotDependOnPlace computes parts of a slice and compares them with the whole slice: the bits of a result depend neither on
// the position of its element nor on the number of elements.
func TestResultsDoNotDependOnPlace(t *testing.T) {
	loops := map[string]func(d, x []float32){
		"exp": Exp, "sigmoid": Sigmoid, "tanh": Tanh,
		"silu":     func(d, x []float32) { Silu(d, x, 1.5) },
		"exp sub":  func(d, x []float32) { ExpSub(d, x, 0.3) },
		"elu":      func(d, x []float32) { Elu(d, x, 1.5, 1.25, 2) },
		"gate":     func(d, x []float32) { Gate(d, x, 1.0/6, 0.5, true) },
		"linear":   func(d, x []float32) { Linear(d, x, 1.0/3, 0.7) },
		"standard": func(d, x []float32) { Standard(d, x, 0.1, 1.7) },
		"divide":   func(d, x []float32) { Div().From(d, 1.3, x) },
	}
	for f := range functions {
		loops[fmt.Sprintf("function %d", f)] = f.Apply
	}
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		x := random(rng, 200)
		for i := range x {
			x[i] *= float32(math.Exp2(float64(rng.IntN(8))))
		}
		for name, f := range loops {
			want := make([]float32, len(x))
			f(want, x)
			for range 50 {
				lo := rng.IntN(len(x))
				hi := lo + 1 + rng.IntN(len(x)-lo)
				got := append([]float32(nil), x[lo:hi]...)
				f(got, got)
				for i, v := range got {
					if math.Float32bits(v) != math.Float32bits(want[lo+i]) && v == v {
						require.Equal(t, want[lo+i], v, "%s of element %d from %d to %d", name, lo+i, lo, hi)
					}
				}
			}
		}
	})
}

// TestRowsAlone checks that OfRows returns the same for a single row as for the row in a matrix.
func TestRowsAlone(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for cols := 1; cols < 70; cols++ {
			x, together, alone := random(rng, 7*cols), make([]float32, 7), make([]float32, 7)
			for j := Sums; j <= Minima; j++ {
				j.OfRows(together, x, cols, cols)
				for r := range alone {
					j.OfRows(alone[r:r+1], x[r*cols:][:cols], cols, cols)
				}
				require.Equal(t, together, alone, "joint %d of %d columns", j, cols)
			}
		}
	})
}
