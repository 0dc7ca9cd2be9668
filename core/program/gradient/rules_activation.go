package gradient

import (
	"math"

	"github.com/goburn/burn/core/op"
)

var activationRules = map[op.Code]Rule{
	op.Relu:  fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.pick(g.Do(op.Less, g.zero(y), y), dy, g.zero(dy)) }),
	op.Relu6: fromY(func(g *grad, y, dy op.Desc) op.Desc { return between(g, y, dy, 0, 6) }),
	op.LeakyRelu: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		return g.pick(positive(g, x), dy, g.times(dy, g.Float("alpha")))
	}),
	op.PRelu: {readIn(3), func(g *grad) []op.Desc {
		x, dy := g.x[0], g.dy[0]
		up := positive(g, x)
		return two(g, func() op.Desc { return g.pick(up, dy, g.mul(dy, g.x[1])) }, func() op.Desc { return g.pick(up, g.zero(dy), g.mul(dy, x)) })
	}},
	op.Elu: {readBoth(1, 1), func(g *grad) []op.Desc {
		return []op.Desc{g.pick(positive(g, g.x[0]), g.dy[0], g.mul(g.dy[0], g.plus(g.y[0], g.Float("alpha"))))}
	}},
	op.Selu: {readBoth(1, 1), func(g *grad) []op.Desc {
		low := g.mul(g.dy[0], g.plus(g.y[0], g.Float("alpha")*g.Float("gamma")))
		return []op.Desc{g.pick(positive(g, g.x[0]), g.times(g.dy[0], g.Float("gamma")), low)}
	}},
	op.Celu: {readBoth(1, 1), func(g *grad) []op.Desc {
		return []op.Desc{g.pick(positive(g, g.x[0]), g.dy[0], g.mul(g.dy[0], g.plus(g.times(g.y[0], 1/g.Float("alpha")), 1)))}
	}},
	op.Sigmoid:    fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.mul(dy, g.sub(y, g.mul(y, y))) }),
	op.LogSigmoid: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Sigmoid, g.Do(op.Neg, x))) }),
	op.HardSigmoid: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		a, b := g.Float("alpha"), g.Float("beta")
		return between(g, g.plus(g.times(x, a), b), g.times(dy, a), 0, 1)
	}),
	op.HardSwish: fromX(func(g *grad, x, dy op.Desc) op.Desc { // x·clamp(x/6+1/2, 0, 1)
		slope := g.pick(g.Do(op.Less, x, g.Like(x, 3)), g.plus(g.times(x, 1.0/3), 0.5), g.Like(x, 1))
		return g.mul(dy, g.pick(g.Do(op.Less, g.Like(x, -3), x), slope, g.zero(x)))
	}),
	op.Silu:      fromX(func(g *grad, x, dy op.Desc) op.Desc { return swish(g, x, dy, g.Float("alpha")) }),
	op.QuickGelu: fromX(func(g *grad, x, dy op.Desc) op.Desc { return swish(g, x, dy, g.Float("alpha")) }),
	op.Gelu: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		x2 := g.mul(x, x)
		if g.Str("approximate") == "tanh" { // x/2·(1+tanh u), u = c·(x + k·x³)
			const k = 0.044715
			c := math.Sqrt(2 / math.Pi)
			t := g.Do(op.Tanh, g.times(g.mul(x, g.plus(g.times(x2, k), 1)), c))
			du := g.plus(g.times(x2, 3*k*c), c)
			inner := g.mul(g.mul(g.sub(g.Like(x, 1), g.mul(t, t)), du), x)
			return g.mul(dy, g.times(g.add(inner, g.plus(t, 1)), 0.5))
		}
		cdf := g.times(g.plus(g.Do(op.Erf, g.times(x, math.Sqrt2/2)), 1), 0.5)
		pdf := g.times(g.Do(op.Exp, g.times(x2, -0.5)), 1/math.Sqrt(2*math.Pi))
		return g.mul(dy, g.add(cdf, g.mul(x, pdf)))
	}),
	op.Mish: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		t := g.Do(op.Tanh, g.Do(op.Softplus, x))
		s := g.mul(g.Do(op.Sigmoid, x), g.sub(g.Like(x, 1), g.mul(t, t)))
		return g.mul(dy, g.add(t, g.mul(x, s)))
	}),
	op.Softplus: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.mul(dy, g.Do(op.Sigmoid, x)) }),
	op.Softsign: fromX(func(g *grad, x, dy op.Desc) op.Desc { return g.div(dy, g.Do(op.Square, g.plus(g.Do(op.Abs, x), 1))) }),
	op.ThresholdedRelu: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		return g.pick(g.Do(op.Less, g.Like(x, g.Float("alpha")), x), dy, g.zero(dy))
	}),
	op.HardTanh:   fromX(func(g *grad, x, dy op.Desc) op.Desc { return between(g, x, dy, g.Float("min"), g.Float("max")) }),
	op.HardShrink: fromX(func(g *grad, x, dy op.Desc) op.Desc { return beyond(g, x, dy, g.Float("lambda")) }),
	op.SoftShrink: fromX(func(g *grad, x, dy op.Desc) op.Desc { return beyond(g, x, dy, g.Float("lambda")) }),
	op.TanhShrink: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		t := g.Do(op.Tanh, x)
		return g.mul(dy, g.mul(t, t))
	}),
	op.Hardmax: flat,

	op.Softmax: fromY(func(g *grad, y, dy op.Desc) op.Desc { return softmaxGrad(g, y, dy) }),
	op.Softmin: fromY(func(g *grad, y, dy op.Desc) op.Desc { return g.Do(op.Neg, softmaxGrad(g, y, dy)) }),
	op.LogSoftmax: fromY(func(g *grad, y, dy op.Desc) op.Desc {
		total := g.Reduce(op.Sum, dy, true, g.Int("axis"))
		return g.sub(dy, g.mul(g.Do(op.Exp, y), total))
	}),
	op.Dropout: {readOut(2), func(g *grad) []op.Desc {
		p := g.Float("p")
		if g.dy[0].ID == 0 || p >= 1 {
			return []op.Desc{g.zeros(g.x[0])}
		}
		return []op.Desc{g.pick(g.y[1], g.times(g.dy[0], 1/(1-p)), g.zero(g.dy[0]))}
	}},
}

func positive(g *grad, x op.Desc) op.Desc { return g.Do(op.Less, g.zero(x), x) }

// between returns dy where lo < x < hi.
func between(g *grad, x, dy op.Desc, lo, hi float64) op.Desc {
	in := g.Do(op.And, g.Do(op.Less, g.Like(x, lo), x), g.Do(op.Less, x, g.Like(x, hi)))
	return g.pick(in, dy, g.zero(dy))
}

// beyond returns dy where |x| > l.
func beyond(g *grad, x, dy op.Desc, l float64) op.Desc {
	return g.pick(g.Do(op.Less, g.Like(x, l), g.Do(op.Abs, x)), dy, g.zero(dy))
}

// swish returns the gradient of x·sigmoid(a·x).
func swish(g *grad, x, dy op.Desc, a float64) op.Desc {
	s := g.Do(op.Sigmoid, g.times(x, a))
	return g.mul(dy, g.add(s, g.times(g.mul(x, g.sub(s, g.mul(s, s))), a)))
}

func softmaxGrad(g *grad, y, dy op.Desc) op.Desc {
	p := g.mul(y, dy)
	return g.sub(p, g.mul(y, g.Reduce(op.Sum, p, true, g.Int("axis"))))
}
