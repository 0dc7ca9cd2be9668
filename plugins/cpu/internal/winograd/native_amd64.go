package winograd

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

func nativeTransforms() *native {
	switch {
	case cpuid.Active().Has(cpuid.LevelAVX512):
		return &native{16, 1, 16, 16, greatest32AVX512, split32AVX512, input32AVX512, output32AVX512, settle32AVX512}
	case cpuid.Active().Has(cpuid.LevelAVX2):
		return &native{8, 2, 8, 4, greatest32AVX2, split32AVX2, input32AVX2, output32AVX2, settle32AVX2}
	}
	return nil
}
