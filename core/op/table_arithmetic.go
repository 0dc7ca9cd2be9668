package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

func composite(e entry, section string) entry {
	e.row.Class, e.row.Section = Composite, section
	return e
}

func arith(e entry) entry { return composite(e, "arithmetic") }

var arithmeticRows = []entry{
	arith(unary(Reciprocal, "reciprocal", "1/x.", dtype.Floats, oneULP, Domain{NonZero: true})),
	arith(unary(Rsqrt, "rsqrt", "1/sqrt(x).", dtype.Floats, ulps(2), Domain{Lo: 1e-3, Hi: 1e4})),
	arith(unary(Square, "square", "x·x; integers wrap.", dtype.Numbers, exact)),
	arith(unary(Sign, "sign", "-1, 0 or 1 by the sign of x; NaN and signed zeros stay.", dtype.Numbers, exact)),
	arith(unary(Trunc, "trunc", "x without its fraction.", dtype.Floats, exact)),
	arith(unary(Asinh, "asinh", "Inverse hyperbolic sine.", dtype.Floats, ulps(16), Domain{Lo: -1e3, Hi: 1e3})),
	arith(unary(Acosh, "acosh", "Inverse hyperbolic cosine; NaN below 1.", dtype.Floats, ulps(16), Domain{Lo: 1, Hi: 1e3})),
	arith(unary(Atanh, "atanh", "Inverse hyperbolic tangent; NaN outside [-1, 1].", dtype.Floats, ulps(16), Domain{Lo: -0.99, Hi: 0.99})),
	{IsInf, Row{Name: "is_inf", Class: Composite, Section: "arithmetic", Traits: Elementwise | Cheap, Doc: "Whether x is infinite, of a sign that is asked for.",
		Operands: []Operand{in("x", dtype.Floats)}, Results: result, Tolerance: exact,
		Attrs: []AttrSpec{defaults(Flag("positive", true), "+Inf counts"), defaults(Flag("negative", true), "-Inf counts")},
		Infer: inferToBool}},
	arith(compare(NotEqual, "not_equal", "Whether a differs from b; NaN differs from everything.", dtype.Any)),
	arith(compare(Greater, "greater", "Whether a is above b; false with NaN.", dtype.Numbers)),
	arith(compare(GreaterEqual, "greater_equal", "Whether a is b or above; false with NaN.", dtype.Numbers)),
	arith(compare(LessEqual, "less_equal", "Whether a is b or below; false with NaN.", dtype.Numbers)),
	arith(binary(FloorMod, "floor_mod", "Remainder of the floored quotient, with the sign of b, as Python's %.", dtype.Numbers, oneULP,
		Domain{}, Domain{NonZero: true})),
	{Clamp, Row{Name: "clamp", Class: Composite, Section: "arithmetic", Traits: Elementwise | Cheap, Doc: "x limited to [min, max]; NaN stays; max wins when min is above it.",
		Operands: []Operand{in("x", dtype.Numbers)}, Results: result, Tolerance: exact,
		Attrs: []AttrSpec{defaults(ScalarFloat("min", math.Inf(-1)), "lower bound, converted as cast does"),
			defaults(ScalarFloat("max", math.Inf(1)), "upper bound, converted as cast does")},
		Infer: inferSame}},
}

var arithmeticRules = map[Code]Decomposition{
	Reciprocal: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Div, b.Like(x[0], 1), x[0]) }),
	Rsqrt: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Div, b.Like(x[0], 1), b.Do(Sqrt, x[0]))
	}),
	Square: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Mul, x[0], x[0]) }),
	Sign: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		zero, one := b.Like(x[0], 0), b.Like(x[0], 1)
		y := b.Do(Where, b.Do(Less, zero, x[0]), one, x[0])
		if x[0].DType.Class() == dtype.Unsigned {
			return y
		}
		return b.Do(Where, b.Do(Less, x[0], zero), b.Like(x[0], -1), y)
	}),
	Trunc: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		// x is not compared with 0, because hardware may compare subnormal numbers as 0 and still compute -1 as their floor.
		return b.Do(Mul, b.Do(Sign, x[0]), b.Do(Floor, b.Do(Abs, x[0])))
	}),
	Asinh: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		// log1p(|x| + x²/(1+sqrt(x²+1))) with the sign of x; x² is bounded so that it cannot overflow, and above the bound asinh(x) equals
		// log(|x|) + log 2 in all digits.
		w := wide(b, x[0])
		abs, one := b.Do(Abs, w), b.Like(w, 1)
		c := b.Do(Min, abs, b.Like(w, 1e9))
		sq := b.Do(Mul, c, c)
		small := b.Do(Log1p, b.Do(Add, c, b.Do(Div, sq, b.Do(Add, one, b.Do(Sqrt, b.Do(Add, sq, one))))))
		large := b.Do(Add, b.Do(Log, abs), b.Like(w, math.Ln2))
		y := b.Do(Where, b.Do(Less, abs, b.Like(w, 1e9)), small, large)
		return b.Cast(signed(b, w, y), x[0].DType)
	}),
	Acosh: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		// log1p(t + sqrt(2t + t²)) with t = x-1.
		w := wide(b, x[0])
		t := b.Do(Sub, w, b.Like(w, 1))
		c := b.Do(Min, t, b.Like(w, 1e9))
		small := b.Do(Log1p, b.Do(Add, c, b.Do(Sqrt, b.Do(Add, b.Do(Mul, c, b.Like(w, 2)), b.Do(Mul, c, c)))))
		large := b.Do(Add, b.Do(Log, w), b.Like(w, math.Ln2))
		return b.Cast(b.Do(Where, b.Do(Less, b.Like(w, 1e9), t), large, small), x[0].DType)
	}),
	Atanh: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		// log1p(2|x|/(1-|x|))/2 with the sign of x: for negative arguments log1p would be ill-conditioned.
		w := wide(b, x[0])
		abs := b.Do(Abs, w)
		q := b.Do(Div, b.Do(Mul, b.Like(w, 2), abs), b.Do(Sub, b.Like(w, 1), abs))
		return b.Cast(signed(b, w, b.Do(Mul, b.Like(w, 0.5), b.Do(Log1p, q))), x[0].DType)
	}),
	IsInf: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		pos, neg := b.Do(Equal, x[0], b.Like(x[0], math.Inf(1))), b.Do(Equal, x[0], b.Like(x[0], math.Inf(-1)))
		switch p, n := a.Bool("positive"), a.Bool("negative"); {
		case p && n:
			return b.Do(Or, pos, neg)
		case p:
			return pos
		case n:
			return neg
		}
		return b.FullInt(dtype.Bool, 0, x[0].Shape)
	}),
	NotEqual: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Not, b.Do(Equal, x[0], x[1])) }),
	Greater:  elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Less, x[1], x[0]) }),
	GreaterEqual: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Or, b.Do(Less, x[1], x[0]), b.Do(Equal, x[0], x[1]))
	}),
	LessEqual: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Or, b.Do(Less, x[0], x[1]), b.Do(Equal, x[0], x[1]))
	}),
	FloorMod: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		r := b.Do(Rem, x[0], x[1])
		if x[0].DType.Class() == dtype.Unsigned {
			return r
		}
		zero := b.Like(r, 0)
		differ := b.Do(Xor, b.Do(Less, r, zero), b.Do(Less, x[1], zero))
		adjust := b.Do(And, differ, b.Do(NotEqual, r, zero))
		return b.Do(Where, adjust, b.Do(Add, r, x[1]), r)
	}),
	Clamp: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		lo := b.Bound(x[0].DType, Attr{"value", a.Value("min")})
		hi := b.Bound(x[0].DType, Attr{"value", a.Value("max")})
		return b.Do(Min, b.Do(Max, x[0], lo), hi)
	}),
}

// signed returns magnitude with the sign of x, and x if x is zero.
func signed(b *Builder, x, magnitude Desc) Desc {
	zero := b.Like(x, 0)
	y := b.Do(Where, b.Do(Less, x, zero), b.Do(Neg, magnitude), magnitude)
	return b.Do(Where, b.Do(Equal, x, zero), x, y)
}
