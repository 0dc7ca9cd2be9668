package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/par"
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
				a, b := random[T](rng, rows*k), random[T](rng, k*n)
				got := random[T](rng, rows*(n+1))
				want := append([]T(nil), got...)
				kern.Panels(rows, k, a, k, 1, b, got, n+1, accumulate, nil, 0, 0)
				for q := range GroupPanels { // bit for bit the results of tiles
					kern.Tile(rows, kern.NR, k, a, k, 1, b[q*k*kern.NR:], kern.NR, want[q*kern.NR:], n+1, accumulate, nil, 0, 0)
				}
				require.Equal(t, want, got, "%d rows, %d deep", rows, k)
			}
		}
	}
}

func TestMulTurned(t *testing.T) {
	if !CanTranspose[float64]() {
		t.Skip("the processor, or the level set by BURN_CPU, has no such kernel in assembly")
	}
	rng := rand.New(rand.NewPCG(61, 62))
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, s := range [][3]int{{49, 70, 300}, {1, 1, 1}, {15, 33, 513}, {28, 160, 40}} {
			m, n, k := s[0], s[1], s[2]
			a, b := Row(random[float64](rng, m*k), k), Row(random[float64](rng, k*n), n)
			for _, accumulate := range []bool{false, true} {
				c := random[float64](rng, n*m)
				e := &Epilogue[float64]{BiasRow: random[float64](rng, n), HasClamp: true, Lo: -1, Hi: 1}
				want := naive(&Args[float64]{M: n, N: m, K: k, C: c, LDC: m, Accumulate: accumulate, Epilogue: e}, b.T(), a.T())
				MulTransposed(pool, &Transposed[float64]{M: m, N: n, K: k, A: a, B: PackB(pool, k, n, b), C: c, LDC: m, Accumulate: accumulate, Epilogue: e})
				equal(t, want, c, k, fmt.Sprint(s, accumulate, threads))
			}
		}
		pool.Close()
	}
}
