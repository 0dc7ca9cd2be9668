package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// levels computes g with every kernel, for every form of operands, and compares
// the results with the naive product.
func levels[T micro.Number](t *testing.T, pool *par.Pool, g *Args[T], name string) {
	t.Helper()
	defer func() { require.NoError(t, micro.Select("")) }()
	for _, kernel := range micro.Names() {
		require.NoError(t, micro.Select(kernel))
		checkAll(t, pool, g, g.K, kernel+" "+name)
	}
}

// fuzzed returns a product for the input of a fuzzer: sizes, a seed, which also
// selects the layouts, and bits that select the epilogue and special values.
func fuzzed[T micro.Number](m, n, k uint16, seed uint64, ways uint8) *Args[T] {
	rng := rand.New(rand.NewPCG(seed, 1))
	g := &Args[T]{M: int(m % 200), N: int(n % 200), K: int(k % 800), Accumulate: ways&1 != 0}
	view := func(rows, cols, way int) Mat[T] {
		row, col, size := gemmtest.Layouts[way%len(gemmtest.Layouts)].Strides(rows, cols)
		return Mat[T]{gemmtest.Random[T](rng, size), row, col}
	}
	g.A, g.B = view(g.M, g.K, int(seed%7)), view(g.K, g.N, int(seed/7%7))
	g.LDC = g.N + int(seed%3)
	g.C = gemmtest.Random[T](rng, g.M*g.LDC+1)
	if ways&2 != 0 {
		g.Epilogue = &micro.Epilogue[T]{BiasCol: gemmtest.Random[T](rng, g.N), HasClamp: ways&4 != 0, Lo: 0, Hi: 3}
	}
	if ways&8 != 0 {
		g.A.Data[rng.IntN(len(g.A.Data))] = T(math.NaN())
		g.B.Data[rng.IntN(len(g.B.Data))] = T(math.Inf(1))
	}
	return g
}

func TestLevelsAgree(t *testing.T) {
	pool := par.New(3)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(31, 32))
	for range 60 {
		m, n, k, seed, ways := uint16(rng.Uint32()), uint16(rng.Uint32()), uint16(rng.Uint32N(300)), rng.Uint64(), uint8(rng.Uint32())
		name := fmt.Sprintf("%d %d %d %d %d", m, n, k, seed, ways)
		levels(t, pool, fuzzed[float32](m, n, k, seed, ways), name)
		levels(t, pool, fuzzed[float64](m%40, n%40, k, seed, ways), name)
	}
}

func FuzzLevels(f *testing.F) {
	f.Add(uint16(14), uint16(32), uint16(4), uint64(1), uint8(0))
	f.Add(uint16(15), uint16(33), uint16(385), uint64(8), uint8(15))
	f.Add(uint16(1), uint16(65), uint16(17), uint64(9), uint8(3))
	f.Add(uint16(7), uint16(1), uint16(129), uint64(20), uint8(9))
	pool := par.New(2)
	f.Fuzz(func(t *testing.T, m, n, k uint16, seed uint64, ways uint8) {
		levels(t, pool, fuzzed[float32](m, n, k, seed, ways), "f32")
		levels(t, pool, fuzzed[float64](m%64, n%64, k%128, seed, ways), "f64")
	})
}
