package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

func TestNothingBeyondIsTouched(t *testing.T) {
	t.Run("float32", checkFence[float32])
	t.Run("float64", checkFence[float64])
}

func checkFence[T micro.Number](t *testing.T) {
	defer func() { require.NoError(t, micro.Select("")) }()
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(41, 42))
	for _, kernel := range micro.Names() {
		require.NoError(t, micro.Select(kernel))
		for _, size := range [][3]int{{1, 37, 21}, {37, 1, 21}, {3, 45, 9}, {14, 33, 17}, {15, 31, 40}, {90, 71, 401}, {5, 7, 9}, {60, 300, 90}} {
			m, n, k := size[0], size[1], size[2]
			for _, layout := range gemmtest.Layouts[:3] {
				t.Run(fmt.Sprintf("%s %v %s", kernel, size, layout.Name), func(t *testing.T) {
					ar, ac, an := layout.Strides(m, k)
					br, bc, bn := layout.Strides(k, n)
					g := &Args[T]{M: m, N: n, K: k, LDC: n, C: gemmtest.Fence(t, gemmtest.Random[T](rng, m*n)), Accumulate: n%2 == 0,
						A: Mat[T]{gemmtest.Fence(t, gemmtest.Random[T](rng, an)), ar, ac}, B: Mat[T]{gemmtest.Fence(t, gemmtest.Random[T](rng, bn)), br, bc},
						Epilogue: &micro.Epilogue[T]{BiasRow: gemmtest.Fence(t, gemmtest.Random[T](rng, m)), BiasCol: gemmtest.Fence(t, gemmtest.Random[T](rng, n))}}
					want := naive(g, g.A, g.B)
					Mul(pool, g)
					gemmtest.Equal(t, want, g.C, k, "fenced")
				})
			}
		}
	}
}
