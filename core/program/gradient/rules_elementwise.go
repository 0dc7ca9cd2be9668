package gradient

import (
	"math"

	"github.com/goburn/burn/core/op"
)

var elementwiseRules = map[op.Code]Rule{
	op.Neg:   fromDY(func(g *grad, dy op.Desc) op.Desc { return g.Do(op.Neg, dy) }),
	op.Abs:   fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Sign, x)) }),
	op.Exp:   fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.mul(dy, y) }),
	op.Log:   fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, x) }),
	op.Log1p: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, g.plus(x, 1)) }),
	op.Expm1: fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.mul(dy, g.plus(y, 1)) }),
	op.Sqrt:  fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.div(g.times(dy, 0.5), y) }),
	op.Sin:   fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Cos, x)) }),
	op.Cos:   fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Neg, g.Do(op.Sin, x))) }),
	op.Tan:   fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.mul(dy, g.plus(g.mul(y, y), 1)) }),
	op.Asin:  fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, cofunction(g, x)) }),
	op.Acos:  fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.Do(op.Neg, g.div(dy, cofunction(g, x))) }),
	op.Atan:  fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, g.plus(g.mul(x, x), 1)) }),
	op.Sinh:  fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Cosh, x)) }),
	op.Cosh:  fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Sinh, x)) }),
	op.Tanh:  fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.sub(dy, g.mul(dy, g.mul(y, y))) }),
	op.Erf: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		return g.times(g.mul(dy, g.Do(op.Exp, g.Do(op.Neg, g.mul(x, x)))), 2/math.Sqrt(math.Pi))
	}),
	op.Floor: flat, op.Ceil: flat, op.Round: flat,

	op.Add: {nil, func(g *grad) []op.Desc { return both(g, g.dy[0], g.dy[0]) }},
	op.Sub: {nil, func(g *grad) []op.Desc {
		return two(g, func() op.Desc { return g.dy[0] }, func() op.Desc { return g.Do(op.Neg, g.fold(g.dy[0], g.x[1].Shape)) })
	}},
	op.Mul: {readOther, func(g *grad) []op.Desc {
		return two(g, func() op.Desc { return g.mul(g.dy[0], g.x[1]) }, func() op.Desc { return g.mul(g.dy[0], g.x[0]) })
	}},
	op.Div: {func(need []bool) (in, out uint64) {
		if in = 2; need[1] {
			out = 1
		}
		return in, out
	}, func(g *grad) []op.Desc {
		q := g.div(g.dy[0], g.x[1])
		return two(g, func() op.Desc { return q }, func() op.Desc { return g.Do(op.Neg, g.mul(q, g.y[0])) })
	}},
	op.Rem: {func(need []bool) (in, out uint64) { // x = trunc(x/m)·m + y
		if need[1] {
			in = 3
		}
		return in, 0
	}, func(g *grad) []op.Desc {
		return two(g, func() op.Desc { return g.dy[0] }, func() op.Desc {
			return g.Do(op.Neg, g.mul(g.dy[0], g.Do(op.Trunc, g.div(g.x[0], g.x[1]))))
		})
	}},
	op.Pow: {func(need []bool) (in, out uint64) {
		if need[1] {
			out = 1
		}
		return 3, out
	}, func(g *grad) []op.Desc {
		a, b := g.x[0], g.x[1]
		return two(g, func() op.Desc { // the slope is zero if the exponent is zero, for every base
			d := g.mul(b, g.Do(op.Pow, a, g.plus(b, -1)))
			return g.mul(g.dy[0], g.pick(g.Do(op.Equal, b, g.zero(b)), g.zero(b), d))
		}, func() op.Desc { // 0^b is constant for b ≥ 0
			still := g.Do(op.And, g.Do(op.Equal, a, g.zero(a)), g.Do(op.GreaterEqual, b, g.zero(b)))
			return g.mul(g.dy[0], g.pick(still, g.zero(a), g.mul(g.y[0], g.Do(op.Log, a))))
		})
	}},
	op.Max: {readBoth(3, 0), func(g *grad) []op.Desc { return extreme(g, op.Less) }},
	op.Min: {readBoth(3, 0), func(g *grad) []op.Desc { return extreme(g, op.Greater) }},
	op.Atan2: {readIn(3), func(g *grad) []op.Desc {
		q := g.div(g.dy[0], g.add(g.mul(g.x[0], g.x[0]), g.mul(g.x[1], g.x[1])))
		return two(g, func() op.Desc { return g.mul(q, g.x[1]) }, func() op.Desc { return g.Do(op.Neg, g.mul(q, g.x[0])) })
	}},
	op.Where: {readIn(1), func(g *grad) []op.Desc {
		c, dy := g.x[0], g.dy[0]
		d := make([]op.Desc, 3)
		if g.need[1] {
			d[1] = g.fold(g.pick(c, dy, g.zero(dy)), g.x[1].Shape)
		}
		if g.need[2] {
			d[2] = g.fold(g.pick(c, g.zero(dy), dy), g.x[2].Shape)
		}
		return d
	}},
}

// cofunction returns sqrt(1-x²), factored to keep digits near 1.
func cofunction(g *grad, x op.Desc) op.Desc {
	return g.Do(op.Sqrt, g.mul(g.sub(g.Like(x, 1), x), g.plus(x, 1)))
}

// both returns the gradients a and b of the operands of a broadcast op, each summed over the axes along which its operand was broadcast.
func both(g *grad, a, b op.Desc) []op.Desc {
	return two(g, func() op.Desc { return a }, func() op.Desc { return b })
}

// two is like both, but computes only the gradients that are needed.
func two(g *grad, a, b func() op.Desc) []op.Desc {
	d := make([]op.Desc, 2)
	for i, f := range []func() op.Desc{a, b} {
		if g.need[i] {
			d[i] = g.fold(f(), g.x[i].Shape)
		}
	}
	return d
}

// extreme passes dy to the selected operand, and half of it to each of equal operands. lost is the comparison that holds for the operand
// that was not selected: Less for max.
func extreme(g *grad, lost op.Code) []op.Desc {
	a, b, dy := g.x[0], g.x[1], g.dy[0]
	shared := g.pick(g.Do(op.Equal, a, b), g.times(dy, 0.5), dy)
	return two(g, func() op.Desc { return g.pick(g.Do(lost, a, b), g.zero(dy), shared) },
		func() op.Desc { return g.pick(g.Do(lost, b, a), g.zero(dy), shared) })
}

var arithmeticRules = map[op.Code]Rule{
	op.Reciprocal: fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.Do(op.Neg, g.mul(dy, g.mul(y, y))) }),
	op.Rsqrt:      fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.times(g.mul(dy, g.mul(y, g.mul(y, y))), -0.5) }),
	op.Square:     fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.times(g.mul(dy, x), 2) }),
	op.Sign:       flat, op.Trunc: flat, op.RoundAway: flat, op.FloorDiv: flat,
	op.Asinh: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, g.Do(op.Sqrt, g.plus(g.mul(x, x), 1))) }),
	op.Acosh: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		return g.div(dy, g.Do(op.Sqrt, g.mul(g.plus(x, -1), g.plus(x, 1))))
	}),
	op.Atanh: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, g.mul(g.sub(g.Like(x, 1), x), g.plus(x, 1))) }),
	op.FloorMod: {func(need []bool) (in, out uint64) {
		if need[1] {
			in = 3
		}
		return in, 0
	}, func(g *grad) []op.Desc {
		return two(g, func() op.Desc { return g.dy[0] }, func() op.Desc {
			return g.Do(op.Neg, g.mul(g.dy[0], g.Do(op.Floor, g.div(g.x[0], g.x[1]))))
		})
	}},
	op.Frac: fromDY(func(_ *grad, dy op.Desc) op.Desc { return dy }),
	op.Clamp: fromX(func(g *grad, x, dy op.Desc) op.Desc { // the bounds are included: the slope there is one
		lo, hi := g.Bound(x.DType, scalar(g, "min")), g.Bound(x.DType, scalar(g, "max"))
		inside := g.Do(op.And, g.Do(op.LessEqual, lo, x), g.Do(op.LessEqual, x, hi))
		return g.pick(inside, dy, g.zero(dy))
	}),
	op.Exp2:  fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.times(g.mul(dy, y), math.Ln2) }),
	op.Log2:  fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.times(g.div(dy, x), 1/math.Ln2) }),
	op.Log10: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.times(g.div(dy, x), 1/math.Ln10) }),
	op.LogAddExp: {readIn(3), func(g *grad) []op.Desc {
		a, b := g.x[0], g.x[1]
		apart := g.pick(g.Do(op.Equal, a, b), g.zero(a), g.sub(a, b)) // equal infinities count as equal
		return two(g, func() op.Desc { return g.mul(g.dy[0], g.Do(op.Sigmoid, apart)) },
			func() op.Desc { return g.mul(g.dy[0], g.Do(op.Sigmoid, g.Do(op.Neg, apart))) })
	}},
	// A straight-through estimator: dy where the number was not clipped (Bengio et al., Estimating or Propagating Gradients Through
	// Stochastic Neurons, 2013). Scales have no gradient.
	op.FakeQuantize: {readBoth(7, 1), func(g *grad) []op.Desc {
		x, s, z := g.x[0], g.x[1], g.x[2]
		one := g.Expand(g.FullInt(z.DType, 1, nil), x.Shape)
		none := g.Expand(g.FullInt(z.DType, 0, nil), z.Shape)
		step := g.With(op.Dequantize, []op.Desc{one, s, none}, op.Int("axis", g.Int("axis")), op.Int("block", g.Int("block")))
		near := g.Do(op.LessEqual, g.Do(op.Abs, g.sub(x, g.y[0])), g.times(step, 0.501))
		return []op.Desc{g.pick(near, g.dy[0], g.zero(x)), {}, {}}
	}},
}

// scalar returns an attribute, renamed to the name that full uses.
func scalar(g *grad, name string) op.Attr { return op.Attr{Name: "value", Value: g.Value(name)} }
