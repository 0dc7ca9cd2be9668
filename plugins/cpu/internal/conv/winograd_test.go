package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// tiledSpecs lists convolutions that are computed by Winograd's tiles where
// there are kernels for them.
var tiledSpecs = []spec{
	{"tiles", []int{1, 17, 14, 15}, []int{19, 17, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"tiles, batch", []int{2, 16, 13, 13}, []int{16, 16, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"tiles, groups", []int{1, 32, 13, 16}, []int{34, 16, 3, 3}, Params{Groups: 2, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"tiles, uneven padding", []int{1, 16, 17, 12}, []int{16, 16, 3, 3}, Params{PadLo: []int{2, 0}, PadHi: []int{0, 2}}},
	{"tiles, more padding than map", []int{1, 16, 2, 3}, []int{16, 16, 3, 3}, Params{PadLo: []int{9, 6}, PadHi: []int{7, 9}}},
}

func TestTiles(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, s := range tiledSpecs {
			t.Run(fmt.Sprintf("%s/threads=%d", s.name, threads), func(t *testing.T) {
				plan, err := New(s.x, s.w, s.p)
				require.NoError(t, err)
				if micro.Active[float32]().Name == "avx512" || micro.Active[float32]().Name == "avx2" {
					require.NotNil(t, plan.winograd)
				}
				check[float32](t, pool, s)
			})
		}
		pool.Close()
	}
}

// NaN, infinities and very large numbers affect the same outputs as with the exact strategies.
func TestTilesOfInfinity(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(1, 7))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, s := range tiledSpecs {
		plan, err := New(s.x, s.w, s.p)
		require.NoError(t, err)
		for _, bad := range []float32{nan, inf, -inf, math.MaxFloat32, -1e38} {
			for _, inWeights := range []bool{false, true} {
				x, w := random[float32](rng, count(s.x)), random[float32](rng, count(s.w))
				if inWeights {
					w[rng.IntN(len(w))] = bad
				} else {
					x[rng.IntN(len(x))] = bad
				}
				held := random[float32](rng, count(plan.OutShape()))
				e := &micro.Epilogue[float32]{BiasRow: random[float32](rng, s.w[0]), HasClamp: true, Lo: -2, Hi: inf}
				for _, way := range []func(*par.Pool, *Plan, []float32, *Weights[float32], []float32, *micro.Epilogue[float32]) error{RunPacked[float32], AddPacked[float32]} {
					want, got := append([]float32(nil), held...), append([]float32(nil), held...)
					require.NoError(t, way(pool, plan, x, pack(exactStrategies[float32](), pool, plan, w, kept), want, e))
					require.NoError(t, way(pool, plan, x, PackWeights(pool, plan, w), got, e))
					for i := range want {
						a, b := float64(want[i]), float64(got[i])
						if !(a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-4*max(1, math.Abs(a))) {
							t.Fatalf("%s, %v: element %d, got %v, want %v", s.name, bad, i, b, a)
						}
					}
				}
			}
		}
	}
}
