package op

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// inWide returns a rule that computes narrow floats in f32 and rounds float results once. Integer results are unchanged.
func inWide(rule Decomposition) Decomposition {
	return func(b *Builder, in []Desc, a Attrs) []Desc {
		x := make([]Desc, len(in))
		for i := range in {
			x[i] = wide(b, in[i])
		}
		outs := rule(b, x, a)
		if d := in[0].DType; narrow(d) {
			for i := range outs {
				if outs[i].DType == dtype.F32 {
					outs[i] = b.Cast(outs[i], d)
				}
			}
		}
		return outs
	}
}

func narrow(d dtype.DType) bool { return d == dtype.F16 || d == dtype.BF16 }

// wideOne is like inWide, for one result.
func wideOne(f func(b *Builder, x []Desc, a Attrs) Desc) Decomposition { return inWide(elementwise(f)) }

var searchRules = map[Code]Decomposition{
	Std: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Do(Sqrt, b.With(Variance, x, Ints("axes", a.Ints("axes")...), Flag("keep_dims", a.Bool("keep_dims")), Float("correction", a.Float("correction"))))
	}),
	Median: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s, nan := ordered(b, x[0], a.Ints("axes"))
		n, last := int(count(x[0].Shape, a.Ints("axes"))), len(s.Shape)-1
		y := b.Narrow(s, last, n/2, 1)
		if n%2 == 0 {
			half := b.Like(y, 0.5)
			y = b.Do(Add, b.Do(Mul, half, b.Narrow(s, last, n/2-1, 1)), b.Do(Mul, half, y))
		}
		return b.Reshape(b.Do(Where, nan, b.Like(y, math.NaN()), y), reduced(x[0].Shape, a.Ints("axes"), a.Bool("keep_dims")))
	}),
	Quantile: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		out := reduced(x[0].Shape, a.Ints("axes"), a.Bool("keep_dims"))
		if len(a.Floats("q")) == 0 {
			return b.All(Full, nil, ScalarInt("value", 0), Type("dtype", x[0].DType), Dims("shape", append(shape.Of(0), out...)))[0]
		}
		s, nan := ordered(b, x[0], a.Ints("axes"))
		n, last := int(count(x[0].Shape, a.Ints("axes"))), len(s.Shape)-1
		at := func(k float64) Desc { return b.Narrow(s, last, int(k), 1) }
		var parts []Desc
		for _, q := range a.Floats("q") {
			h := q * float64(n-1)
			lo, hi := math.Floor(h), math.Ceil(h)
			y := at(lo)
			switch i := a.Str("interpolation"); {
			case lo == hi || i == "lower":
			case i == "higher":
				y = at(hi)
			case i == "nearest":
				y = at(math.RoundToEven(h))
			case i == "midpoint":
				y = b.Do(Mul, b.Do(Add, y, at(hi)), b.Like(y, 0.5))
			default:
				y = b.Do(Add, y, b.Do(Mul, b.Like(y, h-lo), b.Do(Sub, at(hi), y)))
			}
			y = b.Do(Where, nan, b.Like(y, math.NaN()), y)
			parts = append(parts, b.Reshape(y, append(shape.Of(1), out...)))
		}
		return b.Concat(0, parts...)
	}),
	Covariance: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		c, _ := comoments(b, x[0])
		return b.Do(Div, c, b.Like(c, float64(x[0].Shape[len(x[0].Shape)-1])-a.Float("correction")))
	}),
	CorrCoef: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		c, d := comoments(b, x[0])
		last := len(x[0].Shape) - 1
		norm := b.Do(Sqrt, b.Reduce(Sum, b.Do(Mul, d, d), true, last))
		across := slices.Clone(norm.Shape)
		if len(across) > 1 { // after an error, it may be a zero Desc
			across[last], across[last-1] = across[last-1], 1
		}
		r := b.Do(Div, b.Do(Div, c, norm), b.Reshape(norm, across))
		return b.Un(Clamp, r, ScalarInt("min", -1), ScalarInt("max", 1))
	}),
	Histogram: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		n, bins := x[0].Shape.Size(), x[1].Shape[0]-1
		v := b.Reshape(x[0], shape.Of(1, n))
		lo, hi := b.Reshape(b.Narrow(x[1], 0, 0, bins), shape.Of(bins, 1)), b.Reshape(b.Narrow(x[1], 0, 1, bins), shape.Of(bins, 1))
		inside := b.Do(And, b.Do(LessEqual, lo, v), b.Do(Less, v, hi))
		atEnd := b.Do(Equal, v, b.Reshape(b.Narrow(x[1], 0, bins, 1), shape.Of(1, 1)))
		atEnd = b.Do(And, atEnd, b.Do(LessEqual, b.Reshape(b.Narrow(x[1], 0, bins-1, 1), shape.Of(1, 1)), v))
		tail := b.Un(Pad, atEnd, Ints("lo", bins-1, 0), Ints("hi", 0, 0))
		return b.Reduce(Sum, b.Cast(b.Do(Or, inside, tail), dtype.I64), false, 1)
	}),
	SearchSorted: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		s, v := x[0].Shape, x[1].Shape
		batch, n := s[:len(s)-1].Size(), s[len(s)-1]
		per := v.Size()
		if len(s) > 1 {
			per = v[len(v)-1]
		}
		line := b.Reshape(x[0], shape.Of(batch, 1, n))
		values := b.Reshape(x[1], shape.Of(batch, per, 1))
		var counted Desc
		if a.Bool("right") {
			counted = b.Do(Not, before(b, values, line))
		} else {
			counted = before(b, line, values)
		}
		return b.Reshape(b.Reduce(Sum, b.Cast(counted, dtype.I64), false, 2), v)
	}),
	ArgSort: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.All(Sort, x, Int("axis", a.Int("axis")), Flag("descending", a.Bool("descending")))[1]
	}),
	LogCumSumExp: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		axis := a.Int("axis")
		y, n := x[0], x[0].Shape[axis]
		if a.Bool("exclusive") {
			y = delayed(b, y, axis, 1, a.Bool("reverse"))
		}
		for step := 1; step < n; step *= 2 {
			y = logAddExp(b, y, delayed(b, y, axis, step, a.Bool("reverse")))
		}
		return y
	}),
	CumArgMax: elementwise(func(b *Builder, x []Desc, a Attrs) Desc { return runningIndex(b, x[0], a.Int("axis"), CumMax) }),
	CumArgMin: elementwise(func(b *Builder, x []Desc, a Attrs) Desc { return runningIndex(b, x[0], a.Int("axis"), CumMin) }),
	VectorNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		y, p, axes, keep := b.Do(Abs, x[0]), a.Float("p"), a.Ints("axes"), a.Bool("keep_dims")
		switch {
		case math.IsInf(p, 1):
			m := b.Reduce(ReduceMax, y, keep, axes...)
			return b.Do(Max, m, b.Like(m, 0))
		case math.IsInf(p, -1):
			return b.Reduce(ReduceMin, y, keep, axes...)
		case p == 0:
			return b.Reduce(Sum, b.Cast(b.Do(NotEqual, y, b.Like(y, 0)), y.DType), keep, axes...)
		case p == 1:
			return b.Reduce(Sum, y, keep, axes...)
		case p == 2:
			return b.Do(Sqrt, b.Reduce(Sum, b.Do(Mul, y, y), keep, axes...))
		}
		return b.Do(Pow, b.Reduce(Sum, b.Do(Pow, y, b.Like(y, p)), keep, axes...), b.Like(y, 1/p))
	}),
	CosineSimilarity: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s, err := broadcast("C1", x...)
		if err != nil {
			b.Fail(err)
			return Desc{}
		}
		u, v, axis := b.Expand(x[0], s), b.Expand(x[1], s), a.Int("axis")
		dot := func(p, q Desc) Desc { return b.Reduce(Sum, b.Do(Mul, p, q), false, axis) }
		norms := b.Do(Mul, b.Do(Sqrt, dot(u, u)), b.Do(Sqrt, dot(v, v)))
		return b.Do(Div, dot(u, v), b.Do(Max, norms, b.Like(norms, a.Float("epsilon"))))
	}),
}

// ordered returns x with axes merged into one at the end, and sorted along it. nan says whether a line contains a NaN; it has a last
// dimension of 1.
func ordered(b *Builder, x Desc, axes []int) (sorted, nan Desc) {
	order, kept := []int{}, shape.Shape{}
	for d := range x.Shape {
		if !slices.Contains(axes, d) {
			order, kept = append(order, d), append(kept, x.Shape[d])
		}
	}
	n := int(count(x.Shape, axes))
	line := b.Reshape(b.Permute(x, append(order, axes...)...), shape.Of(kept.Size(), n))
	sorted = b.Un(Sort, line, Int("axis", 1))
	return sorted, b.Do(IsNaN, b.Narrow(sorted, 1, n-1, 1))
}

// comoments returns, for x [..., variables, observations], the sums of products of deviations from the means, and the deviations.
func comoments(b *Builder, x Desc) (sums, distances Desc) {
	d := b.Do(Sub, x, b.Reduce(Mean, x, true, len(x.Shape)-1))
	return b.With(MatMul, []Desc{d, d}, Flag("transpose_b", true)), d
}

// before returns whether x precedes y in the order of sort: NaN comes last.
func before(b *Builder, x, y Desc) Desc {
	less := b.Do(Less, x, y)
	if !x.DType.IsFloat() {
		return less
	}
	return b.Do(Or, less, b.Do(And, b.Do(Not, b.Do(IsNaN, x)), b.Do(IsNaN, y)))
}

// delayed shifts x by n along axis, towards the end or, if reverse is set, towards the start, and fills in -Inf.
func delayed(b *Builder, x Desc, axis, n int, reverse bool) Desc {
	lo, hi := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	if axis >= len(lo) {
		return x
	}
	n = min(n, x.Shape[axis])
	if lo[axis], hi[axis] = n, -n; reverse {
		lo[axis], hi[axis] = -n, n
	}
	return b.Un(Pad, x, Ints("lo", lo...), Ints("hi", hi...), ScalarFloat("value", math.Inf(-1)))
}

// logAddExp returns log(exp(x)+exp(y)) without overflow.
func logAddExp(b *Builder, x, y Desc) Desc {
	far := b.Do(Add, b.Do(Max, x, y), b.Do(Log1p, b.Do(Exp, b.Do(Neg, b.Do(Abs, b.Do(Sub, x, y))))))
	return b.Do(Where, b.Do(Equal, x, y), b.Do(Add, x, b.Like(x, math.Ln2)), far)
}

// runningIndex returns the running maximum of the indices at which a running extreme changes.
func runningIndex(b *Builder, x Desc, axis int, running Code) Desc {
	was := b.Un(running, x, Int("axis", axis), Flag("exclusive", true))
	better := b.Do(Less, was, x)
	if running == CumMin {
		better = b.Do(Less, x, was)
	}
	if x.DType.IsFloat() {
		better = b.Do(Or, better, b.Do(And, b.Do(IsNaN, x), b.Do(Not, b.Do(IsNaN, was))))
	}
	line := slices.Repeat([]int{1}, len(x.Shape))
	line[axis] = x.Shape[axis]
	places := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", line...), Int("axis", axis))[0]
	return b.Un(CumMax, b.Do(Where, better, places, b.Scalar(dtype.I64, 0)), Int("axis", axis))
}
