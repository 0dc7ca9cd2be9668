package gradient

import (
	"fmt"

	"github.com/goburn/burn/core/op"
)

// How returns how op c is differentiated: "rule", "decomposition", or "none" with the reason.
func How(c op.Code) (how, reason string) {
	if reason, ok := without[c]; ok {
		return "none", reason
	}
	if _, ok := Of(c); ok {
		return "rule", ""
	}
	if op.HasDecomposition(c) {
		return "decomposition", ""
	}
	return "none", fmt.Sprintf("%v has no rule and no decomposition", c)
}

const (
	source   = "it has no operand of a float type to depend on"
	discrete = "its results are integers or truth values"
	steps    = "its results are steps of its operands, and their scales are statistics of calibration"
)

// without maps each op that has no gradient to the reason.
var without = reasons(map[string][]op.Code{
	source: {op.Full, op.Iota, op.RandomBits, op.RandomUniform, op.RandomNormal, op.HannWindow, op.HammingWindow, op.BlackmanWindow,
		op.KaiserWindow, op.Eye, op.LinSpace, op.OneHot, op.MatMulInteger, op.ConvInteger, op.BitCount},
	discrete: {op.Not, op.IsNaN, op.Equal, op.Less, op.And, op.Or, op.Xor, op.Shl, op.Shr, op.ArgMax, op.ArgMin, op.IsInf, op.IsFinite, op.NotEqual,
		op.Greater, op.GreaterEqual, op.LessEqual, op.SearchSorted, op.ArgSort, op.CumArgMax, op.CumArgMin, op.Histogram, op.NonZero,
		op.NMS, op.Multinomial, op.RandomBitsAt, op.Quantize, op.QLinearMatMul, op.QLinearConv, op.Requantize},
	steps: {op.DynamicQuantize, op.Bernoulli},
})

func reasons(m map[string][]op.Code) map[op.Code]string {
	flat := map[op.Code]string{}
	for r, codes := range m {
		for _, c := range codes {
			flat[c] = r
		}
	}
	return flat
}
