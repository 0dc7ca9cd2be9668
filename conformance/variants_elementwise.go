package conformance

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// one returns the plan of an elementwise op of one operand. Each set of attributes adds a variant.
func one(special specialness, attrs ...[]op.Attr) plan {
	p := plan{special: special, variants: []variant{
		v("matrix", shapes(dims(3, 5))), v("rank0", shapes(dims())), v("empty", shapes(dims(2, 0, 3))), v("odd", shapes(dims(7))),
		v("rank8", shapes(dims(1, 2, 1, 3, 1, 2, 1, 2))), v("large", shapes(dims(1031))).only(dtype.F32, dtype.I32),
	}}
	for i, a := range attrs {
		p.variants = append(p.variants, v("attrs"+string(rune('1'+i)), shapes(dims(4, 9)), a...))
	}
	if special != noSpecial {
		p.variants = append(p.variants, variant{name: "special", in: shapes(nil), grid: true})
	}
	return p
}

// pairs returns the plan of an elementwise op of two operands.
func pairs(special specialness) plan {
	return plan{special: special, variants: []variant{
		v("same", shapes(dims(3, 5), dims(3, 5))), v("rank0", shapes(dims(), dims())), v("broadcast-rank0", shapes(dims(2, 3), dims())),
		v("rank0-broadcast", shapes(dims(), dims(2, 3))), v("broadcast-row", shapes(dims(4, 3), dims(3))), v("broadcast-column", shapes(dims(4, 3), dims(4, 1))),
		v("broadcast-outer", shapes(dims(3, 1), dims(1, 4))), v("broadcast-rank", shapes(dims(2, 1, 3, 1), dims(5, 1, 7))),
		v("broadcast-first", shapes(dims(5), dims(3, 1, 5))), v("broadcast-empty", shapes(dims(0, 3), dims(1, 3))), v("empty", shapes(dims(0), dims())),
		v("large", shapes(dims(1031), dims(1031))).only(dtype.F32, dtype.I32),
		{name: "special", in: shapes(nil, nil), grid: true},
	}}
}

func set(attrs ...op.Attr) []op.Attr { return attrs }

func alpha(f float64) []op.Attr { return set(op.Float("alpha", f)) }

var elementwisePlans = map[op.Code]plan{
	op.Neg: one(extreme), op.Abs: one(extreme),
	op.Sqrt:  one(extreme),
	op.Floor: one(extreme),
	op.Ceil:  one(extreme), op.Round: one(extreme), op.Not: one(extreme), op.IsNaN: one(extreme),

	op.Add: pairs(extreme), op.Sub: pairs(extreme), op.Mul: pairs(extreme), op.Div: pairs(extreme), op.Rem: pairs(extreme),
	op.Max: pairs(extreme), op.Min: pairs(extreme), op.Equal: pairs(extreme), op.Less: pairs(extreme),
	op.And: pairs(extreme), op.Or: pairs(extreme), op.Xor: pairs(extreme), op.Shl: pairs(extreme), op.Shr: pairs(extreme),

	op.Where: {special: extreme, variants: []variant{
		v("same", shapes(dims(3, 5), dims(3, 5), dims(3, 5))), v("rank0", shapes(dims(), dims(), dims())), v("broadcast-condition", shapes(dims(3, 1), dims(3, 4), dims(3, 4))),
		v("broadcast-rank0", shapes(dims(5), dims(), dims())), v("broadcast-all", shapes(dims(2, 1, 1), dims(3, 1), dims(4))),
		v("empty", shapes(dims(0), dims(), dims(1))), {name: "special", in: shapes(nil, nil, nil), grid: true},
	}},

	op.Square: one(extreme), op.Sign: one(extreme), op.Trunc: one(extreme),

	op.IsInf:    one(extreme, set(op.Flag("positive", false)), set(op.Flag("negative", false)), set(op.Flag("positive", false), op.Flag("negative", false))),
	op.NotEqual: pairs(extreme), op.Greater: pairs(extreme), op.GreaterEqual: pairs(extreme), op.LessEqual: pairs(extreme),
	op.Clamp: one(extreme, set(op.ScalarInt("min", 1), op.ScalarInt("max", 5)), set(op.ScalarFloat("min", 0.5)), set(op.ScalarFloat("max", 1.75)),
		set(op.ScalarInt("min", 5), op.ScalarInt("max", 1))),

	op.Relu: one(extreme), op.LeakyRelu: one(extreme, alpha(0.3), alpha(-1)),
	op.PRelu: {special: extreme, variants: slices.DeleteFunc(slices.Clone(pairs(extreme).variants), func(x variant) bool { return x.name == "large" })},
	op.Elu:   one(ordinary, alpha(0.3)), op.Selu: one(ordinary, set(op.Float("alpha", 1.5), op.Float("gamma", 0.7))), op.Celu: one(ordinary, alpha(2)),
	op.HardSigmoid: one(ordinary, set(op.Float("alpha", 0.1), op.Float("beta", 0.3))),
	op.Silu:        one(ordinary, alpha(1.7)), op.Gelu: one(ordinary, set(op.Str("approximate", "tanh"))),
	op.ThresholdedRelu: one(extreme, alpha(0.3), alpha(-2)),
}

// gridShapes returns shapes of operands that broadcast to all combinations of their special values: n[i] values of operand i.
func gridShapes(n []int) []shape.Shape {
	var out []shape.Shape
	for i, m := range n {
		s := make(shape.Shape, i+1)
		for d := range s {
			s[d] = 1
		}
		s[0] = m
		out = append(out, s)
	}
	return out
}
