package micro

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

// TestRunOfEveryKernel multiplies complete panels with each kernel that this
// processor can run.
func TestRunOfEveryKernel(t *testing.T) {
	checkRuns(t, kernels32)
	checkRuns(t, kernels64)
}

func checkRuns[T Float](t *testing.T, from []candidate[T]) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, c := range from {
		kern := c.kernel
		if !c.usable() {
			continue
		}
		for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 9, 13, 100} {
			for _, accumulate := range []bool{false, true} {
				ldc := kern.NR + k%3
				g := &gemmtest.Product[T]{M: kern.MR, N: kern.NR, K: k, C: gemmtest.Random[T](rng, kern.MR*ldc+3), LDC: ldc, Accumulate: accumulate}
				a, b := gemmtest.Random[T](rng, k*kern.MR), gemmtest.Random[T](rng, k*kern.NR)
				g.A, g.B = gemmtest.View[T]{Data: a, Row: 1, Col: kern.MR}, gemmtest.View[T]{Data: b, Row: kern.NR, Col: 1}
				want := g.Want()
				kern.Run(k, a, b, g.C, ldc, accumulate)
				gemmtest.Equal(t, want, g.C, k, fmt.Sprintf("%s %T k=%d", kern.Name, T(0), k))
			}
		}
	}
}
