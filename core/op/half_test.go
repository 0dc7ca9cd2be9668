package op_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// coarse lists, by reason, the ops whose decompositions lose more than a few units in the last place if magnitudes differ as much as here.
var coarse = map[string][]op.Code{"matrices of such condition": factoring, "the logarithm of a probability is not 65504": {op.CTCLoss}}

// Decompositions of f16 compute sums and products in f32: the greatest and the smallest numbers together neither overflow on the way nor
// vanish, and the results agree with the reference.
func TestDecompositionsOfHalves(t *testing.T) {
	pool := []float64{65504, -65504, 0x1p-24, -0x1p-24, 0x1p-14, 1, -1, 1000, 0.001, 0}
	compared := 0
	for at, s := range allSamples() {
		s, ok := s.retyped(dtype.F16)
		row := op.Lookup(s.op)
		if !ok || exempt(s.op, coarse) {
			continue
		}
		t.Run(fmt.Sprintf("%02d-%v", at, s.op), func(t *testing.T) {
			r := rand.New(rand.NewPCG(6, uint64(at)))
			n, err := op.New(s.op, s.in, s.attrs...)
			require.NoError(t, err)
			rel, abs := row.Tolerance.Bounds(dtype.F16, 16)
			for range 3 {
				var in []ref.Tensor
				most := 1.0
				for k, d := range s.in {
					x := random(r, s.op, k, d)
					if k >= len(row.Domain) || row.Domain[k] == (op.Domain{}) {
						for i := range x.F {
							if r.IntN(2) == 0 {
								x.F[i] = pool[r.IntN(len(pool))]
							}
						}
						if len(x.F) > 0 {
							most *= 65504
						}
					}
					in = append(in, x)
				}
				if !row.Tolerance.PerTerm {
					most = 0
				}
				want, err := ref.Eval(&n, in)
				require.NoError(t, err)
				got := primitives(t, n, in)
				compared++
				for k := range want {
					same(t, want[k], got[k], rel+0x1p-9, abs+most*0x1p-22, func(i int) string { return fmt.Sprintf("result %d, element %d of %v", k, i, in) })
				}
			}
		})
	}
	require.Greater(t, compared, 500)
}
