package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// benchmarks lists convolutions of well-known models, and of the gradients of their weights and inputs.
var benchmarks = []struct {
	name string
	x, w []int
	p    Params
}{
	{"3x3 256 of 14", []int{1, 256, 14, 14}, []int{256, 256, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"3x3 64 of 56", []int{1, 64, 56, 56}, []int{64, 64, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"3x3 512 of 7", []int{1, 512, 7, 7}, []int{512, 512, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"3x3 16 of 32", []int{2, 16, 32, 32}, []int{16, 16, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"3x3 64 of 13", []int{1, 64, 13, 13}, []int{256, 64, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"1x1 256 of 14", []int{1, 1024, 14, 14}, []int{256, 1024, 1, 1}, Params{}},
	{"1x1 1024 of 14", []int{1, 256, 14, 14}, []int{1024, 256, 1, 1}, Params{}},
	{"1x1 64 of 80", []int{1, 64, 80, 80}, []int{64, 64, 1, 1}, Params{}},
	{"1x1 2048 of 7", []int{1, 512, 7, 7}, []int{2048, 512, 1, 1}, Params{}},
	{"1x1 68 of 14 in groups", []int{1, 272, 14, 14}, []int{272, 68, 1, 1}, Params{Groups: 4}},
	{"1x1 256 of 15", []int{1, 256, 15, 15}, []int{256, 256, 1, 1}, Params{}},
	{"stem 7x7", []int{1, 3, 224, 224}, []int{64, 3, 7, 7}, Params{Stride: []int{2, 2}, PadLo: []int{3, 3}, PadHi: []int{3, 3}}},
	{"stem 3x3", []int{1, 3, 320, 320}, []int{16, 3, 3, 3}, Params{Stride: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"depthwise 3x3 of 80", []int{1, 64, 80, 80}, []int{64, 1, 3, 3}, Params{Groups: 64, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"depthwise 3x3 of 15", []int{1, 256, 15, 15}, []int{256, 1, 3, 3}, Params{Groups: 256, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"depthwise 5x5 of 2x96", []int{1, 200, 2, 96}, []int{200, 1, 5, 5}, Params{Groups: 200, PadLo: []int{2, 2}, PadHi: []int{2, 2}}},
	{"depthwise 3x3 of 113, strides", []int{1, 32, 113, 113}, []int{32, 1, 3, 3}, Params{Groups: 32, Stride: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"weights of 1 to 8", []int{1, 64, 28, 28}, []int{8, 64, 26, 26}, Params{}},
	{"weights of 8 to 16", []int{8, 64, 26, 26}, []int{16, 64, 24, 24}, Params{}},
	{"weights of 64 to 64", []int{64, 8, 56, 56}, []int{64, 8, 56, 56}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"weights of 64 to 64, strides", []int{64, 8, 56, 56}, []int{64, 8, 28, 28}, Params{PadLo: []int{1, 1}, KernelDilation: []int{2, 2}}},
	{"weights of 256 to 256", []int{256, 8, 14, 14}, []int{256, 8, 14, 14}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"weights of 64, depthwise", []int{1, 512, 28, 28}, []int{64, 8, 28, 28}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}, Groups: 64}},
	{"weights of 1x1", []int{64, 8, 56, 56}, []int{256, 8, 56, 56}, Params{}},
	{"input of 16 to 8", []int{64, 16, 24, 24}, []int{8, 16, 3, 3}, Params{PadLo: []int{2, 2}, PadHi: []int{2, 2}}},
	{"input of 64 to 64, strides", []int{8, 64, 28, 28}, []int{64, 64, 3, 3}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{2, 2}}},
	{"3x39 8 of 172x264", []int{1, 8, 172, 264}, []int{8, 8, 3, 39}, Params{PadLo: []int{1, 19}, PadHi: []int{1, 19}}},
}

func BenchmarkConv(b *testing.B) {
	for _, threads := range []int{1, 2} {
		pool := par.New(threads)
		for _, c := range benchmarks {
			b.Run(fmt.Sprintf("%s/threads=%d", c.name, threads), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				p, err := New(c.x, c.w, c.p)
				if err != nil {
					b.Fatal(err)
				}
				x, out := random[float32](rng, count(c.x)), make([]float32, p.batch*p.outputs*p.outSize)
				w := PackWeights(pool, p, random[float32](rng, count(c.w)))
				best := time.Hour
				for b.Loop() {
					start := time.Now()
					if err := RunPacked(pool, p, x, w, out, nil); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(start))
				}
				b.ReportMetric(2*float64(len(out)*p.depth())/float64(best.Nanoseconds()), "best-GFLOP/s")
				b.ReportMetric(float64(best.Nanoseconds())/1e3, "best-µs")
			})
		}
		pool.Close()
	}
}
