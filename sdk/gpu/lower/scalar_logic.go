package lower

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// logicRules are the rules of comparisons, and of ops on bool and on the bits of integers.
var logicRules = map[op.Code]scalarRule{
	op.Equal: pairwise(ir.Eq), op.NotEqual: pairwise(ir.Ne), op.Less: pairwise(ir.Lt), op.LessEqual: pairwise(ir.Le),
	op.Greater:      func(s *scalar) ir.Value { return s.Lt(s.x[1], s.x[0]) },
	op.GreaterEqual: func(s *scalar) ir.Value { return s.Le(s.x[1], s.x[0]) },
	op.Not:          function(ir.Not),
	op.And:          pairwise(ir.And), op.Or: pairwise(ir.Or), op.Xor: pairwise(ir.Xor),
	op.Shl: func(s *scalar) ir.Value {
		count, inside := s.count()
		return s.Select(inside, s.Binary(ir.Shl, s.x[0], count), s.int(0))
	},
	op.Shr: func(s *scalar) ir.Value {
		count, inside := s.count()
		if s.isSigned() {
			return s.Binary(ir.Shr, s.x[0], s.Select(inside, count, s.int(int64(bits(s.d)-1))))
		}
		return s.Select(inside, s.Binary(ir.Shr, s.x[0], count), s.int(0))
	},
}

// count returns the count of a shift modulo the width of the type. inside says whether the count is less than the width.
func (s *scalar) count() (count, inside ir.Value) {
	width := int64(bits(s.d))
	// The width is a power of two, so an unsigned count is below it if the bit of the width and all higher bits are 0.
	inside = s.Eq(s.And(s.x[1], s.int(-width)), s.int(0))
	return s.And(s.x[1], s.int(width-1)), inside
}
