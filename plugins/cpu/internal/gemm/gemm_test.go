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

// naive computes the product of g, with a and b as operands, from the
// definition.
func naive[T micro.Number](g *Args[T], a, b Mat[T]) []T {
	p := gemmtest.Product[T]{M: g.M, N: g.N, K: g.K, A: gemmtest.View[T]{Data: a.Data, Row: a.RowStride, Col: a.ColStride},
		B: gemmtest.View[T]{Data: b.Data, Row: b.RowStride, Col: b.ColStride}, C: g.C, LDC: g.LDC, Accumulate: g.Accumulate}
	if e := g.Epilogue; e != nil {
		p.BiasRow, p.BiasCol, p.HasClamp, p.Lo, p.Hi = e.BiasRow, e.BiasCol, e.HasClamp, e.Lo, e.Hi
	}
	return p.Want()
}

var sizes = [][3]int{
	{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {1, 1, 7}, {1, 9, 5}, {9, 1, 5}, {2, 2, 2}, {3, 5, 7}, {4, 2, 8},
	{5, 3, 9}, {17, 19, 23}, {64, 2, 300}, {33, 65, 257}, {67, 31, 513}, {1, 600, 300}, {2, 7, 4100}, {2, 90, 80}, {3, 300, 70}, {5, 37, 90}, {600, 1, 300}, {129, 70, 40},
}

func check[T micro.Number](t *testing.T, pool *par.Pool) {
	rng := rand.New(rand.NewPCG(1, 2))
	for s, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for la, a := range gemmtest.Layouts {
			for lb, b := range gemmtest.Layouts {
				if gemmtest.UnderRace && la+lb > 1 {
					continue // layouts matter only to packing
				}
				if (s+la+lb)%3 != 0 && m*n*k > 1000 {
					continue // a third of the pairs for the larger sizes
				}
				name := fmt.Sprintf("%T %dx%dx%d %s·%s", T(0), m, n, k, a.Name, b.Name)
				ar, ac, an := a.Strides(m, k)
				br, bc, bn := b.Strides(k, n)
				g := &Args[T]{
					M: m, N: n, K: k,
					A:   Mat[T]{gemmtest.Random[T](rng, an), ar, ac},
					B:   Mat[T]{gemmtest.Random[T](rng, bn), br, bc},
					LDC: n + la, C: gemmtest.Random[T](rng, m*(n+la)),
					Accumulate: lb%2 == 1,
				}
				if s%2 == 0 {
					g.Epilogue = &micro.Epilogue[T]{HasClamp: lb%3 == 0, Lo: 0, Hi: 1}
					if la%2 == 0 {
						g.Epilogue.BiasRow = gemmtest.Random[T](rng, m)
					}
					if lb%2 == 0 {
						g.Epilogue.BiasCol = gemmtest.Random[T](rng, n)
					}
				}
				checkAll(t, pool, g, k, name)
			}
		}
	}
}

// checkAll compares the product with the naive one for every form of operands:
// views, packed, and packed by a function.
func checkAll[T micro.Number](t *testing.T, pool *par.Pool, g *Args[T], k int, name string) {
	t.Helper()
	want := naive(g, g.A, g.B)
	packedA := PackA(pool, g.M, g.K, g.A)
	packedB := PackB(pool, g.K, g.N, g.B)
	for way := range 6 {
		args := *g
		args.C = append([]T(nil), g.C...)
		if way == 1 || way == 3 || way == 5 {
			args.PackedA, args.A = packedA, Mat[T]{}
		}
		switch way {
		case 2, 3:
			args.PackedB, args.B = packedB, Mat[T]{}
		case 4, 5:
			args.PackB, args.B = packFrom(g.B), Mat[T]{}
		}
		Mul(pool, &args)
		gemmtest.Equal(t, want, args.C, k, fmt.Sprintf("%s way %d", name, way))
	}
}

// packFrom returns a function that packs b as the comment of PackFunc describes.
func packFrom[T micro.Number](b Mat[T]) PackFunc[T] {
	return func(dst []T, width, k0, k1, j0, j1 int) {
		for q := 0; q*width < j1-j0; q++ {
			for p := k0; p < k1; p++ {
				for x := range width {
					var v T
					if j := j0 + q*width + x; j < j1 {
						v = b.Data[p*b.RowStride+j*b.ColStride]
					}
					dst[q*(k1-k0)*width+(p-k0)*width+x] = v
				}
			}
		}
	}
}

func TestMul(t *testing.T) {
	pool := par.New(3)
	defer pool.Close()
	t.Run("float32", func(t *testing.T) { check[float32](t, pool) })
	t.Run("float64", func(t *testing.T) { check[float64](t, pool) })
	t.Run("int64", func(t *testing.T) { check[int64](t, pool) })
	t.Run("int8", func(t *testing.T) { check[int8](t, pool) })
	t.Run("uint16", func(t *testing.T) { check[uint16](t, pool) })
}

func TestEveryType(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	everyType[int32](t, pool)
	everyType[int16](t, pool)
	everyType[uint64](t, pool)
	everyType[uint32](t, pool)
	everyType[uint8](t, pool)
}

func everyType[T micro.Number](t *testing.T, pool *par.Pool) {
	rng := rand.New(rand.NewPCG(5, 6))
	m, n, k := 37, 41, 43
	g := &Args[T]{M: m, N: n, K: k, A: Row(gemmtest.Random[T](rng, m*k), k), B: Row(gemmtest.Random[T](rng, k*n), n), C: make([]T, m*n), LDC: n}
	checkAll(t, pool, g, k, fmt.Sprintf("%T", T(0)))
}

// TestBlocks crosses every block boundary: MC, KC, NC, and the rows of A.
func TestBlocks(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][3]int{{MaxRows + 70, 9, 520}, {9, 2048 + 33, 520}, {130, 530, 777}} {
		m, n, k := size[0], size[1], size[2]
		g := &Args[float32]{M: m, N: n, K: k, A: Row(gemmtest.Random[float32](rng, m*k), k), B: Row(gemmtest.Random[float32](rng, k*n), n),
			C: gemmtest.Random[float32](rng, m*n), LDC: n, Accumulate: true,
			Epilogue: &micro.Epilogue[float32]{BiasCol: gemmtest.Random[float32](rng, n)}}
		checkAll(t, pool, g, k, fmt.Sprint(size))
	}
}

func TestSameBitsForEveryThreadCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, size := range [][3]int{{150, 333, 600}, {1, 5000, 77}, {5000, 1, 77}, {5, 5, 5}} {
		m, n, k := size[0], size[1], size[2]
		a, b := gemmtest.Random[float32](rng, m*k), gemmtest.Random[float32](rng, k*n)
		for _, layout := range []bool{false, true} {
			g := &Args[float32]{M: m, N: n, K: k, A: Row(a, k), B: Row(b, n), LDC: n}
			if layout {
				g.A, g.B = Row(a, m).T(), Row(b, k).T()
			}
			var first []float32
			for _, threads := range []int{1, 2, 3, 7} {
				pool := par.New(threads)
				g.C = make([]float32, m*n)
				Mul(pool, g)
				pool.Close()
				if first == nil {
					first = g.C
				}
				require.Equal(t, first, g.C, "%v threads %d", size, threads)
			}
		}
	}
}

func TestNaNAndInfPropagate(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, size := range [][3]int{{1, 40, 40}, {40, 1, 40}, {7, 7, 7}, {40, 40, 40}} {
		m, n, k := size[0], size[1], size[2]
		for _, odd := range []float32{nan, inf} {
			a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
			b[k/2*n] = odd // times zero: only column 0 of the result is NaN
			Mul(pool, &Args[float32]{M: m, N: n, K: k, A: Row(a, k), B: Row(b, n), C: c, LDC: n,
				Epilogue: &micro.Epilogue[float32]{HasClamp: true, Lo: 0, Hi: 6}})
			for i, v := range c {
				require.Equal(t, i%n == 0, v != v, "%v: element %d is %v", size, i, v)
			}
		}
	}
}

func TestPackedForOtherKernels(t *testing.T) {
	pool := par.New(1)
	a, b := PackA(pool, 2, 3, Row(make([]float32, 6), 3)), PackB(pool, 3, 2, Row(make([]float32, 6), 2))
	b.panel.Kernel = &micro.Kernel[float32]{Name: "other"}
	require.Panics(t, func() {
		Mul(pool, &Args[float32]{M: 2, N: 2, K: 3, PackedA: a, PackedB: b, C: make([]float32, 4), LDC: 2})
	})
	require.Panics(t, func() {
		Mul(pool, &Args[float32]{M: 4, N: 2, K: 3, PackedA: a, B: Row(make([]float32, 6), 2), C: make([]float32, 8), LDC: 2})
	})
}
