package window_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/window"
)

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// The fast loops for float32 compute the sums and maxima of the plain loops, which float64 uses. Windows with dilation are not fast.
func TestFast(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	ones, none := []int{1, 1, 1}, []int{0, 0, 0}
	for _, size := range []int{2, 3, 5} {
		for stride := 1; stride <= 3; stride++ {
			for _, cols := range []int{7, 16, 33, 50} {
				p := window.Params{Size: []int{1, size, size}, Stride: []int{1, stride, stride}, PadLo: none, PadHi: none, Dilation: ones}
				plan, err := window.New([]int{3, 11, cols}, p)
				require.NoError(t, err)
				x, wide := make([]float32, 3*11*cols), make([]float64, 3*11*cols)
				for i := range x {
					x[i] = rng.Float32() - 0.5
					wide[i] = float64(x[i])
				}
				shape := plan.OutShape()
				n := shape[0] * shape[1] * shape[2]
				got, want := make([]float32, n), make([]float64, n)
				window.Sum(pool, plan, x, got)
				window.Sum(pool, plan, wide, want)
				for i := range got {
					require.InDelta(t, want[i], got[i], 1e-5, "sum, fast %v", plan.FastSum())
				}
				window.Max(pool, plan, x, got, nil)
				window.Max(pool, plan, wide, want, nil)
				for i := range got {
					require.Equal(t, float32(want[i]), got[i], "maximum, fast %v", plan.FastMax())
				}
				p.Dilation = []int{1, 1, 2}
				holes, err := window.New([]int{3, 11, 2*cols + 9}, p)
				require.NoError(t, err)
				require.False(t, holes.FastSum() || holes.FastMax())
			}
		}
	}
}
