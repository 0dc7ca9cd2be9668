package quantized

import (
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
)

// active is the best kernel for bytes, nil if there is none.
var active = func() *kernel {
	for _, c := range kernels() {
		if c.usable {
			return c.kernel
		}
	}
	return nil
}()

type candidate struct {
	kernel *kernel
	usable bool
}

// kernels returns all kernels for bytes, best first.
func kernels() []candidate {
	quads := &kernel{Kernel: micro.Kernel[int32]{Name: "vnni", MR: 14, NR: 32, KC: 384, MC: 112, NC: 4096}, group: 4, gather: quadsAVX512,
		tile: [micro.MaxRows]tileFunc{
			bytesAVX512x1, bytesAVX512x2, bytesAVX512x3, bytesAVX512x4, bytesAVX512x5, bytesAVX512x6, bytesAVX512x7,
			bytesAVX512x8, bytesAVX512x9, bytesAVX512x10, bytesAVX512x11, bytesAVX512x12, bytesAVX512x13, bytesAVX512x14,
		}}
	words := &kernel{Kernel: micro.Kernel[int32]{Name: "avx2", MR: 6, NR: 16, KC: 384, MC: 120, NC: 4096}, group: 2, gather: pairsAVX2,
		tile: [micro.MaxRows]tileFunc{bytesAVX2x1, bytesAVX2x2, bytesAVX2x3, bytesAVX2x4, bytesAVX2x5, bytesAVX2x6}}
	quads.Tile, words.Tile = quads.runTile, words.runTile
	return []candidate{{quads, cpuid.Active().Has(cpuid.LevelAVX512 | cpuid.AVX512VNNI)}, {words, cpuid.Active().Has(cpuid.LevelAVX2)}}
}
