package micro

import (
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

// can returns a function that reports whether the processor supports a level.
func can(level cpuid.Features) func() bool {
	return func() bool { return cpuid.Active().Has(level) }
}

func native32() []candidate[float32] {
	wide, narrow := &native[float32]{
		tile: [MaxRows]TileFunc[float32]{
			tile32AVX512x1, tile32AVX512x2, tile32AVX512x3, tile32AVX512x4, tile32AVX512x5, tile32AVX512x6, tile32AVX512x7,
			tile32AVX512x8, tile32AVX512x9, tile32AVX512x10, tile32AVX512x11, tile32AVX512x12, tile32AVX512x13, tile32AVX512x14,
		},
		half: [MaxRows]TileFunc[float32]{
			tile32AVX512Halfx1, tile32AVX512Halfx2, tile32AVX512Halfx3, tile32AVX512Halfx4, tile32AVX512Halfx5, tile32AVX512Halfx6, tile32AVX512Halfx7,
			tile32AVX512Halfx8, tile32AVX512Halfx9, tile32AVX512Halfx10, tile32AVX512Halfx11, tile32AVX512Halfx12, tile32AVX512Halfx13, tile32AVX512Halfx14,
		},
		cols: 32, masked: true, epilogue: epilogue32AVX512,
		indirect: [MaxRows]indirectFunc[float32]{
			indirect32AVX512x1, indirect32AVX512x2, indirect32AVX512x3, indirect32AVX512x4, indirect32AVX512x5, indirect32AVX512x6, indirect32AVX512x7, indirect32AVX512x8, indirect32AVX512x9, indirect32AVX512x10, indirect32AVX512x11, indirect32AVX512x12, indirect32AVX512x13, indirect32AVX512x14,
		},
		panels: [GroupRows]panelsFunc[float32]{panels32AVX512x1, panels32AVX512x2, panels32AVX512x3},
		dot4:   dot32AVX512x4, dot1: dot32AVX512x1, axpy8: axpy32AVX512x8, axpy1: axpy32AVX512x1,
		packing: packing[float32]{strip: strip32AVX512, collect: collect32AVX512, stripMasked: true, transpose: transpose32AVX512, transposeLines: 16},
	}, &native[float32]{
		tile: [MaxRows]TileFunc[float32]{tile32AVX2x1, tile32AVX2x2, tile32AVX2x3, tile32AVX2x4, tile32AVX2x5, tile32AVX2x6},
		part: [maxPartRows]TileFunc[float32]{tile32AVX2Partx1, tile32AVX2Partx2, tile32AVX2Partx3, tile32AVX2Partx4},
		cols: 16, epilogue: epilogue32AVX2,
		dot4: dot32AVX2x4, dot1: dot32AVX2x1, axpy8: axpy32AVX2x8, axpy1: axpy32AVX2x1,
		packing: packing[float32]{strip: strip32AVX2, collect: collect32AVX2, stripLines: 16, square4: square32AVX2x4, square2: square32AVX2x2, step: 4},
	}
	return []candidate[float32]{
		{wide.kernel(Kernel[float32]{Name: "avx512", MR: 14, NR: 32, KC: 384, MC: 112, NC: 4096}), can(cpuid.LevelAVX512)},
		{narrow.kernel(Kernel[float32]{Name: "avx2", MR: 6, NR: 16, KC: 384, MC: 120, NC: 4096}), can(cpuid.LevelAVX2)},
	}
}

func native64() []candidate[float64] {
	wide, narrow := &native[float64]{
		tile: [MaxRows]TileFunc[float64]{
			tile64AVX512x1, tile64AVX512x2, tile64AVX512x3, tile64AVX512x4, tile64AVX512x5, tile64AVX512x6, tile64AVX512x7,
			tile64AVX512x8, tile64AVX512x9, tile64AVX512x10, tile64AVX512x11, tile64AVX512x12, tile64AVX512x13, tile64AVX512x14,
		},
		half: [MaxRows]TileFunc[float64]{
			tile64AVX512Halfx1, tile64AVX512Halfx2, tile64AVX512Halfx3, tile64AVX512Halfx4, tile64AVX512Halfx5, tile64AVX512Halfx6, tile64AVX512Halfx7,
			tile64AVX512Halfx8, tile64AVX512Halfx9, tile64AVX512Halfx10, tile64AVX512Halfx11, tile64AVX512Halfx12, tile64AVX512Halfx13, tile64AVX512Halfx14,
		},
		cols: 16, masked: true, epilogue: epilogue64AVX512,
		indirect: [MaxRows]indirectFunc[float64]{
			indirect64AVX512x1, indirect64AVX512x2, indirect64AVX512x3, indirect64AVX512x4, indirect64AVX512x5, indirect64AVX512x6, indirect64AVX512x7, indirect64AVX512x8, indirect64AVX512x9, indirect64AVX512x10, indirect64AVX512x11, indirect64AVX512x12, indirect64AVX512x13, indirect64AVX512x14,
		},
		panels: [GroupRows]panelsFunc[float64]{panels64AVX512x1, panels64AVX512x2, panels64AVX512x3},
		dot4:   dot64AVX512x4, dot1: dot64AVX512x1, axpy8: axpy64AVX512x8, axpy1: axpy64AVX512x1,
		packing: packing[float64]{strip: strip64AVX512, collect: collect64AVX512, stripMasked: true, transpose: transpose64AVX512, transposeLines: 8},
	}, &native[float64]{
		tile: [MaxRows]TileFunc[float64]{tile64AVX2x1, tile64AVX2x2, tile64AVX2x3, tile64AVX2x4, tile64AVX2x5, tile64AVX2x6},
		part: [maxPartRows]TileFunc[float64]{tile64AVX2Partx1, tile64AVX2Partx2, tile64AVX2Partx3, tile64AVX2Partx4},
		cols: 8, epilogue: epilogue64AVX2,
		dot4: dot64AVX2x4, dot1: dot64AVX2x1, axpy8: axpy64AVX2x8, axpy1: axpy64AVX2x1,
		packing: packing[float64]{strip: strip64AVX2, collect: collect64AVX2, stripLines: 8, square2: square64AVX2x2, step: 2},
	}
	return []candidate[float64]{
		{wide.kernel(Kernel[float64]{Name: "avx512", MR: 14, NR: 16, KC: 256, MC: 112, NC: 2048}), can(cpuid.LevelAVX512)},
		{narrow.kernel(Kernel[float64]{Name: "avx2", MR: 6, NR: 8, KC: 256, MC: 120, NC: 2048}), can(cpuid.LevelAVX2)},
	}
}
