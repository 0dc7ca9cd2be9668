package conv

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestHolesAreZeros puts an infinite weight over holes: a zero times it is NaN.
func TestHolesAreZeros(t *testing.T) {
	pool := par.New(1)
	defer pool.Close()
	x := []float32{1, 2, 3, 4, 5, 6} // two channels
	w := make([]float32, 5*2*2)
	w[0] = float32(math.Inf(1)) // the first output's first element of the kernel, over the first channel
	p, err := New([]int{1, 2, 3}, []int{5, 2, 2}, Params{InputDilation: []int{2}})
	require.NoError(t, err)
	require.Len(t, p.phases, 2)
	out := make([]float32, 5*4)
	require.NoError(t, RunPlan(pool, p, x, w, out, nil))
	for i, v := range out[:4] {
		if i%2 == 0 {
			require.Equal(t, float32(math.Inf(1)), v, "place %d", i)
		} else {
			require.True(t, v != v, "place %d, got %v", i, v)
		}
	}
	require.Equal(t, make([]float32, 16), out[4:])
}
