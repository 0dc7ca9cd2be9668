package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var neighbourRows = []entry{
	above(norm(LpNormalize, "lp_normalize", "x over its p-norm (Σ|x|^p)^(1/p) along axis, which counts as epsilon when it is less.", nil,
		[]AttrSpec{required("axis", KindInt, "axis of the norm"), defaults(Float("p", 2), "degree of the norm, may be Inf"), defaults(Float("epsilon", 1e-12), "least norm")},
		[]Constraint{{"C1", "axis is one of x"}}, inferAxis), "p"),
	norm(LocalResponseNorm, "local_response_norm", "x [N, C, ...] over (bias+alpha/size·s)^beta, with s the sum of x² over the channels from "+
		"c-(size-1) div 2 to c+size div 2 that exist.", nil,
		[]AttrSpec{required("size", KindInt, "number of channels"), defaults(Float("alpha", 1e-4), "weight of the sum"), defaults(Float("beta", 0.75), "exponent"),
			defaults(Float("bias", 1), "added to the sum")},
		[]Constraint{{"C1", "x has rank 2 or more"}, {"C2", "size is from 1 to 2^32"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			if len(in[0].Shape) < 2 {
				return nil, violation(ErrShape, "C1", "rank %d, want 2 or more", len(in[0].Shape))
			}
			if n := a.Int("size"); n < 1 || n > 1<<32 {
				return nil, violation(ErrAttr, "C2", "size is %d", n)
			}
			return inferSame(in, a)
		}),
	{Dropout, Row{Name: "dropout", Class: Composite, Section: "random", Results: []string{"y", "kept"}, Operands: []Operand{in("x", dtype.Floats)}, Tolerance: ulps(2),
		Doc: "x/(1-p) where an element is kept, else 0, and which are kept: those whose word of random_bits(seed, counter), in the shape of x and unsigned, " +
			"is p·2^32, rounded to even, or more.",
		Attrs:       []AttrSpec{defaults(Float("p", 0.5), "share that is dropped"), required("seed", KindInt, "64-bit key"), defaults(Int("counter", 0), "first block, 64 bits")},
		Constraints: []Constraint{{"C1", "p is in [0, 1]"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if p := a.Float("p"); !(p >= 0 && p <= 1) {
				return nil, violation(ErrAttr, "C1", "p is %v, want one in [0,1]", p)
			}
			return append(one(in[0].DType, in[0].Shape), Desc{DType: dtype.Bool, Shape: in[0].Shape}), nil
		}}},
}

var neighbourRules = map[Code]Decomposition{
	LpNormalize: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		n := b.Un(VectorNorm, x[0], Ints("axes", a.Int("axis")), Float("p", a.Float("p")), Flag("keep_dims", true))
		return b.Do(Div, x[0], b.Do(Max, n, b.Like(n, a.Float("epsilon"))))
	}),
	LocalResponseNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s, n := x[0].Shape, a.Int("size")
		if s.Size() == 0 {
			return x[0]
		}
		lo, hi := min((n-1)/2, s[1]), min(n/2, s[1])
		flat := b.Reshape(b.Do(Mul, x[0], x[0]), shape.Of(s[0], s[1], shape.Shape(s[2:]).Size()))
		sum := b.Un(WindowReduce, flat, Str("reduce", "sum"), Ints("window", lo+hi+1, 1), Ints("strides", 1, 1), Ints("pad_lo", lo, 0), Ints("pad_hi", hi, 0), Ints("dilation", 1, 1))
		base := shiftedBy(b, times(b, b.Reshape(sum, s), a.Float("alpha")/float64(n)), a.Float("bias"))
		return b.Do(Div, x[0], b.Do(Pow, base, b.Like(base, a.Float("beta"))))
	}),
	Dropout: func(b *Builder, x []Desc, a Attrs) []Desc {
		p := a.Float("p")
		var kept Desc
		if border := math.RoundToEven(p * (1 << 32)); border >= 1<<32 {
			kept = b.FullInt(dtype.Bool, 0, x[0].Shape)
		} else {
			// Words are signed here: after flipping the sign bit, they are in the order of unsigned words.
			bits := b.All(RandomBits, nil, Int("seed", a.Int("seed")), Int("counter", a.Int("counter")), Dims("shape", x[0].Shape))[0]
			bits = b.Do(Xor, bits, b.FullInt(dtype.I32, math.MinInt32, nil))
			kept = b.Do(GreaterEqual, bits, b.FullInt(dtype.I32, int64(border)-1<<31, nil))
		}
		w := wide(b, x[0])
		y := b.Do(Where, kept, times(b, w, 1/(1-p)), b.Like(w, 0))
		return []Desc{b.Cast(y, x[0].DType), kept}
	},
}
