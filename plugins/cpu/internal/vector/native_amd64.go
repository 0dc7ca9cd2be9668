package vector

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

var wide = loops{
	lanes: 16,
	taps:  [6]tapsFunc{taps32AVX512x4x1, taps32AVX512x1x1, taps32AVX512x2x2, taps32AVX512x1x2, taps32AVX512x1x3, taps32AVX512x1x4},
	most:  [6]mostFunc{most32AVX512x4x1, most32AVX512x1x1, most32AVX512x2x2, most32AVX512x1x2, most32AVX512x1x3, most32AVX512x1x4},
	split: split32AVX512,
}

var narrow = loops{
	lanes: 8,
	taps:  [6]tapsFunc{taps32AVX2x4x1, taps32AVX2x1x1, taps32AVX2x2x2, taps32AVX2x1x2, taps32AVX2x1x3, taps32AVX2x1x4},
	most:  [6]mostFunc{most32AVX2x4x1, most32AVX2x1x1, most32AVX2x2x2, most32AVX2x1x2, most32AVX2x1x3, most32AVX2x1x4},
	split: split32AVX2,
}

func best() *loops {
	for _, l := range levels() {
		return l
	}
	return nil
}

// levels gives the loops that may be used, best first.
func levels() []*loops {
	var list []*loops
	if cpuid.Active().Has(cpuid.LevelAVX512) {
		list = append(list, &wide)
	}
	if cpuid.Active().Has(cpuid.LevelAVX2) {
		list = append(list, &narrow)
	}
	return list
}
