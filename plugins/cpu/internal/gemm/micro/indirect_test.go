package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

func TestPlaces(t *testing.T) {
	natives(t, kernels32, checkPlaces[float32])
	natives(t, kernels64, checkPlaces[float64])
}

// checkPlaces compares tiles that read B by offsets with tiles of a contiguous copy of B. They must be bitwise equal.
func checkPlaces[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	if kern.Indirect == nil {
		t.Skip("the processor, or the level set by BURN_CPU, has no such loop in assembly")
	}
	half := kern.NR / 2
	for rows := 1; rows <= kern.MR; rows++ {
		for _, k := range []int{1, 3, 4, 9} {
			for _, cols := range []int{1, half - 1, half, half + 1, kern.NR} {
				const reach, next = 70, 41
				offsets := make([]int, k)
				for i := range offsets {
					offsets[i] = rng.IntN(reach + 1)
				}
				offsets[k-1] = reach
				end := reach + cols
				if cols > half {
					end = reach + max(half, next+cols-half)
				}
				src, a := gemmtest.Random[T](rng, end), gemmtest.Random[T](rng, (k-1)*(rows+1)+rows)
				b := make([]T, k*kern.NR)
				for p, o := range offsets {
					for j := range cols {
						at := o + j
						if j >= half {
							at += next - half
						}
						b[p*kern.NR+j] = src[at]
					}
				}
				for _, accumulate := range []bool{false, true} {
					got := gemmtest.Random[T](rng, rows*cols)
					want := append([]T(nil), got...)
					kern.Indirect(rows, cols, k, a, rows+1, src, offsets, reach, next, got, cols, accumulate, nil, 0, 0)
					kern.Tile(rows, cols, k, a, 1, rows+1, b, kern.NR, want, cols, accumulate, nil, 0, 0)
					require.Equal(t, want, got, "%d rows, %d cols, %d deep", rows, cols, k)
				}
			}
		}
	}
}
