package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// BenchmarkTiles compares Winograd's tiles with the exact strategies, in alternating runs.
func BenchmarkTiles(b *testing.B) {
	for _, c := range [][]int{ // batch, channels, outputs, side
		{1, 64, 64, 56}, {1, 128, 128, 28}, {1, 256, 256, 14}, {1, 512, 512, 7}, {1, 16, 64, 55}, {1, 32, 128, 27}, {1, 48, 192, 13}, {1, 64, 256, 13},
		{1, 16, 16, 32}, {1, 32, 32, 16}, {1, 64, 64, 8}, {1, 8, 8, 64}, {1, 16, 16, 112}, {1, 64, 64, 7}, {1, 32, 32, 8}, {1, 8, 64, 14}, {1, 64, 8, 14}, {1, 4, 64, 56}, {1, 64, 4, 56}, {8, 64, 64, 8}, {1, 512, 512, 14}, {1, 64, 64, 224},
	} {
		n, ci, co, side := c[0], c[1], c[2], c[3]
		xs, ws := []int{n, ci, side, side}, []int{co, ci, 3, 3}
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/threads=%d", c, threads), func(b *testing.B) {
				pool := par.New(threads)
				defer pool.Close()
				rng := rand.New(rand.NewPCG(1, 1))
				p, err := New(xs, ws, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}})
				if err != nil {
					b.Fatal(err)
				}
				x, w, out := random[float32](rng, count(xs)), random[float32](rng, count(ws)), make([]float32, p.batch*p.outputs*p.outSize)
				ways := []*Weights[float32]{pack(exactStrategies[float32](), pool, p, w, kept), PackWeights(pool, p, w)}
				best := [2]time.Duration{time.Hour, time.Hour}
				for b.Loop() {
					for i, way := range ways {
						start := time.Now()
						if err := RunPacked(pool, p, x, way, out, nil); err != nil {
							b.Fatal(err)
						}
						best[i] = min(best[i], time.Since(start))
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(best[0].Nanoseconds())/1e3, "plain-µs")
				b.ReportMetric(float64(best[1].Nanoseconds())/1e3, "tiles-µs")
				b.ReportMetric(2*float64(len(out)*p.depth())/float64(best[1].Nanoseconds()), "tiles-GFLOP/s")
				b.ReportMetric(float64(best[0])/float64(best[1]), "times")
			})
		}
	}
}
