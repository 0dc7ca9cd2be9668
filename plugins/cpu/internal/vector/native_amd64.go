package vector

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

var wide = loops{
	lanes:    16,
	taps:     [6]tapsFunc{taps32AVX512x4x1, taps32AVX512x1x1, taps32AVX512x2x2, taps32AVX512x1x2, taps32AVX512x1x3, taps32AVX512x1x4},
	most:     [6]mostFunc{most32AVX512x4x1, most32AVX512x1x1, most32AVX512x2x2, most32AVX512x1x2, most32AVX512x1x3, most32AVX512x1x4},
	plane:    [2][2]planeFunc{{plane32AVX512x3x1, plane32AVX512x3x2}, {plane32AVX512x5x1, plane32AVX512x5x2}},
	copyRows: copyRows32AVX512, splitRows: splitRows32AVX512,

	add: pairLoops{add32AVX512, addTo32AVX512, nil}, mul: pairLoops{mul32AVX512, mulTo32AVX512, nil},
	sub: pairLoops{sub32AVX512, subTo32AVX512, subFrom32AVX512}, div: pairLoops{div32AVX512, divTo32AVX512, divFrom32AVX512},
	max: pairLoops{max32AVX512, maxTo32AVX512, nil}, min: pairLoops{min32AVX512, minTo32AVX512, nil},
	clamp: clamp32AVX512, exp: exp32AVX512, sigmoid: sigmoid32AVX512, tanh: tanh32AVX512, silu: silu32AVX512, expSub: expSub32AVX512,
}

var narrow = loops{
	lanes:    8,
	taps:     [6]tapsFunc{taps32AVX2x4x1, taps32AVX2x1x1, taps32AVX2x2x2, taps32AVX2x1x2, taps32AVX2x1x3, taps32AVX2x1x4},
	most:     [6]mostFunc{most32AVX2x4x1, most32AVX2x1x1, most32AVX2x2x2, most32AVX2x1x2, most32AVX2x1x3, most32AVX2x1x4},
	copyRows: copyRows32AVX2, splitRows: splitRows32AVX2,

	add: pairLoops{add32AVX2, addTo32AVX2, nil}, mul: pairLoops{mul32AVX2, mulTo32AVX2, nil},
	sub: pairLoops{sub32AVX2, subTo32AVX2, subFrom32AVX2}, div: pairLoops{div32AVX2, divTo32AVX2, divFrom32AVX2},
	max: pairLoops{max32AVX2, maxTo32AVX2, nil}, min: pairLoops{min32AVX2, minTo32AVX2, nil},
	clamp: clamp32AVX2, exp: exp32AVX2, sigmoid: sigmoid32AVX2, tanh: tanh32AVX2, silu: silu32AVX2, expSub: expSub32AVX2,
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
