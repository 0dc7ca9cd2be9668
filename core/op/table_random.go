package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

// Distributions over random_bits. "Word i" is element i of random_bits with the same seed and counter, "the fraction of a
// word" its upper 24 bits over 2^24.

var (
	seedAttr    = required("seed", KindInt, "64-bit key of random_bits")
	counterAttr = defaults(Int("counter", 0), "first block of random_bits, 64 bits")
)

// distribution returns the row of an op that creates a random tensor of a float type. third is the text of constraint C3, which check checks.
func distribution(c Code, name, doc string, tol Tolerance, params []AttrSpec, third string, check func(a Attrs) error) entry {
	attrs := []AttrSpec{seedAttr, counterAttr, required("shape", KindInts, "shape of the result"),
		defaults(Type("dtype", dtype.F32), "element type, a float")}
	return entry{c, Row{Name: name, Class: Composite, Section: "random", Doc: doc, Results: result, Tolerance: tol, Attrs: append(attrs, params...),
		Constraints: []Constraint{{"C1", "shape is a legal shape, and so are two words for each element"}, {"C2", "dtype is a float type"}, {"C3", third}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferFloatCreation(in, a)
			if err != nil {
				return nil, err
			}
			if _, err := legal("C1", []int{outs[0].Shape.Size(), 2}); err != nil {
				return nil, err
			}
			return outs, check(a)
		}}}
}

// inferFloatCreation is inferCreation (C1) for float types (C2).
func inferFloatCreation(in []Desc, a Attrs) ([]Desc, error) {
	outs, err := inferCreation(in, a)
	if err == nil && !dtype.Floats.Has(outs[0].DType) {
		err = violation(ErrDType, "C2", "dtype is %v, want one of %v", outs[0].DType, dtype.Set(dtype.Floats))
	}
	return outs, err
}

func finite(constraint string, a Attrs, names ...string) error {
	for _, n := range names {
		if f := a.Float(n); math.IsNaN(f) || math.IsInf(f, 0) {
			return violation(ErrAttr, constraint, "%s is %v, want a finite number", n, f)
		}
	}
	return nil
}

var randomRows = []entry{
	distribution(RandomUniform, "random_uniform", "low + u·(high-low), where u of element i is the fraction of word i; in f64 u is "+
		"(a·2^26+b)/2^53 of the upper 27 bits a of word 2i and the upper 26 bits b of word 2i+1. Narrow floats round the f32 number.", perTerm(8),
		[]AttrSpec{defaults(Float("low", 0), "least number"), defaults(Float("high", 1), "upper bound, reached only by rounding")},
		"low and high are finite, low at most high", func(a Attrs) error {
			if err := finite("C3", a, "low", "high"); err != nil {
				return err
			}
			if a.Float("low") > a.Float("high") {
				return violation(ErrAttr, "C3", "low is %v, want at most high, %v", a.Float("low"), a.Float("high"))
			}
			return nil
		}),
	distribution(RandomNormal, "random_normal", "mean + std·sqrt(-2·log(u))·cos(2π·v) (Box-Muller): of element i, u is the fraction of word 2i plus "+
		"2^-24 and v the fraction of word 2i+1; in f64 u is (word 2i + 1)/2^32 and v word 2i+1 over 2^32, both unsigned. Narrow floats round the f32 number.", perTerm(32),
		[]AttrSpec{defaults(Float("mean", 0), "mean"), defaults(Float("std", 1), "standard deviation")},
		"mean and std are finite, std not negative", func(a Attrs) error {
			if err := finite("C3", a, "mean", "std"); err != nil {
				return err
			}
			if a.Float("std") < 0 {
				return violation(ErrAttr, "C3", "std is %v", a.Float("std"))
			}
			return nil
		}),
	{Bernoulli, Row{Name: "bernoulli", Class: Composite, Section: "random", Operands: []Operand{in("p", dtype.Floats)}, Results: result, Tolerance: exact,
		Doc:    "1 where the fraction of word i is below element i of p, else 0: 1 with probability p.",
		Attrs:  []AttrSpec{seedAttr, counterAttr, defaults(Type("dtype", dtype.F32), "element type of the result")},
		Domain: []Domain{{Lo: 0, Hi: 1}},
		Infer:  func(in []Desc, a Attrs) ([]Desc, error) { return one(a.DType("dtype"), in[0].Shape), nil }}},
	{Multinomial, Row{Name: "multinomial", Class: Composite, Section: "random", Operands: []Operand{in("weights", dtype.Floats)}, Results: []string{"indices"}, Tolerance: exact,
		Doc: "For each line of weights[..., k], count draws (i64) with replacement: draw i of all in row-major order is the number of running sums " +
			"of its line that are at most u·total, but no more than k-1, where u is the fraction of word i. Running sums and product are in " +
			"the type of the weights, in f32 for narrow floats. Weights are not negative and need not sum to 1.",
		Attrs:       []AttrSpec{required("count", KindInt, "draws per line"), seedAttr, counterAttr},
		Constraints: []Constraint{{"C1", "weights has rank 1 or more and its last dimension is not empty"}, {"C2", "count is not negative"}},
		Domain:      []Domain{{Lo: 1, Hi: 9, Whole: true}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape.Clone()
			if len(s) == 0 || s[len(s)-1] == 0 {
				return nil, violation(ErrShape, "C1", "weights is %v", s)
			}
			if s[len(s)-1] = a.Int("count"); a.Int("count") < 0 {
				return nil, violation(ErrAttr, "C2", "count is %d", a.Int("count"))
			}
			return one(dtype.I64, s), nil
		}}},
	{RandomBitsAt, Row{Name: "random_bits_at", Class: Composite, Section: "random", Traits: Cheap | Stores, Operands: []Operand{in("state", dtype.SetOf(dtype.I64))},
		Results: result, Tolerance: exact,
		Doc: "random_bits by the key seed + state[0] and the counter + state[1], each modulo 2^64: the numbers of a program that is run again " +
			"need not be those of its first run.",
		Attrs:       []AttrSpec{seedAttr, counterAttr, required("shape", KindInts, "shape of the result"), defaults(Type("dtype", dtype.I32), "i32 or u32: the same 32 bits")},
		Constraints: []Constraint{{"C1", "shape is a legal shape, and so are its elements rounded up to whole blocks of 4"}, {"C2", "dtype is i32 or u32"}, {"C3", "state has two elements and rank 1"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferRandomBits(nil, a)
			if err == nil {
				_, err = legal("C1", []int{(outs[0].Shape.Size() + 3) / 4, 4})
			}
			if s := in[0].Shape; err == nil && (len(s) != 1 || s[0] != 2) {
				err = violation(ErrShape, "C3", "state is %v, want [2]", s)
			}
			return outs, err
		}}},
}
