package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

func TestEnding(t *testing.T) {
	natives(t, kernels32, checkEnding[float32])
	natives(t, kernels64, checkEnding[float64])
}

// checkEnding compares tiles whose epilogue is applied in registers with tiles whose epilogue is applied in memory. They must be bitwise
// equal.
func checkEnding[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	const k, y, x = 5, 2, 3
	nan, inf := T(math.NaN()), T(math.Inf(1))
	wide := GroupPanels * kern.NR
	for _, e := range []*Epilogue[T]{
		{BiasRow: gemmtest.Random[T](rng, y+kern.MR)},
		{BiasCol: gemmtest.Random[T](rng, x+wide)},
		{HasClamp: true, Lo: -0.25, Hi: 0.5},
		{BiasRow: gemmtest.Random[T](rng, y+kern.MR), BiasCol: gemmtest.Random[T](rng, x+wide), HasClamp: true, Lo: 0, Hi: inf},
	} {
		for rows := 1; rows <= kern.MR; rows++ {
			a := gemmtest.Random[T](rng, kern.MR*k)
			b := gemmtest.Random[T](rng, wide*k)
			a[rows-1] = nan // makes a row of the result NaN
			offsets := make([]int, k)
			for p := range offsets {
				offsets[p] = p * kern.NR
			}
			for _, cols := range []int{1, kern.NR/2 - 1, kern.NR / 2, kern.NR/2 + 1, kern.NR, wide} {
				for _, accumulate := range []bool{false, true} {
					ldc := cols + 1
					want := gemmtest.Random[T](rng, rows*ldc)
					got := append([]T(nil), want...)
					run := func(c []T, e *Epilogue[T]) {
						switch {
						case cols == wide && kern.Panels != nil && rows <= GroupRows:
							kern.Panels(rows, k, a, 1, kern.MR, b, c, ldc, accumulate, e, y, x)
						case cols <= kern.NR:
							kern.Tile(rows, cols, k, a, 1, kern.MR, b, kern.NR, c, ldc, accumulate, e, y, x)
						}
					}
					same := func(what string) {
						for i := range want {
							require.Equal(t, math.Float64bits(float64(want[i])), math.Float64bits(float64(got[i])),
								fmt.Sprintf("%s: %d rows, %d cols, element %d", what, rows, cols, i))
						}
					}
					first := append([]T(nil), want...)
					run(want, nil)
					if cols <= kern.NR || kern.Panels != nil && rows <= GroupRows {
						kern.ApplyEpilogue(rows, cols, want, ldc, e, y, x)
					}
					run(got, e)
					same("tile")
					if kern.Indirect == nil || cols > kern.NR || e.BiasCol != nil {
						continue
					}
					got = first
					kern.Indirect(rows, cols, k, a, kern.MR, b, offsets, offsets[k-1], kern.NR/2, got, ldc, accumulate, e, y, x)
					same("places")
				}
			}
		}
	}
}
