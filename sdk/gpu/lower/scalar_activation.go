package lower

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// activationRules are the rules of composites with a shorter formula than their decomposition.
var activationRules = map[op.Code]scalarRule{
	op.Sign: func(s *scalar) ir.Value {
		x, zero := s.x[0], s.zero()
		y := s.Select(s.Lt(zero, x), s.one(), x)
		if s.isFloat() || s.isSigned() {
			return s.Select(s.Lt(x, zero), s.Unary(ir.Neg, s.one()), y)
		}
		return y
	},
	op.LeakyRelu: func(s *scalar) ir.Value {
		// The caller rounds the product to the element type, as in the row's formula.
		return s.Select(s.Lt(s.x[0], s.zero()), s.Mul(s.x[0], s.float(s.attr("alpha"))), s.x[0])
	},
	op.Softplus: func(s *scalar) ir.Value {
		x := s.x[0]
		top := s.Select(s.Lt(x, s.zero()), s.zero(), x)
		return s.Add(top, s.Unary(ir.Log1p, s.Unary(ir.Exp, s.Unary(ir.Neg, s.Unary(ir.Abs, x)))))
	},
	op.Gelu: func(s *scalar) ir.Value {
		// x/2·(1+erf(x/√2)) by erfc, which keeps its digits where erf is near -1.
		x := s.x[0]
		if s.n.Attrs.Str("approximate") == "tanh" {
			cube := s.Mul(s.Mul(x, x), x)
			t := s.Unary(ir.Tanh, s.Mul(s.float(math.Sqrt(2/math.Pi)), s.Add(x, s.Mul(s.float(0.044715), cube))))
			return s.Mul(x, s.Mul(s.float(0.5), s.Add(s.one(), t)))
		}
		return s.Mul(x, s.Mul(s.float(0.5), s.Unary(ir.Erfc, s.Mul(x, s.float(-math.Sqrt2/2)))))
	},
	op.IsFinite: func(s *scalar) ir.Value { return s.Lt(s.Unary(ir.Abs, s.x[0]), s.float(inf)) },
}

// shortRules are the rules of composites with a formula that is exact enough only for f16 and bf16. A function returns nil if the formula
// does not support the attributes of the node.
var shortRules = map[op.Code]func(n *op.Node) scalarRule{
	op.Gelu: func(n *op.Node) scalarRule {
		if n.Attrs.Str("approximate") == "tanh" {
			return nil
		}
		return shortGelu
	},
}

// normalTail holds the coefficients, the constant first, of a polynomial in z that approximates log2(Φ(-z)) for z ≥ 0, where Φ is the
// cumulative normal distribution. The error of the polynomial is 0.0004 up to z = 5.5. Beyond that, where the true value is below 2^-25,
// the polynomial decreases without bound.
var normalTail = []float64{-1.00035906, -1.14626074, -0.469681114, -0.0445990041, 0.00486977305, -0.000233251296}

// shortGelu returns max(x, 0) - |x|·Φ(-|x|), where Φ is the normal distribution. For NaN it returns NaN. For +Inf, where the formula is
// undefined, it returns the first term.
func shortGelu(s *scalar) ir.Value {
	x := s.x[0]
	z := s.Unary(ir.Abs, s.Min(x, s.float(13)))
	p := s.float(normalTail[len(normalTail)-1])
	for i := len(normalTail) - 2; i >= 0; i-- {
		p = s.FMA(p, z, s.float(normalTail[i]))
	}
	top := s.Select(s.Lt(x, s.zero()), s.zero(), x)
	return s.FMA(s.Unary(ir.Neg, z), s.Unary(ir.Exp2Fast, p), top)
}

func (s *scalar) zero() ir.Value {
	if s.isFloat() {
		return s.float(0)
	}
	return s.int(0)
}

func (s *scalar) one() ir.Value {
	if s.isFloat() {
		return s.float(1)
	}
	return s.int(1)
}
