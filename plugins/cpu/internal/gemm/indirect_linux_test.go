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

func TestMulIndirect(t *testing.T) {
	t.Run("float32", checkIndirect[float32])
	t.Run("float64", checkIndirect[float64])
}

// checkIndirect compares products whose right operand is read by offsets with naive products of a copy of that operand. The source ends
// where memory begins that must not be accessed.
func checkIndirect[T micro.Number](t *testing.T) {
	defer func() { require.NoError(t, micro.Select("")) }()
	rng := rand.New(rand.NewPCG(71, 72))
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, kernel := range micro.Names() {
			require.NoError(t, micro.Select(kernel))
			best := IndirectCols[T]()
			if best == 0 {
				continue // the portable kernels compute no such product
			}
			for _, s := range []struct{ m, k, rows, cols, gap int }{{1, 1, 1, 1, 0}, {3, 9, 1, best, 0}, {5, 18, 4, 2 * best, 3}, {17, 40, 7, best + 1, 2}, {30, 27, 13, 5, 0},
				{9, 600, 3, 3*best - 1, 1}, {2, 5, 1, 5*best + 3, 0}, {40, 3, 20, best - 1, 9}} {
				step := s.cols + s.gap
				g := &Indirect[T]{Rows: s.rows, Cols: s.cols, Step: step, LDC: s.rows*s.cols + 1, Accumulate: s.m%2 == 0}
				for range s.k {
					g.Offsets = append(g.Offsets, rng.IntN(3*step))
					g.Reach = max(g.Reach, g.Offsets[len(g.Offsets)-1])
				}
				g.Src = gemmtest.Fence(t, gemmtest.Random[T](rng, g.Reach+(s.rows-1)*step+s.cols))
				n := s.rows * s.cols
				b := make([]T, s.k*n)
				for p, o := range g.Offsets {
					for j := range n {
						b[p*n+j] = g.Src[o+j/s.cols*step+j%s.cols]
					}
				}
				a := Row(gemmtest.Random[T](rng, s.m*s.k), s.k)
				g.A = PackA(pool, s.m, s.k, a)
				g.Epilogue = &micro.Epilogue[T]{BiasRow: gemmtest.Random[T](rng, s.m), HasClamp: true, Lo: 0, Hi: 2}
				c := gemmtest.Random[T](rng, s.m*g.LDC)
				g.C = append([]T(nil), c...)
				want := naive(&Args[T]{M: s.m, N: n, K: s.k, C: c, LDC: g.LDC, Accumulate: g.Accumulate, Epilogue: g.Epilogue}, a, Row(b, n))
				MulIndirect(pool, g)
				gemmtest.Equal(t, want, g.C, s.k, fmt.Sprintf("%s, %d threads, %+v", kernel, threads, s))
			}
		}
		pool.Close()
	}
}

func TestPackInto(t *testing.T) {
	t.Run("float32", checkPackInto[float32])
	t.Run("float64", checkPackInto[float64])
	t.Run("int32", checkPackInto[int32])
}

// checkPackInto packs into memory of exactly the needed size, behind which memory must not be accessed, and multiplies with the first
// columns.
func checkPackInto[T micro.Number](t *testing.T) {
	defer func() { require.NoError(t, micro.Select("")) }()
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(73, 74))
	for _, kernel := range micro.Names() {
		require.NoError(t, micro.Select(kernel))
		for _, s := range [][3]int{{1, 1, 1}, {5, 33, 9}, {17, 70, 40}, {3, 200, 300}} {
			m, n, k := s[0], s[1], s[2]
			a, b := Row(gemmtest.Random[T](rng, m*k), k), Row(gemmtest.Random[T](rng, k*n), n)
			data := gemmtest.Fence(t, make([]T, PackedSizeB[T](k, n)))
			packed := PackBInto(pool, data, k, n, b)
			require.Equal(t, len(data), packed.Elements())
			gotK, gotN := packed.Size()
			require.Equal(t, [2]int{k, n}, [2]int{gotK, gotN})
			for _, cols := range []int{n, max(1, n/2), 1} {
				first := packed.First(cols)
				_, have := first.Size()
				require.GreaterOrEqual(t, have, cols)
				g := &Args[T]{M: m, N: have, K: k, A: a, PackedB: &first, C: gemmtest.Random[T](rng, m*have), LDC: have}
				want := naive(g, a, b)
				Mul(pool, g)
				gemmtest.Equal(t, want, g.C, k, fmt.Sprintf("%s %v, %d columns", kernel, s, cols))
			}
		}
		left := PackA(pool, 7, 9, Row(gemmtest.Random[T](rng, 63), 9))
		m, k := left.Size()
		require.Equal(t, [2]int{7, 9}, [2]int{m, k})
		require.GreaterOrEqual(t, left.Elements(), 63)
	}
}
