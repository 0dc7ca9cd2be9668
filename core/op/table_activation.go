package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

// moderate is a domain on which exponentials stay finite.
var moderate = Domain{Lo: -20, Hi: 20}

func activation(c Code, name, doc string, tol Tolerance, attrs ...AttrSpec) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "activation", Traits: Elementwise | Cheap, Doc: doc, Operands: []Operand{in("x", dtype.Floats)},
		Results: result, Attrs: attrs, Tolerance: tol, Domain: []Domain{moderate}, Infer: inferSame}}
}

func alpha(v float64) AttrSpec { return defaults(Float("alpha", v), "coefficient") }

func alongAxis(e entry) entry {
	e.row.Traits = Cheap
	e.row.Attrs = []AttrSpec{required("axis", KindInt, "axis to normalise along")}
	e.row.Constraints = []Constraint{{"C1", "axis is in [0, rank)"}}
	e.row.Infer = inferAxis
	return e
}

var activationRows = []entry{
	{Relu, Row{Name: "relu", Class: Composite, Section: "activation", Traits: Elementwise | Cheap, Doc: "max(x, 0).", Operands: []Operand{in("x", dtype.Numbers)},
		Results: result, Tolerance: exact, Infer: inferSame}},
	activation(LeakyRelu, "leaky_relu", "x, or alpha·x below zero.", exact, alpha(0.01)),
	{PRelu, Row{Name: "prelu", Class: Composite, Section: "activation", Traits: Elementwise | Cheap, Doc: "x, or slope·x below zero; slope broadcasts.",
		Operands: []Operand{in("x", dtype.Numbers), same("slope", 1)}, Results: result, Constraints: broadcastRule, Tolerance: exact,
		Infer: inferBroadcast}},
	activation(Elu, "elu", "x, or alpha·(exp(x)-1) below zero.", ulps(8), alpha(1)),
	activation(Selu, "selu", "gamma·x, or gamma·alpha·(exp(x)-1) below zero.", ulps(8), alpha(1.67326319217681884765625),
		defaults(Float("gamma", 1.05070102214813232421875), "scale")),
	activation(Celu, "celu", "x, or alpha·(exp(x/alpha)-1) below zero.", ulps(8), alpha(1)),
	activation(Sigmoid, "sigmoid", "1/(1+exp(-x)).", ulps(8)),
	activation(HardSigmoid, "hard_sigmoid", "alpha·x+beta, limited to [0, 1].", perTerm(2), alpha(0.2), defaults(Float("beta", 0.5), "offset")),
	activation(HardSwish, "hard_swish", "x·hard_sigmoid(x) with alpha 1/6 and beta 1/2.", perTerm(4)),
	activation(Silu, "silu", "x·sigmoid(alpha·x), also called swish.", ulps(32), alpha(1)),
	activation(Gelu, "gelu", "Gaussian error linear unit: x/2·(1+erf(x/√2)), or its tanh approximation.", perTerm(4),
		choice("approximate", "none", "formula", "none", "tanh")),
	activation(Mish, "mish", "x·tanh(softplus(x)).", ulps(16)),
	activation(Softplus, "softplus", "log(1+exp(x)) without overflow.", ulps(8)),
	activation(Softsign, "softsign", "x/(1+|x|).", ulps(4)),
	activation(ThresholdedRelu, "thresholded_relu", "x above alpha, else 0.", exact, alpha(1)),
	alongAxis(activation(Softmax, "softmax", "exp(x) over its sum along axis, without overflow.", perTerm(8))),
	alongAxis(activation(LogSoftmax, "log_softmax", "x minus the logarithm of the sum of exp(x) along axis, without overflow.", perTerm(8))),
}

var activationRules = map[Code]Decomposition{
	Relu: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Max, x[0], b.Like(x[0], 0)) }),
	LeakyRelu: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		return negative(b, x[0], b.Do(Mul, x[0], b.Like(x[0], a.Float("alpha"))), x[0])
	}),
	PRelu: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc { return negative(b, x[0], b.Do(Mul, x[0], x[1]), x[0]) }),
	Elu: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return negative(b, x[0], b.Do(Mul, b.Do(Expm1, x[0]), b.Like(x[0], a.Float("alpha"))), x[0])
	}),
	Selu: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Do(Mul, b.Like(x[0], a.Float("gamma")), b.Un(Elu, x[0], Float("alpha", a.Float("alpha"))))
	}),
	Celu: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		al := b.Like(x[0], a.Float("alpha"))
		return negative(b, x[0], b.Do(Mul, al, b.Do(Expm1, b.Do(Div, x[0], al))), x[0])
	}),
	Sigmoid: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		one := b.Like(x[0], 1)
		return b.Do(Div, one, b.Do(Add, one, b.Do(Exp, b.Do(Neg, x[0]))))
	}),
	HardSigmoid: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		y := b.Do(Add, b.Do(Mul, x[0], b.Like(x[0], a.Float("alpha"))), b.Like(x[0], a.Float("beta")))
		return b.Un(Clamp, y, ScalarFloat("min", 0), ScalarFloat("max", 1))
	}),
	HardSwish: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Mul, x[0], b.Un(HardSigmoid, x[0], Float("alpha", 1.0/6), Float("beta", 0.5)))
	}),
	Silu: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		y := x[0]
		if al := a.Float("alpha"); al != 1 {
			y = b.Do(Mul, y, b.Like(y, al))
		}
		return b.Do(Mul, x[0], b.Do(Sigmoid, y))
	}),
	Gelu: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		half, one := b.Like(x[0], 0.5), b.Like(x[0], 1)
		var inner Desc
		if a.Str("approximate") == "tanh" {
			cube := b.Do(Mul, b.Do(Mul, x[0], x[0]), x[0])
			arg := b.Do(Add, x[0], b.Do(Mul, cube, b.Like(x[0], 0.044715)))
			inner = b.Do(Tanh, b.Do(Mul, arg, b.Like(x[0], math.Sqrt(2/math.Pi))))
		} else {
			inner = b.Do(Erf, b.Do(Mul, x[0], b.Like(x[0], math.Sqrt2/2)))
		}
		return b.Do(Mul, b.Do(Mul, x[0], half), b.Do(Add, one, inner))
	}),
	Mish: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Mul, x[0], b.Do(Tanh, b.Do(Softplus, x[0]))) }),
	Softplus: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Add, b.Do(Max, x[0], b.Like(x[0], 0)), b.Do(Log1p, b.Do(Exp, b.Do(Neg, b.Do(Abs, x[0])))))
	}),
	Softsign: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Div, x[0], b.Do(Add, b.Like(x[0], 1), b.Do(Abs, x[0])))
	}),
	ThresholdedRelu: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Do(Where, b.Do(Less, b.Like(x[0], a.Float("alpha")), x[0]), x[0], b.Like(x[0], 0))
	}),
	Softmax: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		e := b.Do(Exp, shifted(b, x[0], a.Int("axis")))
		return b.Do(Div, e, b.Reduce(Sum, e, true, a.Int("axis")))
	}),
	LogSoftmax: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s := shifted(b, x[0], a.Int("axis"))
		return b.Do(Sub, s, b.Do(Log, b.Reduce(Sum, b.Do(Exp, s), true, a.Int("axis"))))
	}),
}

func negative(b *Builder, x, below, above Desc) Desc {
	return b.Do(Where, b.Do(Less, x, b.Like(x, 0)), below, above)
}

func shifted(b *Builder, x Desc, axis int) Desc {
	return b.Do(Sub, x, b.Reduce(ReduceMax, x, true, axis))
}
