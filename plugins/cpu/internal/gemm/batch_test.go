package gemm

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

func TestMulBatch(t *testing.T) {
	cases := []struct {
		name    string
		batch   Batch
		m, n, k int
		a, b, c int // elements
	}{
		{"none", Batch{[]int{2, 0}, []int{0, 0}, []int{0, 0}, []int{0, 0}}, 2, 2, 2, 4, 4, 4},
		{"no dims", Batch{}, 2, 3, 4, 8, 12, 6},
		{"few large", Batch{[]int{2}, []int{128 * 128}, []int{0}, []int{128 * 128}}, 128, 128, 128, 2 * 128 * 128, 128 * 128, 2 * 128 * 128},
		{"many small", Batch{[]int{37}, []int{12}, []int{20}, []int{15}}, 3, 5, 4, 37 * 12, 37 * 20, 37 * 15},
		{"broadcast both", Batch{[]int{5, 7}, []int{200, 0}, []int{0, 220}, []int{7 * 110, 110}}, 10, 11, 20, 5 * 200, 7 * 220, 35 * 110},
		{"vectors", Batch{[]int{9}, []int{30}, []int{30}, []int{1}}, 1, 1, 30, 270, 270, 9},
		{"empty sum", Batch{[]int{3}, []int{0}, []int{0}, []int{6}}, 2, 3, 0, 0, 0, 18},
	}
	pool := par.New(2)
	defer pool.Close()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			g := &Args[float64]{M: c.m, N: c.n, K: c.k, A: Row(gemmtest.Random[float64](rng, c.a), c.k),
				B: Row(gemmtest.Random[float64](rng, c.b), c.n), C: gemmtest.Random[float64](rng, c.c), LDC: c.n, Accumulate: true}
			want := append([]float64(nil), g.C...)
			c.batch.run(func(a, b, at int) {
				one := *g
				one.C = want[at:]
				copy(want[at:], naive(&one, Row(g.A.Data[a:], c.k), Row(g.B.Data[b:], c.n)))
			}, 0, elements(c.batch.Dims))
			MulBatch(pool, c.batch, g)
			gemmtest.Equal(t, want, g.C, c.k, c.name)
		})
	}
}

// Every product of a batch is computed once, at the offsets of its index, whatever the number of products and their cost.
func TestBatchFor(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, dims := range [][]int{nil, {0}, {1}, {2}, {5, 3}, {4, 1, 30}} {
			for _, work := range []int{0, 1, 1 << 30} {
				batch := Batch{Dims: dims, A: make([]int, len(dims)), B: make([]int, len(dims)), C: make([]int, len(dims))}
				step := 1
				for d := len(dims) - 1; d >= 0; d-- {
					batch.A[d], batch.C[d] = 2*step, step
					step *= dims[d]
				}
				var seen sync.Map
				batch.For(pool, work, 1000, func(a, b, c int) {
					if _, twice := seen.LoadOrStore(c, true); twice || a != 2*c || b != 0 {
						t.Errorf("%v: product %d at %d and %d", dims, c, a, b)
					}
				})
				for c := range step {
					_, ok := seen.LoadAndDelete(c)
					require.True(t, ok, "%v: product %d", dims, c)
				}
				seen.Range(func(c, _ any) bool { t.Errorf("%v: product %v is none", dims, c); return true })
			}
		}
		pool.Close()
	}
}

// Operands that package panel packs for the active kernels result in the same product as operands that PackA and PackB pack.
func TestPackedOf(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(15, 16))
	m, n, k := 31, 45, 530
	a, b := Row(gemmtest.Random[float32](rng, m*k), k), Row(gemmtest.Random[float32](rng, k*n), n)
	want := make([]float32, m*n)
	Mul(pool, &Args[float32]{M: m, N: n, K: k, PackedA: PackA(pool, m, k, a), PackedB: PackB(pool, k, n, b), C: want, LDC: n})
	kern := micro.Active[float32]()
	tall := kern.Balanced(m)
	left := PackedAOf(m, k, panel.New(pool, tall, tall.MR, m, k, k, 1, a.Data))
	right := PackedBOf(k, n, panel.New(pool, kern, kern.NR, n, 1, k, n, b.Data))
	got := make([]float32, m*n)
	Mul(pool, &Args[float32]{M: m, N: n, K: k, PackedA: &left, PackedB: &right, C: got, LDC: n})
	require.Equal(t, want, got)
}

func elements(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// TestConcurrentStreams multiplies on several goroutines, which share one pool
// and one packed operand.
func TestConcurrentStreams(t *testing.T) {
	pool := par.New(3)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(13, 14))
	m, n, k := 40, 60, 50
	a, b := gemmtest.Random[float32](rng, m*k), gemmtest.Random[float32](rng, k*n)
	packed := PackB(pool, k, n, Row(b, n))
	want := make([]float32, m*n)
	MulPacked(pool, m, Row(a, k), packed, want, n, nil)
	var streams sync.WaitGroup
	for range 6 {
		streams.Go(func() {
			for range 20 {
				c := make([]float32, m*n)
				MulPacked(pool, m, Row(a, k), packed, c, n, nil)
				for i := range c {
					if c[i] != want[i] {
						t.Errorf("element %d, got %v, want %v", i, c[i], want[i])
						return
					}
				}
			}
		})
	}
	streams.Wait()
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	if gemmtest.UnderRace {
		t.Skip("with -race: the race detector empties sync.Pools at random")
	}
	pool := par.New(2)
	defer pool.Close()
	for _, size := range [][3]int{{100, 100, 100}, {1, 300, 300}, {300, 1, 300}, {3, 3, 3}} {
		m, n, k := size[0], size[1], size[2]
		a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		g := &Args[float32]{M: m, N: n, K: k, A: Row(a, k), B: Row(b, n), C: c, LDC: n}
		require.Less(t, testing.AllocsPerRun(50, func() { Mul(pool, g) }), 1.0, fmt.Sprint(size))
	}
}

func BenchmarkMul(b *testing.B) {
	for _, threads := range []int{1, 2} {
		pool := par.New(threads)
		for _, size := range [][3]int{{64, 64, 64}, {256, 256, 256}, {1024, 1024, 1024}, {1, 1024, 1024}, {1024, 1, 1024}, {16, 16, 16}} {
			benchmark[float32](b, pool, size)
		}
		benchmarkPacked(b, pool, 1, 1024, 1024)
		benchmark[float64](b, pool, [3]int{256, 256, 256})
		benchmark[int32](b, pool, [3]int{256, 256, 256})
		pool.Close()
	}
}

func benchmarkPacked(b *testing.B, pool *par.Pool, m, n, k int) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, c := Row(gemmtest.Random[float32](rng, m*k), k), make([]float32, m*n)
	packed := PackB(pool, k, n, Row(gemmtest.Random[float32](rng, k*n), n))
	b.Run(fmt.Sprintf("packed/%dx%dx%d/threads=%d", m, n, k, pool.Threads()), func(b *testing.B) {
		for b.Loop() {
			MulPacked(pool, m, x, packed, c, n, nil)
		}
		b.ReportMetric(float64(b.N)*2*float64(m)*float64(n)*float64(k)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

func benchmark[T micro.Number](b *testing.B, pool *par.Pool, size [3]int) {
	m, n, k := size[0], size[1], size[2]
	rng := rand.New(rand.NewPCG(1, 1))
	g := &Args[T]{M: m, N: n, K: k, A: Row(gemmtest.Random[T](rng, m*k), k), B: Row(gemmtest.Random[T](rng, k*n), n), C: make([]T, m*n), LDC: n}
	b.Run(fmt.Sprintf("%T/%dx%dx%d/threads=%d", T(0), m, n, k, pool.Threads()), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Mul(pool, g)
		}
		b.ReportMetric(float64(b.N)*2*float64(m)*float64(n)*float64(k)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}
