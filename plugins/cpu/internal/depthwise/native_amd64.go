package depthwise

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

func loop(size, stride int) func(*byte) {
	if !cpuid.Active().Has(cpuid.LevelAVX512) {
		return nil
	}
	switch [2]int{size, stride} {
	case [2]int{3, 1}:
		return planes32AVX512x3x1
	case [2]int{3, 2}:
		return planes32AVX512x3x2
	case [2]int{5, 1}:
		return planes32AVX512x5x1
	case [2]int{5, 2}:
		return planes32AVX512x5x2
	}
	return nil
}
