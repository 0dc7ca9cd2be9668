package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

func unary(c Code, name, doc string, types dtype.Set, tol Tolerance, domain ...Domain) entry {
	return entry{c, Row{Name: name, Section: "unary", Traits: Elementwise | Cheap, Doc: doc, Operands: []Operand{in("x", types)}, Results: result,
		Tolerance: tol, Domain: domain, Infer: inferSame}}
}

var unaryRows = []entry{
	unary(Neg, "neg", "-x; the least integer is its own negative.", dtype.Signeds, exact),
	unary(Abs, "abs", "|x|; the least integer is its own absolute value.", dtype.Numbers, exact),
	unary(Exp, "exp", "e to the power x.", dtype.Floats, ulps(4), Domain{Lo: -80, Hi: 80}),
	unary(Log, "log", "Natural logarithm; NaN below zero, -Inf at zero.", dtype.Floats, ulps(4), Domain{Lo: 1e-3, Hi: 1e3}),
	unary(Log1p, "log1p", "log(1+x), exact near zero.", dtype.Floats, ulps(4), Domain{Lo: -0.9, Hi: 1e3}),
	unary(Expm1, "expm1", "exp(x)-1, exact near zero.", dtype.Floats, ulps(4), Domain{Lo: -20, Hi: 20}),
	unary(Sqrt, "sqrt", "Square root; NaN below zero.", dtype.Floats, oneULP, Domain{Lo: 0, Hi: 1e4}),
	unary(Sin, "sin", "Sine of x in radians.", dtype.Floats, ulps(4), Domain{Lo: -100, Hi: 100}),
	unary(Cos, "cos", "Cosine of x in radians.", dtype.Floats, ulps(4), Domain{Lo: -100, Hi: 100}),
	unary(Tan, "tan", "Tangent of x in radians.", dtype.Floats, ulps(8), Domain{Lo: -1.5, Hi: 1.5}),
	unary(Asin, "asin", "Arc sine; NaN outside [-1, 1].", dtype.Floats, ulps(4), Domain{Lo: -1, Hi: 1}),
	unary(Acos, "acos", "Arc cosine; NaN outside [-1, 1].", dtype.Floats, ulps(4), Domain{Lo: -1, Hi: 1}),
	unary(Atan, "atan", "Arc tangent.", dtype.Floats, ulps(4)),
	unary(Sinh, "sinh", "Hyperbolic sine.", dtype.Floats, ulps(8), Domain{Lo: -20, Hi: 20}),
	unary(Cosh, "cosh", "Hyperbolic cosine.", dtype.Floats, ulps(8), Domain{Lo: -20, Hi: 20}),
	unary(Tanh, "tanh", "Hyperbolic tangent.", dtype.Floats, ulps(4), Domain{Lo: -20, Hi: 20}),
	unary(Erf, "erf", "Error function.", dtype.Floats, ulps(4), Domain{Lo: -4, Hi: 4}),
	unary(Floor, "floor", "Greatest integer not above x.", dtype.Floats, exact),
	unary(Ceil, "ceil", "Least integer not below x.", dtype.Floats, exact),
	unary(Round, "round", "Nearest integer, ties to even.", dtype.Floats, exact),
	unary(Not, "not", "Logical complement of bool, bitwise complement of integers.", dtype.Ints|dtype.Bools, exact),
	{IsNaN, Row{Name: "is_nan", Section: "unary", Traits: Elementwise | Cheap, Doc: "Whether x is NaN.", Operands: []Operand{in("x", dtype.Floats)}, Results: result,
		Tolerance: exact, Infer: inferToBool}},
}

var broadcastRule = []Constraint{{"C1", "the operands broadcast together"}}

func binary(c Code, name, doc string, types dtype.Set, tol Tolerance, domain ...Domain) entry {
	return entry{c, Row{Name: name, Section: "binary", Traits: Elementwise | Cheap, Doc: doc, Operands: []Operand{in("a", types), same("b", 1)}, Results: result,
		Constraints: broadcastRule, Tolerance: tol, Domain: domain, Infer: inferBroadcast}}
}

func compare(c Code, name, doc string, types dtype.Set) entry {
	e := binary(c, name, doc, types, exact)
	e.row.Infer = inferCompare
	return e
}

var binaryRows = []entry{
	binary(Add, "add", "a+b; integers wrap.", dtype.Numbers, exact),
	binary(Sub, "sub", "a-b; integers wrap.", dtype.Numbers, exact),
	binary(Mul, "mul", "a·b; integers wrap.", dtype.Numbers, exact),
	binary(Div, "div", "a/b; integers truncate toward zero, x/0 has all bits set, and the least integer over -1 is itself.",
		dtype.Numbers, exact, Domain{}, Domain{NonZero: true}),
	binary(Rem, "rem", "Remainder of the truncated quotient, with the sign of a; an integer x rem 0 is x.", dtype.Numbers, exact,
		Domain{}, Domain{NonZero: true}),
	binary(Pow, "pow", "a to the power b, as C pow; integers wrap, and a negative exponent results in 0 unless a is 1 or -1.",
		dtype.Numbers, ulps(8), Domain{Lo: 0.1, Hi: 4}, Domain{Lo: 0, Hi: 4}),
	binary(Max, "max", "The greater of a and b; NaN if one is NaN; +0 above -0.", dtype.Numbers, exact),
	binary(Min, "min", "The lesser of a and b; NaN if one is NaN; -0 below +0.", dtype.Numbers, exact),
	binary(Atan2, "atan2", "Angle of the point (b, a), in (-π, π].", dtype.Floats, ulps(4)),
	compare(Equal, "equal", "Whether a equals b; NaN equals nothing.", dtype.Any),
	compare(Less, "less", "Whether a is below b; false with NaN.", dtype.Numbers),
	binary(And, "and", "Logical and of bool, bitwise and of integers.", dtype.Ints|dtype.Bools, exact),
	binary(Or, "or", "Logical or of bool, bitwise or of integers.", dtype.Ints|dtype.Bools, exact),
	binary(Xor, "xor", "Logical exclusive or of bool, bitwise of integers.", dtype.Ints|dtype.Bools, exact),
	binary(Shl, "shl", "a shifted left by b bits; 0 when b, taken as unsigned, is the width or more.", dtype.Ints, exact, Domain{},
		Domain{Lo: 0, Hi: 7}),
	binary(Shr, "shr", "a shifted right by b bits, keeping the sign of signed types; b taken as unsigned, and at most the width counts.",
		dtype.Ints, exact, Domain{}, Domain{Lo: 0, Hi: 7}),
	{Where, Row{Name: "where", Section: "ternary", Traits: Elementwise | Cheap | Stores, Doc: "a where the condition holds, else b.",
		Operands: []Operand{in("condition", dtype.Bools), in("a", dtype.Any), same("b", 2)}, Results: result,
		Constraints: broadcastRule, Tolerance: exact,
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			s, err := broadcast("C1", in...)
			if err != nil {
				return nil, err
			}
			return one(in[1].DType, s), nil
		}}},
}

// Lowest returns the attribute "value" with the identity of max for a type: -Inf for floats, else the least value.
func Lowest(d dtype.DType) Attr { return bound(d, false) }

// Highest returns the attribute "value" with the identity of min for a type: +Inf for floats, else the greatest value.
func Highest(d dtype.DType) Attr { return bound(d, true) }

func bound(d dtype.DType, high bool) Attr {
	bits := uint(8 * d.Size())
	switch {
	case d.IsFloat() && high:
		return ScalarFloat("value", math.Inf(1))
	case d.IsFloat():
		return ScalarFloat("value", math.Inf(-1))
	case d.Class() == dtype.Signed && high:
		return ScalarInt("value", 1<<(bits-1)-1)
	case d.Class() == dtype.Signed:
		return ScalarInt("value", -1<<(bits-1))
	case d == dtype.Bool && high:
		return ScalarInt("value", 1)
	case high:
		return ScalarInt("value", int64(^uint64(0)>>(64-bits)))
	}
	return ScalarInt("value", 0)
}
