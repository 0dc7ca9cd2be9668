package lower

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func function(o ir.Op) scalarRule { return func(s *scalar) ir.Value { return s.Unary(o, s.x[0]) } }

// floatRules are the rules of ops on floats only.
var floatRules = map[op.Code]scalarRule{
	op.Exp: function(ir.Exp), op.Log: function(ir.Log), op.Log1p: function(ir.Log1p), op.Expm1: function(ir.Expm1),
	op.Sqrt: function(ir.Sqrt), op.Sin: function(ir.Sin), op.Cos: function(ir.Cos), op.Tan: function(ir.Tan),
	op.Asin: function(ir.Asin), op.Acos: function(ir.Acos), op.Atan: function(ir.Atan), op.Sinh: function(ir.Sinh),
	op.Cosh: function(ir.Cosh), op.Tanh: function(ir.Tanh), op.Erf: function(ir.Erf), op.Floor: function(ir.Floor),
	op.Ceil: function(ir.Ceil), op.Round: function(ir.Round), op.Trunc: function(ir.Trunc),
	op.Exp2: function(ir.Exp2), op.Log2: function(ir.Log2),
	op.IsNaN: func(s *scalar) ir.Value { return s.isNaN(s.x[0]) },
	op.Atan2: func(s *scalar) ir.Value { return s.Binary(ir.Atan2, s.x[0], s.x[1]) },
}
