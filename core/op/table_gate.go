package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// gated returns a row of an op that splits x along axis into halves a and b.
func gated(c Code, name, doc string, tol Tolerance) entry {
	e := alongAxis(activation(c, name, doc, tol))
	e.row.Attrs[0].Doc = "axis that holds the halves"
	e.row.Constraints = append(e.row.Constraints, Constraint{"C2", "the dimension is even"})
	e.row.Infer = func(in []Desc, a Attrs) ([]Desc, error) {
		outs, err := inferAxis(in, a)
		if err != nil {
			return nil, err
		}
		axis, s := a.Int("axis"), in[0].Shape.Clone()
		if s[axis]%2 != 0 {
			return nil, violation(ErrShape, "C2", "axis %d of %v is odd", axis, s)
		}
		s[axis] /= 2
		outs[0].Shape = s
		return outs, nil
	}
	return e
}

func lambda() AttrSpec {
	return defaults(Float("lambda", 0.5), "half width of the interval that becomes 0")
}

func ranged(e entry) entry {
	e.row.Operands = []Operand{in("x", dtype.Numbers)}
	e.row.Domain = nil
	return e
}

var gateRows = []entry{
	gated(GLU, "glu", "a·sigmoid(b) of the halves a, b of x along axis.", ulps(32)),
	gated(SwiGLU, "swiglu", "a·sigmoid(a)·b of the halves a, b of x along axis.", ulps(32)),
	gated(GeGLU, "geglu", "a·gelu(b) of the halves a, b of x along axis.", perTerm(8)),
	activation(HardTanh, "hard_tanh", "x limited to [min, max].", exact, defaults(Float("min", -1), "lower bound"), defaults(Float("max", 1), "upper bound")),
	ranged(activation(Relu6, "relu6", "x limited to [0, 6].", exact)),
	activation(LogSigmoid, "log_sigmoid", "-log(1+exp(-x)) without overflow.", ulps(8)),
	activation(HardShrink, "hard_shrink", "0 in [-lambda, lambda], else x.", exact, lambda()),
	activation(SoftShrink, "soft_shrink", "x-lambda above lambda, x+lambda below -lambda, else 0; NaN stays.", exact, lambda()),
	activation(TanhShrink, "tanh_shrink", "x-tanh(x).", perTerm(4)),
	activation(QuickGelu, "quick_gelu", "x·sigmoid(alpha·x), near to gelu for the default alpha.", ulps(32), alpha(1.702)),
	alongAxis(activation(Softmin, "softmin", "softmax(-x) along axis.", perTerm(8))),
	alongAxis(ranged(activation(Hardmax, "hardmax", "1 at the index of argmax along axis, else 0.", exact))),
}

var gateRules = map[Code]Decomposition{
	GLU: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		p, q := halves(b, x[0], a)
		return b.Do(Mul, p, b.Do(Sigmoid, q))
	}),
	SwiGLU: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		p, q := halves(b, x[0], a)
		return b.Do(Mul, b.Do(Silu, p), q)
	}),
	GeGLU: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		p, q := halves(b, x[0], a)
		return b.Do(Mul, p, b.Do(Gelu, q))
	}),
	HardTanh: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Un(Clamp, x[0], ScalarFloat("min", a.Float("min")), ScalarFloat("max", a.Float("max")))
	}),
	Relu6: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Un(Clamp, x[0], ScalarInt("min", 0), ScalarInt("max", 6))
	}),
	LogSigmoid: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Neg, b.Do(Softplus, b.Do(Neg, x[0]))) }),
	HardShrink: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		l := b.Like(x[0], a.Float("lambda"))
		return b.Do(Where, b.Do(And, b.Do(LessEqual, b.Do(Neg, l), x[0]), b.Do(LessEqual, x[0], l)), b.Like(x[0], 0), x[0])
	}),
	SoftShrink: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		l := b.Like(x[0], a.Float("lambda"))
		y := b.Do(Where, b.Do(IsNaN, x[0]), x[0], b.Like(x[0], 0))
		y = b.Do(Where, b.Do(Less, x[0], b.Do(Neg, l)), b.Do(Add, x[0], l), y)
		return b.Do(Where, b.Do(Less, l, x[0]), b.Do(Sub, x[0], l), y)
	}),
	TanhShrink: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Sub, x[0], b.Do(Tanh, x[0])) }),
	QuickGelu:  wideOne(func(b *Builder, x []Desc, a Attrs) Desc { return b.Un(Silu, x[0], Float("alpha", a.Float("alpha"))) }),
	Softmin: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Un(Softmax, b.Do(Neg, x[0]), Int("axis", a.Int("axis")))
	}),
	Hardmax: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		axis, s := a.Int("axis"), x[0].Shape
		if s.Size() == 0 {
			return x[0]
		}
		line := make(shape.Shape, len(s)-axis)
		for i := range line {
			line[i] = 1
		}
		line[0] = s[axis]
		at := b.All(Iota, nil, Type("dtype", dtype.I64), Dims("shape", line))[0]
		return b.Cast(b.Do(Equal, at, b.Un(ArgMax, x[0], Int("axis", axis), Flag("keep_dims", true))), x[0].DType)
	}),
}

func halves(b *Builder, x Desc, a Attrs) (Desc, Desc) {
	axis := a.Int("axis")
	n := x.Shape[axis] / 2
	return b.Narrow(x, axis, 0, n), b.Narrow(x, axis, n, n)
}
