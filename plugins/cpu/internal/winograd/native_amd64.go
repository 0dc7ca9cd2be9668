package winograd

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

func nativeTransforms() *native {
	switch {
	case cpuid.Active().Has(cpuid.LevelAVX512):
		return &native{
			lanes: 16, unit: 1, minChannels: 16, minOutputs: 16,
			greatest: greatest32AVX512, split: split32AVX512, input: input32AVX512, output: output32AVX512, storeTiles: storeTiles32AVX512,
			product: [tallRows / 2]productFunc{
				product32AVX512x2, product32AVX512x4, product32AVX512x6, product32AVX512x8, product32AVX512x10, product32AVX512x12,
				product32AVX512x14, product32AVX512x16, product32AVX512x18, product32AVX512x20, product32AVX512x22, product32AVX512x24,
				product32AVX512x26, product32AVX512x28,
			},
		}
	case cpuid.Active().Has(cpuid.LevelAVX2):
		return &native{
			lanes: 8, unit: 2, minChannels: 8, minOutputs: 4,
			greatest: greatest32AVX2, split: split32AVX2, input: input32AVX2, output: output32AVX2, storeTiles: storeTiles32AVX2,
		}
	}
	return nil
}
