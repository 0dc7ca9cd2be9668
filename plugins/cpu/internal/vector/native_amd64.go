package vector

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

var wide = loops{
	lanes:    16,
	taps:     [6]tapsFunc{taps32AVX512x4x1, taps32AVX512x1x1, taps32AVX512x2x2, taps32AVX512x1x2, taps32AVX512x1x3, taps32AVX512x1x4},
	most:     [6]maxFunc{most32AVX512x4x1, most32AVX512x1x1, most32AVX512x2x2, most32AVX512x1x2, most32AVX512x1x3, most32AVX512x1x4},
	plane:    [2][2]planeFunc{{plane32AVX512x3x1, plane32AVX512x3x2}, {plane32AVX512x5x1, plane32AVX512x5x2}},
	copyRows: copyRows32AVX512, copyRowsNonTemporal: copyRowsNonTemporal32AVX512, splitRows: splitRows32AVX512,

	add: pairLoops{add32AVX512, addTo32AVX512, nil}, mul: pairLoops{mul32AVX512, mulTo32AVX512, nil},
	sub: pairLoops{sub32AVX512, subTo32AVX512, subFrom32AVX512}, div: pairLoops{div32AVX512, divTo32AVX512, divFrom32AVX512},
	max: pairLoops{max32AVX512, maxTo32AVX512, nil}, min: pairLoops{min32AVX512, minTo32AVX512, nil},
	clamp: clamp32AVX512, exp: exp32AVX512, sigmoid: sigmoid32AVX512, tanh: tanh32AVX512, silu: silu32AVX512, expSub: expSub32AVX512,

	apply: [functions]mapFunc{log32AVX512, log1p32AVX512, expm132AVX512, erf32AVX512, gelu32AVX512, geluTanh32AVX512, softplus32AVX512, mish32AVX512, sin32AVX512, cos32AVX512, neg32AVX512, abs32AVX512, square32AVX512, sqrt32AVX512, rsqrt32AVX512, reciprocal32AVX512, round32AVX512, floor32AVX512, ceil32AVX512, trunc32AVX512},
	elu:   elu32AVX512, leaky: leaky32AVX512, gate: gate32AVX512, standard: standard32AVX512, linear: linear32AVX512,
	standardScaled: standardScaled32AVX512, standardAffine: standardAffine32AVX512, standardRows: standardRows32AVX512, standardRowsNonTemporal: standardRowsNonTemporal32AVX512,
	storageFuncs: storageFuncs{fromF16: fromF1632AVX512, fromBF16: fromBF1632AVX512, toF16: toF1632AVX512, toF16NonTemporal: toF16NonTemporal32AVX512, toBF16: toBF1632AVX512, toI32: toI3232AVX512, fromI32: fromI3232AVX512, fromU8: fromU832AVX512, fromI8: fromI832AVX512, pow: powTo32AVX512, stream: stream32AVX512, streamAhead: streamAhead32AVX512, copyAhead: copyAhead32AVX512, fence: fence32AVX512, choose: choose32AVX512, chooseNonTemporal: chooseNonTemporal32AVX512, quantize: quantize32AVX512, dequantizeU8: dequantizeU832AVX512, dequantizeI8: dequantizeI832AVX512, transpose: transpose32AVX512, transposeNonTemporal: transposeNonTemporal32AVX512},
}

var narrow = loops{
	lanes:    8,
	taps:     [6]tapsFunc{taps32AVX2x4x1, taps32AVX2x1x1, taps32AVX2x2x2, taps32AVX2x1x2, taps32AVX2x1x3, taps32AVX2x1x4},
	most:     [6]maxFunc{most32AVX2x4x1, most32AVX2x1x1, most32AVX2x2x2, most32AVX2x1x2, most32AVX2x1x3, most32AVX2x1x4},
	copyRows: copyRows32AVX2, copyRowsNonTemporal: copyRowsNonTemporal32AVX2, splitRows: splitRows32AVX2,

	add: pairLoops{add32AVX2, addTo32AVX2, nil}, mul: pairLoops{mul32AVX2, mulTo32AVX2, nil},
	sub: pairLoops{sub32AVX2, subTo32AVX2, subFrom32AVX2}, div: pairLoops{div32AVX2, divTo32AVX2, divFrom32AVX2},
	max: pairLoops{max32AVX2, maxTo32AVX2, nil}, min: pairLoops{min32AVX2, minTo32AVX2, nil},
	clamp: clamp32AVX2, exp: exp32AVX2, sigmoid: sigmoid32AVX2, tanh: tanh32AVX2, silu: silu32AVX2, expSub: expSub32AVX2,

	apply: [functions]mapFunc{log32AVX2, log1p32AVX2, expm132AVX2, erf32AVX2, gelu32AVX2, geluTanh32AVX2, softplus32AVX2, mish32AVX2, sin32AVX2, cos32AVX2, neg32AVX2, abs32AVX2, square32AVX2, sqrt32AVX2, rsqrt32AVX2, reciprocal32AVX2, round32AVX2, floor32AVX2, ceil32AVX2, trunc32AVX2},
	elu:   elu32AVX2, leaky: leaky32AVX2, gate: gate32AVX2, standard: standard32AVX2, linear: linear32AVX2,
	standardScaled: standardScaled32AVX2, standardAffine: standardAffine32AVX2, standardRows: standardRows32AVX2, standardRowsNonTemporal: standardRowsNonTemporal32AVX2,
	storageFuncs: storageFuncs{fromF16: fromF1632AVX2, fromBF16: fromBF1632AVX2, toF16: toF1632AVX2, toF16NonTemporal: toF16NonTemporal32AVX2, toBF16: toBF1632AVX2, toI32: toI3232AVX2, fromI32: fromI3232AVX2, fromU8: fromU832AVX2, fromI8: fromI832AVX2, pow: powTo32AVX2, stream: stream32AVX2, streamAhead: streamAhead32AVX2, copyAhead: copyAhead32AVX2, fence: fence32AVX2, choose: choose32AVX2, chooseNonTemporal: chooseNonTemporal32AVX2, quantize: quantize32AVX2, dequantizeU8: dequantizeU832AVX2, dequantizeI8: dequantizeI832AVX2, square: square32AVX2x4},
}

func best() *loops {
	for _, l := range levels() {
		return l
	}
	return nil
}

// levels returns the loops that may be used, best first.
func levels() []*loops {
	var list []*loops
	if cpuid.Active().Has(cpuid.LevelAVX512 | cpuid.F16C) {
		list = append(list, &wide)
	}
	if cpuid.Active().Has(cpuid.LevelAVX2 | cpuid.F16C) {
		list = append(list, &narrow)
	}
	return list
}

// Reductions are called by name: calls through a variable would move their results to the heap.

func sumLine(n int, x, out *float32) {
	if active == &wide {
		sumLine32AVX512(n, x, out)
	} else {
		sumLine32AVX2(n, x, out)
	}
}

func philox(groups int, dst *uint32, key, counter uint64) {
	if active == &wide {
		philox32AVX512(groups, dst, key, counter)
	} else {
		philox32AVX2(groups, dst, key, counter)
	}
}

func maxLine(n int, x *float32, out *int32) {
	if active == &wide {
		maxLine32AVX512(n, x, out)
	} else {
		maxLine32AVX2(n, x, out)
	}
}

func minLine(n int, x *float32, out *int32) {
	if active == &wide {
		minLine32AVX512(n, x, out)
	} else {
		minLine32AVX2(n, x, out)
	}
}

func totalLine(n int, x *float32, out *float64) {
	if active == &wide {
		total32AVX512(n, x, out)
	} else {
		total32AVX2(n, x, out)
	}
}

func squareLine(n int, x *float32, mean float32, out *float64) {
	if active == &wide {
		squares32AVX512(n, x, mean, out)
	} else {
		squares32AVX2(n, x, mean, out)
	}
}

// joinRows reports whether an element is NaN. If so, the results of Maxima and Minima may be wrong.
func joinRows(j Joint, rows, cols int, x *float32, row int, out *float32) bool {
	if active == &wide {
		switch j {
		case Sums:
			return rowSums32AVX512(rows, cols, x, row, out)
		case Maxima:
			return rowMaxima32AVX512(rows, cols, x, row, out)
		}
		return rowMinima32AVX512(rows, cols, x, row, out)
	}
	switch j {
	case Sums:
		return rowSums32AVX2(rows, cols, x, row, out)
	case Maxima:
		return rowMaxima32AVX2(rows, cols, x, row, out)
	}
	return rowMinima32AVX2(rows, cols, x, row, out)
}

// joinColumns reports whether an element is NaN, like joinRows.
func joinColumns(j Joint, rows, cols int, x *float32, row int, out *float32) bool {
	if active == &wide {
		switch j {
		case Sums:
			return columnSums32AVX512(rows, cols, x, row, out)
		case Maxima:
			return columnMaxima32AVX512(rows, cols, x, row, out)
		}
		return columnMinima32AVX512(rows, cols, x, row, out)
	}
	switch j {
	case Sums:
		return columnSums32AVX2(rows, cols, x, row, out)
	case Maxima:
		return columnMaxima32AVX2(rows, cols, x, row, out)
	}
	return columnMinima32AVX2(rows, cols, x, row, out)
}

func joinStack(j Joint, n int, acc, x *float32, row int) {
	if active == &wide {
		switch j {
		case Sums:
			stackSums32AVX512(n, acc, x, row)
		case Maxima:
			stackMaxima32AVX512(n, acc, x, row)
		case Minima:
			stackMinima32AVX512(n, acc, x, row)
		}
		return
	}
	switch j {
	case Sums:
		stackSums32AVX2(n, acc, x, row)
	case Maxima:
		stackMaxima32AVX2(n, acc, x, row)
	case Minima:
		stackMinima32AVX2(n, acc, x, row)
	}
}

func find(b Bound, n int, x *float32, bound float32) int {
	if active == &wide {
		switch b {
		case Above:
			return findAbove32AVX512(n, x, bound)
		case Below:
			return findBelow32AVX512(n, x, bound)
		case AtLeast:
			return findAtLeast32AVX512(n, x, bound)
		}
		return findAtMost32AVX512(n, x, bound)
	}
	switch b {
	case Above:
		return findAbove32AVX2(n, x, bound)
	case Below:
		return findBelow32AVX2(n, x, bound)
	case AtLeast:
		return findAtLeast32AVX2(n, x, bound)
	}
	return findAtMost32AVX2(n, x, bound)
}

func cumulate(n int, sums *float64, d, x *float32) {
	if active == &wide {
		cumulate32AVX512(n, sums, d, x)
	} else {
		cumulate32AVX2(n, sums, d, x)
	}
}
