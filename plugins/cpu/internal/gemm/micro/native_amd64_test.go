package micro

import (
	"fmt"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/peak"
)

// BenchmarkPeak measures the peak rate of one core: multiply-adds between
// registers. The rates of BenchmarkGemm are to be compared with it.
func BenchmarkPeak(b *testing.B) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		loop, _ := peak.Of(d)
		b.Run(fmt.Sprintf("%s/%s", d, loop.Name), func(b *testing.B) {
			const turns = 10000
			for b.Loop() {
				loop.Run(turns)
			}
			gemmtest.Rate(b, turns*int(loop.Flops))
		})
	}
}

func BenchmarkTile(b *testing.B) {
	for _, c := range kernels32 {
		if c.kernel.Tile == nil || !c.usable() {
			continue
		}
		kern := c.kernel
		for _, rows := range []int{1, 4, kern.MR} {
			b.Run(fmt.Sprintf("%s/%dx%d", kern.Name, rows, kern.NR), func(b *testing.B) {
				k := 128
				x, y, z := make([]float32, kern.MR*k), make([]float32, kern.NR*k), make([]float32, kern.MR*kern.NR)
				for b.Loop() {
					kern.Tile(rows, kern.NR, k, x, 1, kern.MR, y, kern.NR, z, kern.NR, true, nil, 0, 0)
				}
				gemmtest.Rate(b, 2*rows*kern.NR*k)
			})
		}
	}
}
