package gradient_test

import (
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

func TestElementwiseDifferences(t *testing.T) {
	var all []example
	for c, x := range map[op.Code]ref.Tensor{
		op.Neg: real(1, 5), op.Abs: real(2, 5), op.Exp: real(3, 5), op.Log: positive(4, 5), op.Log1p: drawn(5, -0.8, 2, 5), op.Expm1: real(6, 5),
		op.Sqrt: positive(7, 5), op.Sin: real(8, 5), op.Cos: real(9, 5), op.Tan: unit(10, 5), op.Asin: unit(11, 5), op.Acos: unit(12, 5),
		op.Atan: real(13, 5), op.Sinh: real(14, 5), op.Cosh: real(15, 5), op.Tanh: real(16, 5), op.Erf: real(17, 5), op.Reciprocal: positive(18, 5),
		op.Rsqrt: positive(19, 5), op.Square: real(20, 5), op.Asinh: real(21, 5), op.Acosh: drawn(22, 1.2, 4, 5), op.Atanh: unit(23, 5),
		op.Frac: real(24, 5), op.Exp2: real(25, 5), op.Log2: positive(26, 5), op.Log10: positive(27, 5), op.Copy: real(28, 5),
		op.Floor: real(29, 5), op.Ceil: real(30, 5), op.Round: real(31, 5), op.Sign: real(32, 5), op.Trunc: real(33, 5), op.RoundAway: real(34, 5),
		op.Relu: real(35, 9), op.Relu6: drawn(36, -4, 9, 9), op.Selu: real(37, 9), op.Elu: real(38, 9), op.Celu: real(39, 9), op.Sigmoid: real(40, 9),
		op.LogSigmoid: real(41, 9), op.HardSigmoid: drawn(42, -5, 5, 9), op.HardSwish: drawn(43, -5, 5, 9), op.Silu: real(44, 9), op.QuickGelu: real(45, 9),
		op.Gelu: real(46, 9), op.Mish: real(47, 9), op.Softplus: real(48, 9), op.Softsign: real(49, 9), op.ThresholdedRelu: real(50, 9),
		op.HardTanh: real(51, 9), op.HardShrink: real(52, 9), op.SoftShrink: real(53, 9), op.TanhShrink: real(54, 9), op.LeakyRelu: real(55, 9),
	} {
		all = append(all, example{c, tensors(x), nil})
	}
	differAll(t, all)
}

func TestElementwiseDifferencesWithAttributes(t *testing.T) {
	x := drawn(1, -3, 3, 12)
	alpha := op.Float("alpha", 0.3)
	differAll(t, []example{
		{op.LeakyRelu, tensors(x), with(alpha)}, {op.Elu, tensors(x), with(alpha)}, {op.Celu, tensors(x), with(alpha)},
		{op.Selu, tensors(x), with(alpha, op.Float("gamma", 1.7))}, {op.Silu, tensors(x), with(alpha)}, {op.QuickGelu, tensors(x), with(alpha)},
		{op.ThresholdedRelu, tensors(x), with(alpha)}, {op.Gelu, tensors(x), with(op.Str("approximate", "tanh"))},
		{op.HardSigmoid, tensors(x), with(alpha, op.Float("beta", 0.2))}, {op.HardTanh, tensors(x), with(op.Float("min", -0.7), op.Float("max", 1.3))},
		{op.HardShrink, tensors(x), with(op.Float("lambda", 1.1))}, {op.SoftShrink, tensors(x), with(op.Float("lambda", 1.1))},
		{op.Clamp, tensors(x), with(op.ScalarFloat("min", -1.05), op.ScalarInt("max", 2))}, {op.Clamp, tensors(x), with(op.ScalarFloat("max", 0.55))},
		{op.Softmax, tensors(real(2, 3, 4)), with(axis(1))}, {op.Softmax, tensors(real(3, 3, 4)), with(axis(0))}, {op.Softmin, tensors(real(4, 2, 3)), with(axis(0))},
		{op.LogSoftmax, tensors(real(5, 3, 4)), with(axis(1))}, {op.LogSoftmax, tensors(real(6, 3, 4)), with(axis(0))}, {op.Hardmax, tensors(real(7, 2, 3)), with(axis(1))},
		{op.Dropout, tensors(real(8, 20)), with(op.Int("seed", 5), op.Float("p", 0.3))}, {op.Dropout, tensors(real(9, 4)), with(op.Int("seed", 5), op.Float("p", 1))},
		{op.Dropout, tensors(real(9, 4)), with(op.Int("seed", 5), op.Float("p", 0))},
	})
}

// The gradient of an operand that was broadcast is summed over the dimensions that the operand lacks, those in which its length of 1 was
// expanded, and no others.
func TestBroadcastDifferences(t *testing.T) {
	for _, c := range []op.Code{op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Pow, op.Max, op.Min, op.Atan2, op.FloorMod, op.LogAddExp, op.PRelu, op.FloorDiv} {
		for _, dims := range [][2][]int{
			{{3}, {3}}, {{2, 3}, {3}}, {{3}, {2, 3}}, {{2, 1}, {1, 3}}, {{}, {2, 2}}, {{1, 1}, {2}}, {{2, 1, 2}, {3, 1}}, {{1}, {1}}, {{1}, {}},
		} {
			a, b := positive(11, dims[0]...), positive(12, dims[1]...)
			if c != op.Pow {
				a = real(11, dims[0]...)
			}
			differ(t, example{c, tensors(a, b), nil})
		}
	}
	choice := truth([]int64{1, 0, 1, 1, 0, 0}, 2, 3)
	differAll(t, []example{
		{op.Where, tensors(choice, real(13, 2, 3), real(14, 2, 3)), nil}, {op.Where, tensors(choice, real(15, 3), real(16, 2, 1)), nil},
		{op.Where, tensors(choice, real(17), real(18, 1, 1, 1)), nil}, {op.Where, tensors(truth([]int64{0, 1}, 2, 1), real(19, 3), real(20, 2, 3)), nil},
	})
}
