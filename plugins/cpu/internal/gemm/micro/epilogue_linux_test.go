package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

func TestEpilogueAlone(t *testing.T) {
	t.Run("float32", checkApply[float32])
	t.Run("float64", checkApply[float64])
	t.Run("int32", checkApply[int32])
}

// checkApply applies an epilogue to a part of a result that begins at a later row, as callers that split results do.
func checkApply[T Number](t *testing.T) {
	defer func() { require.NoError(t, Select("")) }()
	rng := rand.New(rand.NewPCG(75, 76))
	for _, kernel := range Names() {
		require.NoError(t, Select(kernel))
		for n := 1; n < 70; n += 1 + n/7 {
			const m, ldc, skip = 5, 80, 2
			c := gemmtest.Fence(t, gemmtest.Random[T](rng, (m-1)*ldc+n))
			for _, e := range []*Epilogue[T]{nil, {}, {BiasRow: gemmtest.Random[T](rng, m+skip)}, {BiasCol: gemmtest.Random[T](rng, n)}, {HasClamp: true, Lo: 1, Hi: 2},
				{BiasRow: gemmtest.Random[T](rng, m+skip), BiasCol: gemmtest.Random[T](rng, n), HasClamp: true, Lo: 0, Hi: 1}} {
				want := append([]T(nil), c...)
				for i := range m * n {
					v := &want[i/n*ldc+i%n]
					if e != nil && e.BiasRow != nil {
						*v += e.BiasRow[skip+i/n]
					}
					if e != nil && e.BiasCol != nil {
						*v += e.BiasCol[i%n]
					}
					if e != nil && e.HasClamp {
						*v = min(max(*v, e.Lo), e.Hi)
					}
				}
				e.Rows(skip).Apply(c, ldc, m, n)
				require.Equal(t, want, c, "%s, %d columns", kernel, n)
			}
		}
	}
}
