package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// BenchmarkGemm measures products of square matrices, with each kernel that this
// processor can run. BenchmarkPeak measures the upper limit.
func BenchmarkGemm(b *testing.B) {
	defer func() { _ = micro.Select("") }()
	for _, name := range micro.Names() {
		if err := micro.Select(name); err != nil {
			b.Fatal(err)
		}
		for _, threads := range []int{1, 2} {
			pool := par.New(threads)
			for _, n := range []int{64, 128, 256, 512, 1024} {
				benchmarkSquare[float32](b, pool, name, n)
			}
			benchmarkSquare[float64](b, pool, name, 512)
			pool.Close()
		}
	}
}

func benchmarkSquare[T micro.Number](b *testing.B, pool *par.Pool, name string, n int) {
	b.Run(fmt.Sprintf("%s/%T/%d/threads=%d", name, T(0), n, pool.Threads()), func(b *testing.B) {
		rng := rand.New(rand.NewPCG(1, 1))
		g := &Args[T]{M: n, N: n, K: n, A: Row(gemmtest.Random[T](rng, n*n), n), B: Row(gemmtest.Random[T](rng, n*n), n), C: make([]T, n*n), LDC: n}
		for b.Loop() {
			Mul(pool, g)
		}
		gemmtest.Rate(b, 2*n*n*n)
	})
}

// BenchmarkPack measures the packing of a matrix into panels.
func BenchmarkPack(b *testing.B) {
	kern := micro.Active[float32]()
	for _, n := range []int{256, 1024} {
		src := gemmtest.Random[float32](rand.New(rand.NewPCG(1, 1)), n*n)
		for _, c := range []struct {
			name        string
			line, depth int
			width       int
		}{
			{"A", n, 1, kern.MR}, {"A transposed", 1, n, kern.MR}, {"B", 1, n, kern.NR}, {"B transposed", n, 1, kern.NR},
		} {
			b.Run(fmt.Sprintf("%s/%s/%d", kern.Name, c.name, n), func(b *testing.B) {
				dst := panel.Aligned[float32](micro.CeilDiv(n, c.width) * c.width * n)
				b.SetBytes(int64(4 * n * n))
				for b.Loop() {
					for p := 0; p < n; p += kern.KC {
						depth := min(kern.KC, n-p)
						panel.Pack(dst, src[p*c.depth:], n, c.line, depth, c.depth, c.width, kern)
					}
				}
			})
		}
	}
}
