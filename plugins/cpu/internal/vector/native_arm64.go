package vector

import "github.com/goburn/burn/plugins/cpu/internal/cpuid"

// neon has loops with non-temporal stores only for copies: on arm64, a plain store of a whole cache line does not read the line
// first.
var neon = loops{
	lanes:    4,
	taps:     [6]tapsFunc{tapsx4x1NEON, tapsx1x1NEON, tapsx2x2NEON, tapsx1x2NEON, tapsx1x3NEON, tapsx1x4NEON},
	most:     [6]maxFunc{mostx4x1NEON, mostx1x1NEON, mostx2x2NEON, mostx1x2NEON, mostx1x3NEON, mostx1x4NEON},
	plane:    [2][2]planeFunc{{planex3x1NEON, planex3x2NEON}, {planex5x1NEON, planex5x2NEON}},
	copyRows: copyRowsNEON, copyRowsNonTemporal: copyRowsNEON, splitRows: splitRowsNEON,

	add: pairLoops{addNEON, addToNEON, nil}, mul: pairLoops{mulNEON, mulToNEON, nil},
	sub: pairLoops{subNEON, subToNEON, subFromNEON}, div: pairLoops{divNEON, divToNEON, divFromNEON},
	max: pairLoops{maxNEON, maxToNEON, nil}, min: pairLoops{minNEON, minToNEON, nil},
	clamp: clampNEON, exp: expNEON, sigmoid: sigmoidNEON, tanh: tanhNEON, silu: siluNEON, expSub: expSubNEON,

	apply: [functions]mapFunc{logNEON, log1pNEON, expm1NEON, erfNEON, geluNEON, geluTanhNEON, softplusNEON, mishNEON, sinNEON, cosNEON, negNEON, absNEON, squareNEON, sqrtNEON, rsqrtNEON, reciprocalNEON, roundNEON, floorNEON, ceilNEON, truncNEON},
	elu:   eluNEON, leaky: leakyNEON, gate: gateNEON, standard: standardNEON, linear: linearNEON,
	standardScaled: standardScaledNEON, standardAffine: standardAffineNEON, standardRows: standardRowsNEON, standardRowsNonTemporal: standardRowsNEON,
	storageFuncs: storageFuncs{fromF16: fromF16NEON, fromBF16: fromBF16NEON, toF16: toF16NEON, toF16NonTemporal: toF16NEON, toBF16: toBF16NEON, toI32: toI32NEON, fromI32: fromI32NEON, fromU8: fromU8NEON, fromI8: fromI8NEON, pow: powNEON, stream: streamNEON, streamAhead: streamAheadNEON, copyAhead: copyAheadNEON, fence: func() {}, choose: chooseNEON, chooseNonTemporal: chooseNEON, quantize: quantizeNEON, dequantizeU8: dequantizeU8NEON, dequantizeI8: dequantizeI8NEON, square: transposeFourNEON},
}

func best() *loops {
	for _, l := range levels() {
		return l
	}
	return nil
}

// levels returns the loops that may be used, best first.
func levels() []*loops {
	if cpuid.Active().Has(cpuid.LevelNEON) {
		return []*loops{&neon}
	}
	return nil
}

func sumLine(n int, x, out *float32) { sumLineNEON(n, x, out) }

func philox(groups int, dst *uint32, key, counter uint64) { philoxNEON(groups, dst, key, counter) }

func maxLine(n int, x *float32, out *int32) { maxLineNEON(n, x, out) }

func minLine(n int, x *float32, out *int32) { minLineNEON(n, x, out) }

func totalLine(n int, x *float32, out *float64) { totalNEON(n, x, out) }

func squareLine(n int, x *float32, mean float32, out *float64) { squaresNEON(n, x, mean, out) }

// joinRows always returns false: the extremes of this level are NaN if an element is.
func joinRows(j Joint, rows, cols int, x *float32, row int, out *float32) bool {
	switch j {
	case Sums:
		rowSumsNEON(rows, cols, x, row, out)
	case Maxima:
		rowMaximaNEON(rows, cols, x, row, out)
	default:
		rowMinimaNEON(rows, cols, x, row, out)
	}
	return false
}

func joinColumns(j Joint, rows, cols int, x *float32, row int, out *float32) bool {
	switch j {
	case Sums:
		columnSumsNEON(rows, cols, x, row, out)
	case Maxima:
		columnMaximaNEON(rows, cols, x, row, out)
	default:
		columnMinimaNEON(rows, cols, x, row, out)
	}
	return false
}

func joinStack(j Joint, n int, acc, x *float32, row int) {
	switch j {
	case Sums:
		stackSumsNEON(n, acc, x, row)
	case Maxima:
		stackMaximaNEON(n, acc, x, row)
	case Minima:
		stackMinimaNEON(n, acc, x, row)
	}
}

func find(b Bound, n int, x *float32, bound float32) int {
	switch b {
	case Above:
		return findAboveNEON(n, x, bound)
	case Below:
		return findBelowNEON(n, x, bound)
	case AtLeast:
		return findAtLeastNEON(n, x, bound)
	}
	return findAtMostNEON(n, x, bound)
}

func cumulate(n int, sums *float64, d, x *float32) { cumulateNEON(n, sums, d, x) }
