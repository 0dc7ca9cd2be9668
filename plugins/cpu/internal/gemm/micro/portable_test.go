package micro

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

// Both portable kernels are tested on every architecture, whichever of them is active there.
func TestPortableKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, kern := range []Kernel[float64]{
		{Name: "4x2", MR: 4, NR: 2, Run: portable4x2[float64]},
		{Name: "4x4", MR: 4, NR: 4, Run: portable4x4[float64]},
	} {
		for _, k := range []int{0, 1, 3, 4, 7, 8, 9, 31, 40} {
			for _, accumulate := range []bool{false, true} {
				a, b := gemmtest.Random[float64](rng, k*kern.MR), gemmtest.Random[float64](rng, k*kern.NR)
				ldc := kern.NR + 3
				c := gemmtest.Random[float64](rng, kern.MR*ldc)
				g := &gemmtest.Product[float64]{M: kern.MR, N: kern.NR, K: k, C: c, LDC: ldc, Accumulate: accumulate}
				g.A, g.B = gemmtest.View[float64]{Data: a, Row: 1, Col: kern.MR}, gemmtest.View[float64]{Data: b, Row: kern.NR, Col: 1}
				want := g.Want()
				kern.Run(k, a, b, c, ldc, accumulate)
				gemmtest.Equal(t, want, c, k, fmt.Sprintf("%s k=%d", kern.Name, k))
			}
		}
	}
}

func TestSelect(t *testing.T) {
	require.ErrorContains(t, Select("none such"), `gemm: kernel, got "none such", want one of`)
	for _, name := range Names() {
		require.NoError(t, Select(name))
		require.Equal(t, name, Active[float32]().Name)
	}
	require.Contains(t, Names(), "portable")
	require.NoError(t, Select(""))
}
