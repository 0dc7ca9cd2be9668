package gemm

import (
	"fmt"
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

// BenchmarkPeak is the most that one core can do: multiply-adds between
// registers. BenchmarkGemm is to be read as a fraction of it.
func BenchmarkPeak(b *testing.B) {
	for _, p := range []struct {
		name  string
		needs cpuid.Features
		lanes int
		run   func(turns int)
	}{
		{"float32/avx512", cpuid.LevelAVX512, 16, peak32AVX512},
		{"float64/avx512", cpuid.LevelAVX512, 8, peak64AVX512},
		{"float32/avx2", cpuid.LevelAVX2, 8, peak32AVX2},
		{"float64/avx2", cpuid.LevelAVX2, 4, peak64AVX2},
	} {
		b.Run(p.name, func(b *testing.B) {
			if !cpuid.Active().Has(p.needs) {
				b.Skipf("the processor, or the level set by BURN_CPU, lacks %s", p.needs)
			}
			const turns = 10000
			for b.Loop() {
				p.run(turns)
			}
			rate(b, turns*peakSums*2*p.lanes)
		})
	}
}

// peakSums is how many multiply-adds are in a turn of the peak loops.
const peakSums = 12

func BenchmarkTile(b *testing.B) {
	for _, c := range kernels32 {
		if c.kernel.Tile == nil || !c.usable() {
			continue
		}
		kern := c.kernel
		for _, rows := range []int{1, 4, kern.MR} {
			b.Run(fmt.Sprintf("%s/%dx%d", kern.Name, rows, kern.NR), func(b *testing.B) {
				k := 128
				x, y, z := aligned[float32](kern.MR*k), aligned[float32](kern.NR*k), aligned[float32](kern.MR*kern.NR)
				for b.Loop() {
					kern.Tile(rows, kern.NR, k, x, 1, kern.MR, y, kern.NR, z, kern.NR, true, nil, 0, 0)
				}
				rate(b, 2*rows*kern.NR*k)
			})
		}
	}
}
