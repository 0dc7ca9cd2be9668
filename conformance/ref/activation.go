package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// activation returns the kernel of an elementwise function of one float operand and the attributes.
func activation(f func(e element, x float64) float64) kernel {
	return elementwise(scalarRule{f: func(e element, x []float64) float64 { return f(e, x[0]) }})
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus returns log(1+exp(x)), which for large x equals x in all digits.
func softplus(x float64) float64 {
	if x > 40 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

func hardSigmoid(x, alpha, beta float64) float64 { return min(max(alpha*x+beta, 0), 1) }

func elu(x, alpha float64) float64 {
	if x < 0 {
		return alpha * math.Expm1(x)
	}
	return x
}

var activationKernels = map[op.Code]kernel{
	op.Relu: elementwise(scalarRule{
		f: func(_ element, x []float64) float64 { return max(x[0], 0) },
		i: func(e element, x []int64) int64 { return pickInt(lessInt(e.dtype, x[0], 0), 0, x[0]) },
	}),
	op.LeakyRelu: activation(func(e element, x float64) float64 {
		if x < 0 {
			return e.number("alpha") * x
		}
		return x
	}),
	op.PRelu: pairwise(
		func(x, slope float64) float64 {
			if x < 0 {
				return slope * x
			}
			return x
		},
		func(d dtype.DType, x, slope int64) int64 { return pickInt(lessInt(d, x, 0), slope*x, x) }),
	op.Elu:  activation(func(e element, x float64) float64 { return elu(x, e.attrs.Float("alpha")) }),
	op.Selu: activation(func(e element, x float64) float64 { return e.attrs.Float("gamma") * elu(x, e.attrs.Float("alpha")) }),
	op.Celu: activation(func(e element, x float64) float64 {
		alpha := e.attrs.Float("alpha")
		if x < 0 {
			return alpha * math.Expm1(x/alpha)
		}
		return x
	}),
	op.Sigmoid: activation(func(_ element, x float64) float64 { return sigmoid(x) }),
	op.HardSigmoid: activation(func(e element, x float64) float64 {
		return hardSigmoid(x, e.attrs.Float("alpha"), e.attrs.Float("beta"))
	}),
	op.HardSwish: activation(func(_ element, x float64) float64 { return x * hardSigmoid(x, 1.0/6, 0.5) }),
	op.Silu:      activation(func(e element, x float64) float64 { return x * sigmoid(e.attrs.Float("alpha")*x) }),
	op.Gelu: activation(func(e element, x float64) float64 {
		if e.attrs.Str("approximate") == "tanh" {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}
		return x / 2 * math.Erfc(-x/math.Sqrt2) // erfc(-z) = 1+erf(z)
	}),
	op.Mish:     activation(func(_ element, x float64) float64 { return x * math.Tanh(softplus(x)) }),
	op.Softplus: activation(func(_ element, x float64) float64 { return softplus(x) }),
	op.Softsign: activation(func(_ element, x float64) float64 { return x / (1 + math.Abs(x)) }),
	op.ThresholdedRelu: activation(func(e element, x float64) float64 {
		if x > e.number("alpha") {
			return x
		}
		return 0
	}),
}
