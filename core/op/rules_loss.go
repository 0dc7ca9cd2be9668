package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// reduceLoss reduces losses as the attribute reduction says.
func reduceLoss(b *Builder, y Desc, a Attrs) Desc {
	switch a.Str("reduction") {
	case "mean":
		return b.Reduce(Mean, y, false, tail(0, len(y.Shape))...)
	case "sum":
		return b.Reduce(Sum, y, false, tail(0, len(y.Shape))...)
	}
	return y
}

// lossOf returns the rule of a loss from a function that returns the losses of single elements.
func lossOf(f func(b *Builder, x []Desc, a Attrs) Desc) Decomposition {
	return wideOne(func(b *Builder, x []Desc, a Attrs) Desc { return reduceLoss(b, f(b, x, a), a) })
}

func positive(b *Builder, x Desc) Desc { return b.Do(Max, x, b.Like(x, 0)) }

func apart(b *Builder, x []Desc) Desc { return b.Do(Abs, b.Do(Sub, x[0], x[1])) }

func times(b *Builder, x Desc, f float64) Desc { return b.Do(Mul, x, b.Like(x, f)) }

func shiftedBy(b *Builder, x Desc, f float64) Desc { return b.Do(Add, x, b.Like(x, f)) }

var lossRules = map[Code]Decomposition{
	NLLLoss: wideOne(func(b *Builder, x []Desc, a Attrs) Desc { return labelLoss(b, x[0], x, a) }),
	CrossEntropyLoss: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return labelLoss(b, b.Un(LogSoftmax, x[0], Int("axis", 1)), x, a)
	}),
	MSELoss: lossOf(func(b *Builder, x []Desc, _ Attrs) Desc { return b.Do(Square, b.Do(Sub, x[0], x[1])) }),
	L1Loss:  lossOf(func(b *Builder, x []Desc, _ Attrs) Desc { return apart(b, x) }),
	HuberLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		d, delta := apart(b, x), a.Float("delta")
		linear := times(b, shiftedBy(b, d, -delta/2), delta)
		return b.Do(Where, b.Do(Less, b.Like(d, delta), d), linear, times(b, b.Do(Square, d), 0.5))
	}),
	SmoothL1Loss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		d, beta := apart(b, x), a.Float("beta")
		square := times(b, b.Do(Div, b.Do(Square, d), b.Like(d, beta)), 0.5)
		return b.Do(Where, b.Do(Less, d, b.Like(d, beta)), square, shiftedBy(b, d, -beta/2))
	}),
	BCELoss: lossOf(func(b *Builder, x []Desc, _ Attrs) Desc {
		floor := b.Like(x[0], -100)
		yes, no := b.Do(Max, b.Do(Log, x[0]), floor), b.Do(Max, b.Do(Log1p, b.Do(Neg, x[0])), floor)
		rest := b.Do(Sub, b.Like(x[1], 1), x[1])
		return b.Do(Neg, b.Do(Add, b.Do(Mul, x[1], yes), b.Do(Mul, rest, no)))
	}),
	BCEWithLogitsLoss: lossOf(func(b *Builder, x []Desc, _ Attrs) Desc {
		yes := b.Do(Mul, x[1], b.Do(Softplus, b.Do(Neg, x[0])))
		if len(x) > 2 {
			yes = b.Do(Mul, yes, x[2])
		}
		return b.Do(Add, yes, b.Do(Mul, b.Do(Sub, b.Like(x[1], 1), x[1]), b.Do(Softplus, x[0])))
	}),
	KLDivLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		if a.Bool("log_target") {
			return b.Do(Mul, b.Do(Exp, x[1]), b.Do(Sub, x[1], x[0]))
		}
		y := b.Do(Mul, x[1], b.Do(Sub, b.Do(Log, x[1]), x[0]))
		return b.Do(Where, b.Do(Equal, x[1], b.Like(x[1], 0)), b.Like(y, 0), y)
	}),
	PoissonNLLLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		t := x[1]
		var y Desc
		if a.Bool("log_input") {
			y = b.Do(Sub, b.Do(Exp, x[0]), b.Do(Mul, t, x[0]))
		} else {
			y = b.Do(Sub, x[0], b.Do(Mul, t, b.Do(Log, shiftedBy(b, x[0], a.Float("epsilon")))))
		}
		if a.Bool("full") {
			more := b.Do(Add, b.Do(Sub, b.Do(Mul, t, b.Do(Log, t)), t), times(b, b.Do(Log, times(b, t, 2*math.Pi)), 0.5))
			y = b.Do(Add, y, b.Do(Where, b.Do(Less, b.Like(t, 1), t), more, b.Like(t, 0)))
		}
		return y
	}),
	CosineEmbeddingLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		last := len(x[0].Shape) - 1
		dot := func(u, v Desc) Desc { return b.Reduce(Sum, b.Do(Mul, u, v), false, last) }
		square := func(u Desc) Desc { return shiftedBy(b, dot(u, u), 1e-12) }
		c := b.Do(Div, dot(x[0], x[1]), b.Do(Sqrt, b.Do(Mul, square(x[0]), square(x[1]))))
		return b.Do(Where, b.Do(Less, b.Like(x[2], 0), x[2]), b.Do(Sub, b.Like(c, 1), c), positive(b, shiftedBy(b, c, -a.Float("margin"))))
	}),
	HingeLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		return positive(b, b.Do(Sub, b.Like(x[0], a.Float("margin")), b.Do(Mul, x[0], x[1])))
	}),
	HingeEmbeddingLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		far := positive(b, b.Do(Sub, b.Like(x[0], a.Float("margin")), x[0]))
		return b.Do(Where, b.Do(Less, b.Like(x[1], 0), x[1]), x[0], far)
	}),
	MarginRankingLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		return positive(b, b.Do(Sub, b.Like(x[0], a.Float("margin")), b.Do(Mul, x[2], b.Do(Sub, x[0], x[1]))))
	}),
	TripletMarginLoss: lossOf(func(b *Builder, x []Desc, a Attrs) Desc {
		d := func(u, v Desc) Desc {
			return rowNorm(b, shiftedBy(b, b.Do(Sub, u, v), a.Float("epsilon")), a.Float("p"))
		}
		near, far := d(x[0], x[1]), d(x[0], x[2])
		if a.Bool("swap") {
			far = b.Do(Min, far, d(x[1], x[2]))
		}
		return positive(b, shiftedBy(b, b.Do(Sub, near, far), a.Float("margin")))
	}),
	CTCLoss: wideOne(ctc),
}

// rowNorm returns the p-norm along the last axis.
func rowNorm(b *Builder, x Desc, p float64) Desc {
	return b.Un(VectorNorm, x, Ints("axes", len(x.Shape)-1), Float("p", p))
}

// labelLoss selects log probabilities [N, C, ...] by the labels x[1] and multiplies them by the weights x[2].
func labelLoss(b *Builder, logp Desc, x []Desc, a Attrs) Desc {
	target, n := x[1], len(x[1].Shape)
	counts := b.Do(NotEqual, target, b.FullInt(target.DType, int64(a.Int("ignore_index")), nil))
	safe := b.Do(Where, counts, target, b.FullInt(target.DType, 0, nil))
	byClass := axisLast(b, logp, 1)
	pick := func(v Desc) Desc { return b.With(Gather, []Desc{v, safe}, Int("axis", n), Int("batch", n)) }
	zero := b.Like(logp, 0)
	weight := b.Expand(b.Like(logp, 1), logp.Shape[1:2])
	if len(x) > 2 {
		weight = x[2]
	}
	w := b.Do(Where, counts, b.With(Gather, []Desc{weight, safe}, Int("axis", 0)), zero)
	y := b.Do(Where, counts, b.Do(Neg, b.Do(Mul, pick(byClass), w)), zero)
	if e := a.Float("label_smoothing"); e != 0 {
		all := b.Do(Neg, b.Reduce(Sum, b.Do(Mul, byClass, weight), false, n))
		y = b.Do(Add, times(b, y, 1-e), b.Do(Where, counts, times(b, all, e/float64(max(1, logp.Shape[1]))), zero))
	}
	if a.Str("reduction") != "mean" {
		return reduceLoss(b, y, a)
	}
	axes := tail(0, n)
	return b.Do(Div, b.Reduce(Sum, y, false, axes...), b.Reduce(Sum, w, false, axes...))
}

// ctc unrolls the recursion over the steps. The states are the target of S labels with blanks around and between them, 2S+1 in total: a
// state is the logarithm of the probability of all paths so far that end in it.
func ctc(b *Builder, x []Desc, a Attrs) Desc {
	logp, lengths, sizes := x[0], b.Cast(x[2], dtype.I64), b.Cast(x[3], dtype.I64)
	steps, batch, classes := logp.Shape[0], logp.Shape[1], logp.Shape[2]
	s := x[1].Shape[1]
	i64 := func(v int) Desc { return b.FullInt(dtype.I64, int64(v), nil) }
	line := func(n int) Desc { return b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", n))[0] }
	column := func(v Desc) Desc { return b.Reshape(v, shape.Of(batch, 1)) }
	blank, low := i64(a.Int("blank")), b.Bound(logp.DType, Lowest(logp.DType))
	labels := b.Do(Where, b.Do(Less, line(s), column(sizes)), b.Cast(x[1], dtype.I64), blank) // labels after the end of a target are arbitrary
	states := 2*s + 1
	path := b.Expand(blank, shape.Of(batch, 1))
	if s > 0 {
		with := b.Concat(2, b.Reshape(labels, shape.Of(batch, s, 1)), b.Expand(blank, shape.Of(batch, s, 1)))
		path = b.Concat(1, path, b.Reshape(with, shape.Of(batch, 2*s)))
	}
	before := func(v, fill Desc, k int) Desc { // v shifted by k states
		if k >= states {
			return b.Expand(fill, v.Shape)
		}
		return b.Concat(1, b.Expand(fill, shape.Of(batch, k)), b.Narrow(v, 1, 0, states-k))
	}
	jump := b.Do(And, b.Do(NotEqual, path, blank), b.Do(NotEqual, path, before(path, blank, 2)))
	alpha := b.Do(Where, b.Do(Equal, line(states), i64(0)), b.Like(logp, 0), low)
	alpha = b.Expand(alpha, shape.Of(batch, states))
	for t := range steps {
		p := b.Reshape(b.Narrow(logp, 0, t, 1), shape.Of(batch, classes))
		p = b.With(Gather, []Desc{p, path}, Int("axis", 1), Int("batch", 1))
		next := logSum(b, alpha, before(alpha, low, 1), b.Do(Where, jump, before(alpha, low, 2), low))
		alpha = b.Do(Where, b.Do(Less, i64(t), column(lengths)), b.Do(Add, next, p), alpha)
		if b.Err() != nil {
			return Desc{}
		}
	}
	last := func(k int) Desc { // the state k before the end of the target
		at := b.Do(Sub, b.Do(Mul, column(sizes), i64(2)), i64(k))
		return b.Reduce(ReduceMax, b.Do(Where, b.Do(Equal, line(states), at), alpha, low), false, 1)
	}
	y := b.Do(Neg, logSum(b, last(0), last(1)))
	if a.Bool("zero_infinity") {
		y = b.Do(Where, b.Do(Equal, y, b.Do(Neg, low)), b.Like(y, 0), y)
	}
	if a.Str("reduction") == "mean" {
		y = b.Do(Div, y, b.Cast(b.Do(Max, sizes, i64(1)), y.DType))
	}
	return reduceLoss(b, y, a)
}

// logSum returns the logarithm of the sum of exponentials of tensors, element by element. If all are -Inf, the gradient is not NaN.
func logSum(b *Builder, xs ...Desc) Desc {
	return b.Reduce(LogSumExp, b.All(Stack, xs, Int("axis", 0))[0], false, 0)
}
