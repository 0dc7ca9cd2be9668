package lower

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// activationRules is composites that have a shorter formula than their decomposition.
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
		// The product is rounded to the element type by what comes behind, as the row's formula is.
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
