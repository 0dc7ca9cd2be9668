package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
				g := &Args[T]{M: kern.MR, N: kern.NR, K: k, C: random[T](rng, kern.MR*ldc+3), LDC: ldc, Accumulate: accumulate}
				a, b := random[T](rng, k*kern.MR), random[T](rng, k*kern.NR)
				want := naive(g, Mat[T]{a, 1, kern.MR}, Mat[T]{b, kern.NR, 1})
				kern.Run(k, a, b, g.C, ldc, accumulate)
				equal(t, want, g.C, k, fmt.Sprintf("%s %T k=%d", kern.Name, T(0), k))
			}
		}
	}
}
