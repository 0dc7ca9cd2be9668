package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

func TestMulTransposed(t *testing.T) {
	if !CanTranspose[float64]() {
		t.Skip("the processor, or the level set by BURN_CPU, has no such kernel in assembly")
	}
	rng := rand.New(rand.NewPCG(61, 62))
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, s := range [][3]int{{49, 70, 300}, {1, 1, 1}, {15, 33, 513}, {28, 160, 40}} {
			m, n, k := s[0], s[1], s[2]
			a, b := Row(gemmtest.Random[float64](rng, m*k), k), Row(gemmtest.Random[float64](rng, k*n), n)
			for _, accumulate := range []bool{false, true} {
				c := gemmtest.Random[float64](rng, n*m)
				e := &micro.Epilogue[float64]{BiasRow: gemmtest.Random[float64](rng, n), HasClamp: true, Lo: -1, Hi: 1}
				want := naive(&Args[float64]{M: n, N: m, K: k, C: c, LDC: m, Accumulate: accumulate, Epilogue: e}, b.T(), a.T())
				MulTransposed(pool, &Transposed[float64]{M: m, N: n, K: k, A: a, B: PackB(pool, k, n, b), C: c, LDC: m, Accumulate: accumulate, Epilogue: e})
				gemmtest.Equal(t, want, c, k, fmt.Sprint(s, accumulate, threads))
			}
		}
		pool.Close()
	}
}
