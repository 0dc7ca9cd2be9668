package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

var numericRows = []entry{
	{Lerp, Row{Name: "lerp", Class: Composite, Section: "arithmetic", Traits: Elementwise | Cheap, Doc: "a+weight·(b-a).", Operands: []Operand{in("a", dtype.Floats), same("b", 1), same("weight", 1)},
		Results: result, Constraints: broadcastRule, Tolerance: perTerm(2), Infer: inferBroadcast}},
	arith(unary(Frac, "frac", "x-trunc(x).", dtype.Floats, exact)),
	arith(unary(RoundAway, "round_away", "Nearest integer, ties away from zero.", dtype.Floats, exact)),
	arith(unary(Exp2, "exp2", "2 to the power x.", dtype.Floats, ulps(64), Domain{Lo: -30, Hi: 30})),
	arith(unary(Log2, "log2", "Logarithm to base 2.", dtype.Floats, ulps(8), Domain{Lo: 1e-3, Hi: 1e3})),
	arith(unary(Log10, "log10", "Logarithm to base 10.", dtype.Floats, ulps(8), Domain{Lo: 1e-3, Hi: 1e3})),
	arith(binary(LogAddExp, "log_add_exp", "log(exp(a)+exp(b)) without overflow.", dtype.Floats, perTerm(8))),
	arith(binary(FloorDiv, "floor_div", "The quotient of div, rounded down. Integers divided by 0 are as in div.", dtype.Numbers, exact, Domain{}, Domain{NonZero: true})),
	{IsFinite, Row{Name: "is_finite", Class: Composite, Section: "arithmetic", Traits: Elementwise | Cheap, Doc: "Whether x is neither infinite nor NaN.", Operands: []Operand{in("x", dtype.Floats)},
		Results: result, Tolerance: exact, Infer: inferToBool}},
	arith(unary(BitCount, "bit_count", "Number of bits set.", dtype.Ints, exact)),
}

var numericRules = map[Code]Decomposition{
	Lerp: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Add, x[0], b.Do(Mul, x[2], b.Do(Sub, x[1], x[0])))
	}),
	Frac: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Sub, x[0], b.Do(Trunc, x[0])) }),
	RoundAway: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		t := b.Do(Trunc, x[0])
		half := b.Do(LessEqual, b.Like(t, 0.5), b.Do(Abs, b.Do(Sub, x[0], t)))
		return b.Do(Where, half, b.Do(Add, t, b.Do(Sign, x[0])), t)
	}),
	Exp2:  wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Exp, times(b, x[0], math.Ln2)) }),
	Log2:  wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return times(b, b.Do(Log, x[0]), 1/math.Ln2) }),
	Log10: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return times(b, b.Do(Log, x[0]), 1/math.Ln10) }),
	LogAddExp: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		y := b.Do(Add, b.Do(Max, x[0], x[1]), b.Do(Log1p, b.Do(Exp, b.Do(Neg, apart(b, x)))))
		return b.Do(Where, b.Do(Equal, x[0], x[1]), shiftedBy(b, x[0], math.Ln2), y)
	}),
	FloorDiv: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		q := b.Do(Div, x[0], x[1])
		switch x[0].DType.Class() {
		case dtype.Float:
			return b.Do(Floor, q)
		case dtype.Unsigned:
			return q
		}
		zero, r := b.Like(q, 0), b.Do(Rem, x[0], x[1])
		down := b.Do(And, b.Do(Xor, b.Do(Less, r, zero), b.Do(Less, x[1], zero)), b.Do(And, b.Do(NotEqual, r, zero), b.Do(NotEqual, x[1], zero)))
		return b.Do(Where, down, b.Do(Sub, q, b.Like(q, 1)), q)
	}),
	IsFinite: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Less, b.Do(Abs, x[0]), b.Like(x[0], math.Inf(1)))
	}),
	BitCount: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		// Pairs, then fours, then bytes of bits are counted in place; the masks clear the bits that a signed shift fills in.
		d, v := x[0].DType, x[0]
		full := func(i int64) Desc { return b.FullInt(d, i, nil) }
		right := func(v Desc, n int) Desc { return b.Do(Shr, v, full(int64(n))) }
		mask := func(v Desc, m uint64) Desc { return b.Do(And, v, full(int64(m>>(64-8*d.Size())))) }
		v = b.Do(Sub, v, mask(right(v, 1), 0x5555555555555555))
		v = b.Do(Add, mask(v, 0x3333333333333333), mask(right(v, 2), 0x3333333333333333))
		v = mask(b.Do(Add, v, right(v, 4)), 0x0f0f0f0f0f0f0f0f)
		for n := 8; n < 8*d.Size(); n *= 2 {
			v = b.Do(Add, v, right(v, n))
		}
		return b.Do(And, v, full(0x7f))
	}),
}
