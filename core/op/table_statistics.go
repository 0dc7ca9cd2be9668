package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func statistic(c Code, name, doc string, tol Tolerance, attrs ...AttrSpec) entry {
	e := reduction(c, name, doc, tol)
	e.row.Class, e.row.Section, e.row.Operands = Composite, "statistics", []Operand{in("x", dtype.Floats)}
	e.row.Attrs = append(e.row.Attrs, attrs...)
	return e
}

var epsilon = defaults(Float("epsilon", 1e-5), "added to the variance")

// norm returns the row of a normalisation of x. All operands have x's type.
func norm(c Code, name, doc string, operands []Operand, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "normalisation", Traits: Cheap, Doc: doc,
		Operands: append([]Operand{in("x", dtype.Floats)}, operands...), Results: result, Attrs: attrs, Constraints: constraints,
		Tolerance: perTerm(8), Infer: infer}}
}

var statisticsRows = []entry{
	statistic(Mean, "mean", "Arithmetic mean over axes, NaN of none; narrow floats accumulate in f32.", perTerm(2)),
	statistic(Variance, "variance", "Mean squared distance from the mean over axes, divided by count-correction.", perTerm(8),
		defaults(Float("correction", 0), "subtracted from the count: 1 for the unbiased estimate")),
	statistic(LogSumExp, "log_sum_exp", "Logarithm of the sum of exp(x) over axes, without overflow.", perTerm(4)),
	norm(BatchNorm, "batch_norm", "(x-mean)/sqrt(variance+epsilon)·scale+bias by channel, which is axis 1.",
		[]Operand{same("scale", 1), same("bias", 1), same("mean", 1), same("variance", 1)}, []AttrSpec{epsilon},
		[]Constraint{{"C1", "x has rank 2 or more"}, {"C2", "scale, bias, mean and variance have shape [channels]"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			if len(in[0].Shape) < 2 {
				return nil, violation(ErrShape, "C1", "rank %d, want 2 or more", len(in[0].Shape))
			}
			return inferNorm(in, "C2", in[0].Shape[1:2], "scale", "bias", "mean", "variance")
		}),
	norm(LayerNorm, "layer_norm", "x normalised to mean 0 and variance 1 over axis and all after it, then scaled and shifted.",
		[]Operand{optional(same("scale", 1)), optional(same("bias", 1))},
		[]AttrSpec{required("axis", KindInt, "first normalised axis"), epsilon}, tailRule, inferTailNorm),
	norm(RMSNorm, "rms_norm", "x over the root of its mean square over axis and all after it, then scaled.",
		[]Operand{optional(same("scale", 1))},
		[]AttrSpec{required("axis", KindInt, "first normalised axis"), epsilon}, tailRule, inferTailNorm),
	norm(GroupNorm, "group_norm", "x[N, C, ...] normalised over each group of channels and all spatial positions, then scaled and shifted "+
		"by channel; groups = C is instance normalisation.", []Operand{same("scale", 1), same("bias", 1)},
		[]AttrSpec{required("groups", KindInt, "number of channel groups"), epsilon},
		[]Constraint{{"C1", "x has rank 2 or more"}, {"C2", "groups divides the channels"}, {"C3", "scale and bias have shape [channels]"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if len(s) < 2 {
				return nil, violation(ErrShape, "C1", "rank %d, want 2 or more", len(s))
			}
			if g := a.Int("groups"); g < 1 || s[1]%g != 0 {
				return nil, violation(ErrShape, "C2", "%d groups for %d channels", a.Int("groups"), s[1])
			}
			return inferNorm(in, "C3", s[1:2], "scale", "bias")
		}),
}

var tailRule = []Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "scale and bias broadcast to x[axis:]"}}

func inferNorm(in []Desc, constraint string, want shape.Shape, names ...string) ([]Desc, error) {
	for i, name := range names {
		if err := sameShape(constraint, name, in[1+i].Shape, want); err != nil {
			return nil, err
		}
	}
	return one(in[0].DType, in[0].Shape), nil
}

func inferTailNorm(in []Desc, a Attrs) ([]Desc, error) {
	axis, err := axisIn("C1", a.Int("axis"), len(in[0].Shape))
	if err != nil {
		return nil, err
	}
	for _, d := range in[1:] {
		if err := shape.CanExpand(d.Shape, in[0].Shape[axis:]); err != nil {
			return nil, violation(ErrShape, "C2", "%v", err)
		}
	}
	return one(in[0].DType, in[0].Shape), nil
}

var statisticsRules = map[Code]Decomposition{
	Mean: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		w := wide(b, x[0])
		sum := b.Reduce(Sum, w, a.Bool("keep_dims"), a.Ints("axes")...)
		return b.Cast(b.Do(Div, sum, b.Like(w, count(x[0].Shape, a.Ints("axes")))), x[0].DType)
	}),
	Variance: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		w := wide(b, x[0])
		d := b.Do(Sub, w, b.Reduce(Mean, w, true, a.Ints("axes")...))
		sum := b.Reduce(Sum, b.Do(Mul, d, d), a.Bool("keep_dims"), a.Ints("axes")...)
		return b.Cast(b.Do(Div, sum, b.Like(w, count(x[0].Shape, a.Ints("axes"))-a.Float("correction"))), x[0].DType)
	}),
	LogSumExp: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		w := wide(b, x[0])
		axes := a.Ints("axes")
		m := b.Reduce(ReduceMax, w, true, axes...)
		m = b.Do(Where, b.Do(IsInf, m), b.Like(m, 0), m)
		sum := b.Reduce(Sum, b.Do(Exp, b.Do(Sub, w, m)), a.Bool("keep_dims"), axes...)
		return b.Cast(b.Do(Add, b.Do(Log, sum), b.Reshape(m, sum.Shape)), x[0].DType)
	}),
	BatchNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		rank := len(x[0].Shape)
		factor := b.Do(Div, x[1], b.Do(Sqrt, b.Do(Add, x[4], b.Like(x[4], a.Float("epsilon")))))
		y := b.Do(Mul, b.Do(Sub, x[0], channel(b, x[3], rank)), channel(b, factor, rank))
		return b.Do(Add, y, channel(b, x[2], rank))
	}),
	LayerNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		y := standardise(b, wide(b, x[0]), tail(a.Int("axis"), len(x[0].Shape)), a.Float("epsilon"))
		y = b.Cast(y, x[0].DType)
		for i, c := range []Code{Mul, Add}[:len(x)-1] {
			y = b.Do(c, y, x[1+i])
		}
		return y
	}),
	RMSNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		w := wide(b, x[0])
		ms := b.Reduce(Mean, b.Do(Mul, w, w), true, tail(a.Int("axis"), len(w.Shape))...)
		y := b.Cast(b.Do(Div, w, b.Do(Sqrt, b.Do(Add, ms, b.Like(w, a.Float("epsilon"))))), x[0].DType)
		if len(x) > 1 {
			y = b.Do(Mul, y, x[1])
		}
		return y
	}),
	GroupNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s, g := x[0].Shape, a.Int("groups")
		inner := s[1] / g * shape.Shape(s[2:]).Size()
		y := standardise(b, wide(b, b.Reshape(x[0], shape.Of(s[0], g, inner))), []int{2}, a.Float("epsilon"))
		y = b.Reshape(b.Cast(y, x[0].DType), s)
		return b.Do(Add, b.Do(Mul, y, channel(b, x[1], len(s))), channel(b, x[2], len(s)))
	}),
}

// count returns the number of elements of shape s that a reduction over axes reduces to one.
func count(s shape.Shape, axes []int) float64 {
	n := 1.0
	for _, a := range axes {
		n *= float64(s[a])
	}
	return n
}

// channel reshapes x [C] to [C, 1, ...], which broadcasts along axis 1 of a tensor of the given rank.
func channel(b *Builder, x Desc, rank int) Desc {
	s := make(shape.Shape, rank-1)
	for i := range s {
		s[i] = 1
	}
	if len(x.Shape) == 1 { // after an error, x may be a zero Desc
		s[0] = x.Shape[0]
	}
	return b.Reshape(x, s)
}

func tail(axis, rank int) []int {
	var axes []int
	for i := axis; i < rank; i++ {
		axes = append(axes, i)
	}
	return axes
}

func standardise(b *Builder, x Desc, axes []int, eps float64) Desc {
	d := b.Do(Sub, x, b.Reduce(Mean, x, true, axes...))
	v := b.Reduce(Mean, b.Do(Mul, d, d), true, axes...)
	return b.Do(Div, d, b.Do(Sqrt, b.Do(Add, v, b.Like(x, eps))))
}
