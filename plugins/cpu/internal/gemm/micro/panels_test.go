package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

func TestGroupOfPanels(t *testing.T) {
	natives(t, kernels32, checkPanels[float32])
	natives(t, kernels64, checkPanels[float64])
}

func checkPanels[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	if kern.Panels == nil {
		t.Skip("the processor, or the level set by BURN_CPU, has no such loop in assembly")
	}
	n := GroupPanels * kern.NR
	for rows := 1; rows <= GroupRows; rows++ {
		for _, k := range []int{1, 2, 9} {
			for _, accumulate := range []bool{false, true} {
				a, b := gemmtest.Random[T](rng, rows*k), gemmtest.Random[T](rng, k*n)
				got := gemmtest.Random[T](rng, rows*(n+1))
				want := append([]T(nil), got...)
				kern.Panels(rows, k, a, k, 1, b, got, n+1, accumulate, nil, 0, 0)
				for q := range GroupPanels { // bitwise equal to the results of tiles
					kern.Tile(rows, kern.NR, k, a, k, 1, b[q*k*kern.NR:], kern.NR, want[q*kern.NR:], n+1, accumulate, nil, 0, 0)
				}
				require.Equal(t, want, got, "%d rows, %d deep", rows, k)
			}
		}
	}
}
