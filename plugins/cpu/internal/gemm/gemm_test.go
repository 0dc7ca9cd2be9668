package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// naive computes what args describes with three loops, summing in float64 or,
// for integers, in the type itself, which wraps.
func naive[T Number](g *Args[T], a, b Mat[T]) []T {
	c := append([]T(nil), g.C...)
	for i := range g.M {
		for j := range g.N {
			var exact float64
			var wrapped T
			for p := range g.K {
				x, y := a.Data[i*a.RowStride+p*a.ColStride], b.Data[p*b.RowStride+j*b.ColStride]
				exact += float64(x) * float64(y)
				wrapped += x * y
			}
			v := wrapped
			if isFloat[T]() {
				v = T(exact)
			}
			if g.Accumulate {
				v += c[i*g.LDC+j]
			}
			if e := g.Epilogue; e != nil {
				if e.BiasRow != nil {
					v += e.BiasRow[i]
				}
				if e.BiasCol != nil {
					v += e.BiasCol[j]
				}
				if e.HasClamp && v < e.Lo {
					v = e.Lo
				}
				if e.HasClamp && v > e.Hi {
					v = e.Hi
				}
			}
			c[i*g.LDC+j] = v
		}
	}
	return c
}

func isFloat[T Number]() bool { return T(1)/2*2 == 1 && T(1)/2 != 0 }

func random[T Number](rng *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		if isFloat[T]() {
			s[i] = T(rng.Float64()*2 - 1)
		} else {
			s[i] = T(rng.Uint64())
		}
	}
	return s
}

func equal[T Number](t *testing.T, want, got []T, k int, name string) {
	t.Helper()
	tolerance := 1e-6 * float64(k+8)
	if _, double := any(want).([]float64); double {
		tolerance = 1e-14 * float64(k+8)
	}
	for i := range want {
		if want[i] == got[i] || want[i] != want[i] && got[i] != got[i] {
			continue
		}
		if !isFloat[T]() || !(math.Abs(float64(want[i])-float64(got[i])) <= tolerance*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d, got %v, want %v", name, i, got[i], want[i])
		}
	}
}

type layout struct {
	name     string
	row, col func(rows, cols int) int
}

func one(int, int) int  { return 1 }
func none(int, int) int { return 0 }

var layouts = []layout{
	{"rows", func(_, cols int) int { return cols }, one},
	{"transposed", one, func(rows, _ int) int { return rows }},
	{"apart", func(_, cols int) int { return 3*cols + 1 }, func(_, _ int) int { return 3 }},
	{"one row", none, one},
	{"one column", one, none},
	{"scalar", none, none},
}

func (l layout) make(rng *rand.Rand, rows, cols int) (row, col, size int) {
	row, col = l.row(rows, cols), l.col(rows, cols)
	return row, col, max(0, rows-1)*row + max(0, cols-1)*col + 1
}

var sizes = [][3]int{
	{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {1, 1, 7}, {1, 9, 5}, {9, 1, 5}, {2, 2, 2}, {3, 5, 7}, {4, 2, 8},
	{5, 3, 9}, {17, 19, 23}, {64, 2, 300}, {33, 65, 257}, {67, 31, 513}, {1, 600, 300}, {2, 7, 4100}, {2, 90, 80}, {3, 300, 70}, {5, 37, 90}, {600, 1, 300}, {129, 70, 40},
}

func check[T Number](t *testing.T, pool *par.Pool) {
	rng := rand.New(rand.NewPCG(1, 2))
	for s, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for la, a := range layouts {
			for lb, b := range layouts {
				if underRace && la+lb > 1 {
					continue // the layouts matter to packing only
				}
				if (s+la+lb)%3 != 0 && m*n*k > 1000 {
					continue // a third of the pairs for the larger sizes
				}
				name := fmt.Sprintf("%T %dx%dx%d %s·%s", T(0), m, n, k, a.name, b.name)
				ar, ac, an := a.make(rng, m, k)
				br, bc, bn := b.make(rng, k, n)
				g := &Args[T]{
					M: m, N: n, K: k,
					A:   Mat[T]{random[T](rng, an), ar, ac},
					B:   Mat[T]{random[T](rng, bn), br, bc},
					LDC: n + la, C: random[T](rng, m*(n+la)),
					Accumulate: lb%2 == 1,
				}
				if s%2 == 0 {
					g.Epilogue = &Epilogue[T]{HasClamp: lb%3 == 0, Lo: 0, Hi: 1}
					if la%2 == 0 {
						g.Epilogue.BiasRow = random[T](rng, m)
					}
					if lb%2 == 0 {
						g.Epilogue.BiasCol = random[T](rng, n)
					}
				}
				checkAll(t, pool, g, k, name)
			}
		}
	}
}

// checkAll compares the product with the naive one for every form of operands:
// views, packed, and packed by a function.
func checkAll[T Number](t *testing.T, pool *par.Pool, g *Args[T], k int, name string) {
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
		equal(t, want, args.C, k, fmt.Sprintf("%s way %d", name, way))
	}
}

// packFrom writes panels as the comment of PackFunc says.
func packFrom[T Number](b Mat[T]) PackFunc[T] {
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

func everyType[T Number](t *testing.T, pool *par.Pool) {
	rng := rand.New(rand.NewPCG(5, 6))
	m, n, k := 37, 41, 43
	g := &Args[T]{M: m, N: n, K: k, A: Row(random[T](rng, m*k), k), B: Row(random[T](rng, k*n), n), C: make([]T, m*n), LDC: n}
	checkAll(t, pool, g, k, fmt.Sprintf("%T", T(0)))
}

// TestBlocks crosses every block boundary: MC, KC, NC, and the rows of A.
func TestBlocks(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][3]int{{maxRows + 70, 9, 520}, {9, 2048 + 33, 520}, {130, 530, 777}} {
		m, n, k := size[0], size[1], size[2]
		g := &Args[float32]{M: m, N: n, K: k, A: Row(random[float32](rng, m*k), k), B: Row(random[float32](rng, k*n), n),
			C: random[float32](rng, m*n), LDC: n, Accumulate: true,
			Epilogue: &Epilogue[float32]{BiasCol: random[float32](rng, n)}}
		checkAll(t, pool, g, k, fmt.Sprint(size))
	}
}

// Both portable kernels run on every architecture, whichever is in use.
func TestPortableKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, kern := range []Kernel[float64]{
		{Name: "4x2", MR: 4, NR: 2, Run: portable4x2[float64]},
		{Name: "4x4", MR: 4, NR: 4, Run: portable4x4[float64]},
	} {
		for _, k := range []int{0, 1, 3, 4, 7, 8, 9, 31, 40} {
			for _, accumulate := range []bool{false, true} {
				a, b := random[float64](rng, k*kern.MR), random[float64](rng, k*kern.NR)
				ldc := kern.NR + 3
				c := random[float64](rng, kern.MR*ldc)
				g := &Args[float64]{M: kern.MR, N: kern.NR, K: k, C: c, LDC: ldc, Accumulate: accumulate}
				want := naive(g, Mat[float64]{a, 1, kern.MR}, Mat[float64]{b, kern.NR, 1})
				kern.Run(k, a, b, c, ldc, accumulate)
				equal(t, want, c, k, fmt.Sprintf("%s k=%d", kern.Name, k))
			}
		}
	}
}

func TestSameBitsForEveryThreadCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, size := range [][3]int{{150, 333, 600}, {1, 5000, 77}, {5000, 1, 77}, {5, 5, 5}} {
		m, n, k := size[0], size[1], size[2]
		a, b := random[float32](rng, m*k), random[float32](rng, k*n)
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
			b[k/2*n] = odd // times a zero: NaN in column 0, and only there
			Mul(pool, &Args[float32]{M: m, N: n, K: k, A: Row(a, k), B: Row(b, n), C: c, LDC: n,
				Epilogue: &Epilogue[float32]{HasClamp: true, Lo: 0, Hi: 6}})
			for i, v := range c {
				require.Equal(t, i%n == 0, v != v, "%v: element %d is %v", size, i, v)
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

func TestPackedForOtherKernels(t *testing.T) {
	pool := par.New(1)
	a, b := PackA(pool, 2, 3, Row(make([]float32, 6), 3)), PackB(pool, 3, 2, Row(make([]float32, 6), 2))
	b.panel.kernel = &Kernel[float32]{Name: "other"}
	require.Panics(t, func() {
		Mul(pool, &Args[float32]{M: 2, N: 2, K: 3, PackedA: a, PackedB: b, C: make([]float32, 4), LDC: 2})
	})
	require.Panics(t, func() {
		Mul(pool, &Args[float32]{M: 4, N: 2, K: 3, PackedA: a, B: Row(make([]float32, 6), 2), C: make([]float32, 8), LDC: 2})
	})
}
