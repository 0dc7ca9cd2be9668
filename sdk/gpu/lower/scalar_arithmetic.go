package lower

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func pairwise(o ir.Op) scalarRule {
	return func(s *scalar) ir.Value { return s.Binary(o, s.x[0], s.x[1]) }
}

// arithmeticRules are the rules of ops on numbers of any type. Integers of 8 and 16 bits are computed in 32 bits and truncated
// afterwards.
var arithmeticRules = map[op.Code]scalarRule{
	op.Neg: function(ir.Neg),
	op.Abs: func(s *scalar) ir.Value {
		switch x := s.x[0]; {
		case s.isFloat():
			return s.Unary(ir.Abs, x)
		case s.isSigned():
			return s.Select(s.Lt(x, s.int(0)), s.Unary(ir.Neg, x), x)
		default:
			return x
		}
	},
	op.Add: pairwise(ir.Add), op.Sub: pairwise(ir.Sub), op.Mul: pairwise(ir.Mul),
	op.Div: func(s *scalar) ir.Value {
		if s.isFloat() {
			return s.Div(s.x[0], s.x[1])
		}
		q, by := s.quotient(ir.Div)
		if s.isSigned() {
			q = s.Select(s.Eq(by, s.int(-1)), s.Unary(ir.Neg, s.x[0]), q)
		}
		return s.Select(s.Eq(by, s.int(0)), s.int(-1), q)
	},
	op.Rem: func(s *scalar) ir.Value {
		if s.isFloat() {
			return s.Rem(s.x[0], s.x[1])
		}
		r, by := s.quotient(ir.Rem)
		if s.isSigned() {
			r = s.Select(s.Eq(by, s.int(-1)), s.int(0), r)
		}
		return s.Select(s.Eq(by, s.int(0)), s.x[0], r)
	},
	op.Pow: func(s *scalar) ir.Value {
		if s.isFloat() {
			return s.Binary(ir.Pow, s.x[0], s.x[1])
		}
		return s.power(s.x[0], s.x[1])
	},
	op.Max: func(s *scalar) ir.Value { return greater(s.Builder, s.isFloat(), s.x[0], s.x[1]) },
	op.Min: func(s *scalar) ir.Value { return lesser(s.Builder, s.isFloat(), s.x[0], s.x[1]) },
	op.Clamp: func(s *scalar) ir.Value {
		lo, hi := number(s.n.Attrs.Value("min"), s.d), number(s.n.Attrs.Value("max"), s.d)
		return s.atMost(s.atLeast(s.x[0], lo), hi)
	},
	op.Relu:  func(s *scalar) ir.Value { return s.atLeast(s.x[0], 0) },
	op.Relu6: func(s *scalar) ir.Value { return s.atMost(s.atLeast(s.x[0], 0), intBits(6, s.d)) },
}

// quotient applies o, Div or Rem, to x[0] and x[1]. It returns the result and x[1]. The result is valid unless x[1] is 0 or, for signed
// types, -1.
func (s *scalar) quotient(o ir.Op) (q, by ir.Value) {
	by = s.x[1]
	odd := s.Eq(by, s.int(0))
	if s.isSigned() {
		odd = s.Or(odd, s.Eq(by, s.int(-1)))
	}
	return s.Binary(o, s.x[0], s.Select(odd, s.int(1), by)), by
}

// power returns x to the power y for integers, by squaring.
func (s *scalar) power(x, y ir.Value) ir.Value {
	d := s.TypeOf(x)
	result, base, rest := s.Local("power", d, 1), s.Local("base", d, 1), s.Local("rest", d, 1)
	s.Put(result, s.int(1))
	s.Put(base, x)
	if s.isSigned() {
		// For a negative exponent the result is 0, except for bases of magnitude 1, for which only the parity of the exponent
		// counts.
		unit := s.Or(s.Eq(x, s.int(1)), s.Eq(x, s.int(-1)))
		below := s.Lt(y, s.int(0))
		s.Put(rest, s.Select(below, s.Select(unit, s.And(y, s.int(1)), s.int(1)), y))
		s.Put(base, s.Select(s.And(below, s.Unary(ir.Not, unit)), s.int(0), x))
	} else {
		s.Put(rest, y)
	}
	s.While(func() ir.Value { return s.Ne(s.At(rest), s.int(0)) }, func() {
		s.If(s.Ne(s.And(s.At(rest), s.int(1)), s.int(0)), func() { s.Put(result, s.Mul(s.At(result), s.At(base))) })
		s.Put(base, s.Mul(s.At(base), s.At(base)))
		s.Put(rest, s.Binary(ir.Shr, s.At(rest), s.int(1)))
	})
	return s.At(result)
}

// greater returns the greater of x and y. It is NaN if one of them is NaN, and orders +0 above -0.
func greater(b *ir.Builder, float bool, x, y ir.Value) ir.Value {
	if float {
		return b.Binary(ir.Maximum, x, y)
	}
	return b.Select(b.Lt(x, y), y, x)
}

// lesser returns the lesser of x and y. It is NaN if one of them is NaN, and orders -0 below +0.
func lesser(b *ir.Builder, float bool, x, y ir.Value) ir.Value {
	if float {
		return b.Binary(ir.Minimum, x, y)
	}
	return b.Select(b.Lt(y, x), y, x)
}

// atLeast returns the maximum of x and bound, which is given by its bits in type d. For NaN it returns NaN.
func (s *scalar) atLeast(x ir.Value, bound uint64) ir.Value {
	lo := s.Cast(compute(s.d), s.Const(s.d, bound))
	if !s.isFloat() {
		return s.Select(s.Lt(x, lo), lo, x)
	}
	switch f := fromBits(s.d, bound); {
	case f != f:
		return lo
	case f == 0 && bound == 0: // +0 is above -0
		return s.Select(s.Le(x, lo), lo, x)
	default:
		return s.Select(s.Lt(x, lo), lo, x)
	}
}

// atMost returns the minimum of x and bound. For NaN it returns NaN.
func (s *scalar) atMost(x ir.Value, bound uint64) ir.Value {
	hi := s.Cast(compute(s.d), s.Const(s.d, bound))
	if !s.isFloat() {
		return s.Select(s.Lt(hi, x), hi, x)
	}
	switch f := fromBits(s.d, bound); {
	case f != f:
		return hi
	case f == 0 && bound != 0: // -0 is below +0
		return s.Select(s.Le(hi, x), hi, x)
	default:
		return s.Select(s.Lt(hi, x), hi, x)
	}
}
