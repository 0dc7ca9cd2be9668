package half

import (
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
)

// pairsAVX512 is the kernel for pairs.
var pairsAVX512 = func() *pairKernel {
	tile := micro.MaskedTile(32, [micro.MaxRows]micro.TileFunc[float32]{
		tilePairsAVX512x1, tilePairsAVX512x2, tilePairsAVX512x3, tilePairsAVX512x4, tilePairsAVX512x5, tilePairsAVX512x6, tilePairsAVX512x7,
		tilePairsAVX512x8, tilePairsAVX512x9, tilePairsAVX512x10, tilePairsAVX512x11, tilePairsAVX512x12, tilePairsAVX512x13, tilePairsAVX512x14,
	}, [micro.MaxRows]micro.TileFunc[float32]{
		tilePairsAVX512Halfx1, tilePairsAVX512Halfx2, tilePairsAVX512Halfx3, tilePairsAVX512Halfx4, tilePairsAVX512Halfx5, tilePairsAVX512Halfx6, tilePairsAVX512Halfx7,
		tilePairsAVX512Halfx8, tilePairsAVX512Halfx9, tilePairsAVX512Halfx10, tilePairsAVX512Halfx11, tilePairsAVX512Halfx12, tilePairsAVX512Halfx13, tilePairsAVX512Halfx14,
	})
	return &pairKernel{Kernel: micro.Kernel[float32]{Name: "bf16", MR: 14, NR: 32, KC: 384, MC: 112, NC: 4096, Tile: tile},
		zip: zipPairsAVX512, transpose: transposePairsAVX512, subnormal: subnormalAVX512}
}()

// levels returns the kernels for 16-bit floats that this processor can run,
// best first.
func levels() []level {
	wide := level{bf16: &loops{16, dotBF16AVX512x4, dotBF16AVX512x1, axpyBF16AVX512x8, axpyBF16AVX512x1, stripBF16AVX512, true},
		f16: &loops{16, dotF16AVX512x4, dotF16AVX512x1, axpyF16AVX512x8, axpyF16AVX512x1, stripF16AVX512, true}}
	narrow := level{bf16: &loops{8, dotBF16AVX2x4, dotBF16AVX2x1, axpyBF16AVX2x8, axpyBF16AVX2x1, stripBF16AVX2, false}}
	if cpuid.Active().Has(cpuid.F16C) {
		narrow.f16 = &loops{8, dotF16AVX2x4, dotF16AVX2x1, axpyF16AVX2x8, axpyF16AVX2x1, stripF16AVX2, false}
	}
	paired := wide
	paired.name, wide.name, narrow.name = "pairs", "avx512", "avx2"
	paired.pairs = pairsAVX512
	var list []level
	if cpuid.Active().Has(cpuid.LevelAVX512 | cpuid.AVX512BF16) {
		list = append(list, paired)
	}
	if cpuid.Active().Has(cpuid.LevelAVX512) {
		list = append(list, wide)
	}
	if cpuid.Active().Has(cpuid.LevelAVX2) {
		list = append(list, narrow)
	}
	return list
}
