package program

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// Pattern is a sequence of simple ops that Rewrite replaces by an op of the table.
type Pattern struct {
	Name string
	Doc  string    // the form that is recognized, and its replacement
	Ends []op.Code // the ops that its last node may have
	// apply replaces the pattern if it ends in place i, and reports whether it did.
	apply func(r *rewriter, i int) bool
}

// Patterns lists the patterns of Rewrite. At every node they are tried in this order until none applies, since the result of
// one may be a part of another.
func Patterns() []Pattern { return slices.Clone(patterns) }

var patterns = []Pattern{
	{"sigmoid", "1/(1+exp(-x)) becomes sigmoid", []op.Code{op.Div, op.Reciprocal}, (*rewriter).sigmoid},
	{"gelu", "x/2·(1+erf(x/√2)), or its form with tanh, in any order, becomes gelu", []op.Code{op.Mul, op.Div}, (*rewriter).gelu},
	{"silu", "x·sigmoid(alpha·x) becomes silu", []op.Code{op.Mul, op.Div}, (*rewriter).silu},
	{"silu_quotient", "x/(1+exp(-x)) becomes silu", []op.Code{op.Div}, (*rewriter).siluQuotient},
	{"hard_swish", "x·clip(x/6+1/2, 0, 1), or the same on another scale, becomes hard_swish", []op.Code{op.Mul, op.Div}, (*rewriter).hardSwish},
	{"softmax", "e/sum(e) with e = exp(x-max(x)) along one axis becomes softmax", []op.Code{op.Div}, (*rewriter).softmax},
	{"layer_norm", "(x-mean)/√(variance+epsilon) over the last axes becomes layer_norm", []op.Code{op.Mul, op.Div}, (*rewriter).layerNorm},
	{"rms_norm", "x/√(mean(x²)+epsilon) over the last axes becomes rms_norm", []op.Code{op.Mul, op.Div}, (*rewriter).rmsNorm},
	{"norm_scale", "a factor after a norm becomes its scale", []op.Code{op.Mul}, (*rewriter).normScale},
	{"norm_bias", "a summand after layer_norm becomes its bias", []op.Code{op.Add}, (*rewriter).normBias},
	{"linear", "a product with a matrix plus a row becomes linear", []op.Code{op.Add}, (*rewriter).linear},
	{"attention", "softmax(scale·q·kᵀ+mask)·v over the last two axes becomes attention", []op.Code{op.MatMul}, (*rewriter).attention},
	{"byte_product", "a product in i32 of bytes less their zero points becomes matmul_integer", []op.Code{op.MatMul}, (*rewriter).byteProduct},
	{"integer_product", "a product of what was dequantized becomes matmul_integer, dequantized", []op.Code{op.MatMul, op.Linear}, (*rewriter).integerProduct},
	{"byte_conv", "a convolution in i32 of bytes less their zero points becomes conv_integer", []op.Code{op.Conv}, (*rewriter).byteConv},
	{"integer_conv", "a convolution of what was dequantized becomes conv_integer, dequantized", []op.Code{op.Conv}, (*rewriter).integerConv},
	{"moved_bytes", "dequantize, movement and quantize by the same scale becomes movement of bytes", []op.Code{op.Quantize}, (*rewriter).movedBytes},
	{"rounded_bytes", "sums in i32 times factors, rounded, moved and cast to bytes become quantize by a step of 1", []op.Code{op.Cast}, (*rewriter).roundedBytes},
}
