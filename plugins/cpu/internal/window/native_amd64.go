package window

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

func nativeLoops() *native {
	switch {
	case cpuid.Active().Has(cpuid.LevelAVX512):
		return &wide
	case cpuid.Active().Has(cpuid.LevelAVX2):
		return &narrow
	}
	return nil
}

var wide = native{
	sum: [len(poolShapes)]sumFunc{poolSum32AVX512x2x1, poolSum32AVX512x3x1, poolSum32AVX512x5x1, poolSum32AVX512x2x2, poolSum32AVX512x3x2, poolSum32AVX512x3x3},
	max: [len(poolShapes)]maxFunc{poolMax32AVX512x2x1, poolMax32AVX512x3x1, poolMax32AVX512x5x1, poolMax32AVX512x2x2, poolMax32AVX512x3x2, poolMax32AVX512x3x3},
}

var narrow = native{
	sum: [len(poolShapes)]sumFunc{poolSum32AVX2x2x1, poolSum32AVX2x3x1, poolSum32AVX2x5x1, poolSum32AVX2x2x2, poolSum32AVX2x3x2, poolSum32AVX2x3x3},
	max: [len(poolShapes)]maxFunc{poolMax32AVX2x2x1, poolMax32AVX2x3x1, poolMax32AVX2x5x1, poolMax32AVX2x2x2, poolMax32AVX2x3x2, poolMax32AVX2x3x3},
}
