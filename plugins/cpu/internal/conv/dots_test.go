package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestDotsOfInfinity puts an infinity where only one output of each channel reads it: the other outputs must stay finite.
func TestDotsOfInfinity(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	p, err := New([]int{1, 2, 10, 11}, []int{3, 2, 9, 9}, Params{})
	require.NoError(t, err)
	require.Equal(t, micro.Active[float32]().Dot != nil, dotProducts[float32]{}.fits(p), "the portable kernels have no dot product")
	rng := rand.New(rand.NewPCG(7, 8))
	x, w := random[float32](rng, 2*10*11), random[float32](rng, 3*2*9*9)
	want, got := make([]float32, 3*2*3), make([]float32, 3*2*3)
	x[0] = 0
	require.NoError(t, RunPlan(pool, p, x, w, want, nil))
	x[0] = float32(math.Inf(1))
	require.NoError(t, RunPlan(pool, p, x, w, got, nil))
	for i := range got {
		if i%6 == 0 {
			require.True(t, math.IsInf(float64(got[i]), 0), "element %d, got %v", i, got[i])
		} else {
			require.InDelta(t, want[i], got[i], 1e-4, "element %d", i)
		}
	}
}
