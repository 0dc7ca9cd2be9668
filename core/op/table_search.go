package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// More statistics, ordered statistics and search.

var joinsRule = []Constraint{{"C1", "axes are distinct and in [0, rank)"}, {"C2", "at least one element is joined"}}

func inferJoined(in []Desc, a Attrs) ([]Desc, error) {
	axes, s := a.Ints("axes"), in[0].Shape
	if err := axesIn("C1", axes, len(s)); err != nil {
		return nil, err
	}
	if count(s, axes) == 0 {
		return nil, violation(ErrShape, "C2", "axes %v of %v join no elements", axes, s)
	}
	return one(in[0].DType, reduced(s, axes, a.Bool("keep_dims"))), nil
}

func inferQuantile(in []Desc, a Attrs) ([]Desc, error) {
	outs, err := inferJoined(in, a)
	if err != nil {
		return nil, err
	}
	for _, q := range a.Floats("q") {
		if !(q >= 0 && q <= 1) {
			return nil, violation(ErrAttr, "C3", "q has %v, want numbers in [0,1]", q)
		}
	}
	outs[0].Shape = append(shape.Of(len(a.Floats("q"))), outs[0].Shape...)
	return outs, nil
}

func inferCovariance(in []Desc, _ Attrs) ([]Desc, error) {
	s := in[0].Shape.Clone()
	n := len(s)
	if n < 2 {
		return nil, violation(ErrShape, "C1", "rank %d, want 2 or more", n)
	}
	s[n-1] = s[n-2]
	return one(in[0].DType, s), nil
}

// scanIndex returns the row of an op that computes the index of a running extreme.
func scanIndex(c Code, name, doc string) entry {
	return composite(entry{c, Row{Name: name, Doc: doc, Operands: []Operand{in("x", dtype.Numbers)}, Results: []string{"indices"},
		Attrs:       []AttrSpec{required("axis", KindInt, "axis to run along")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}}, Tolerance: exact,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if _, err := inferAxis(in, a); err != nil {
				return nil, err
			}
			return one(dtype.I64, in[0].Shape), nil
		}}}, "scan")
}

func logCumSumExp() entry {
	e := composite(scan(LogCumSumExp, "log_cumsum_exp", "Running logarithm of the sum of exp(x) along axis, without overflow; "+
		"-Inf where nothing is summed.", perTerm(8)), "scan")
	e.row.Operands = []Operand{in("x", dtype.Floats)}
	return e
}

var searchRows = []entry{
	statistic(Std, "std", "Square root of the variance over axes.", perTerm(8),
		defaults(Float("correction", 0), "subtracted from the count: 1 for the unbiased estimate")),
	{Median, Row{Name: "median", Class: Composite, Section: "statistics", Traits: Reduces, Operands: []Operand{in("x", dtype.Floats)}, Results: result,
		Doc: "The middle element over axes in the order of sort, of an even count the mean of the middle two; NaN if there is one.",
		Attrs: []AttrSpec{required("axes", KindInts, "axes to join; none joins nothing"),
			defaults(Flag("keep_dims", false), "keep joined axes with length 1")},
		Constraints: joinsRule, Tolerance: perTerm(1), Infer: inferJoined}},
	{Quantile, Row{Name: "quantile", Class: Composite, Section: "statistics", Operands: []Operand{in("x", dtype.Floats)}, Results: result,
		Doc: "For each q along a new first axis, the element at h = q·(n-1) of the n elements over axes in the order of sort. Between lo = " +
			"floor(h) and hi = ceil(h), linear gives x[lo]+(h-lo)·(x[hi]-x[lo]), midpoint their mean, nearest the one at h rounded half to even, " +
			"lower x[lo], higher x[hi]. NaN if there is one.",
		Attrs: []AttrSpec{required("q", KindFloats, "positions, 0 for the least element and 1 for the greatest"),
			required("axes", KindInts, "axes to join; none joins nothing"),
			defaults(Flag("keep_dims", false), "keep joined axes with length 1"),
			choice("interpolation", "linear", "what stands between two elements", "linear", "lower", "higher", "midpoint", "nearest")},
		Constraints: []Constraint{{"C1", "axes are distinct and each in [0, rank)"}, joinsRule[1], {"C3", "every q is in [0, 1]"}}, Tolerance: perTerm(2), Infer: inferQuantile}},
	{Covariance, Row{Name: "covariance", Class: Composite, Section: "statistics", Operands: []Operand{in("x", dtype.Floats)}, Results: result,
		Doc: "For x[..., variables, observations], the sum over observations of the products of two variables' distances from their means, " +
			"divided by count-correction: [..., variables, variables].",
		Attrs:       []AttrSpec{defaults(Float("correction", 1), "subtracted from the count: 1 for the unbiased estimate")},
		Constraints: []Constraint{{"C1", "x has rank 2 or more"}}, Tolerance: perTerm(8), Infer: inferCovariance}},
	{CorrCoef, Row{Name: "corrcoef", Class: Composite, Section: "statistics", Operands: []Operand{in("x", dtype.Floats)}, Results: result,
		Doc: "For x[..., variables, observations], the covariance of two variables over both their standard deviations, limited to " +
			"[-1, 1]: [..., variables, variables]. NaN for a variable that does not vary.",
		Constraints: []Constraint{{"C1", "x has rank 2 or more"}}, Tolerance: perTerm(16), Infer: inferCovariance}},
	{Histogram, Row{Name: "histogram", Class: Composite, Section: "statistics", Traits: Cheap, Operands: []Operand{in("x", dtype.Numbers), same("edges", 1)},
		Results: []string{"counts"}, Tolerance: exact,
		Doc: "How many elements of x (i64) lie in each bin: bin k holds edges[k] <= x < edges[k+1], the last bin x = edges[k+1] " +
			"too. Edges usually ascend; NaN lies in no bin.",
		Constraints: []Constraint{{"C1", "edges has rank 1 and two elements or more"}},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			if e := in[1].Shape; len(e) != 1 || e[0] < 2 {
				return nil, violation(ErrShape, "C1", "edges is %v, want one dimension of 2 or more", e)
			}
			return one(dtype.I64, shape.Of(in[1].Shape[0]-1)), nil
		}}},
	{SearchSorted, Row{Name: "searchsorted", Class: Composite, Section: "search", Operands: []Operand{in("sorted", dtype.Numbers), same("values", 1)},
		Results: []string{"indices"}, Tolerance: exact,
		Doc: "For each value how many elements (i64) of the line of sorted are before it in the order of sort, and with right how many are not " +
			"after it: the place to insert it. sorted[n] serves all values, sorted[..., n] those of the line at the same place.",
		Attrs: []AttrSpec{defaults(Flag("right", false), "insert after equal elements")},
		Constraints: []Constraint{{"C1", "sorted has rank 1 or more"},
			{"C2", "sorted has rank 1, or agrees with values in rank and in every dimension but the last"}},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			s, v := in[0].Shape, in[1].Shape
			if len(s) == 0 {
				return nil, violation(ErrShape, "C1", "sorted is a scalar")
			}
			if len(s) > 1 && (len(v) != len(s) || !s[:len(s)-1].Equal(v[:len(s)-1])) {
				return nil, violation(ErrShape, "C2", "sorted is %v and values %v", s, v)
			}
			return one(dtype.I64, v), nil
		}}},
	{ArgSort, Row{Name: "argsort", Class: Composite, Section: "sort", Operands: []Operand{in("x", dtype.Numbers)}, Results: []string{"indices"},
		Doc: "The second result of sort: the index (i64) that each element of the sorted x came from.",
		Attrs: []AttrSpec{required("axis", KindInt, "axis to sort along"),
			defaults(Flag("descending", false), "greatest first, equal elements still in their order")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}}, Tolerance: exact,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if _, err := inferAxis(in, a); err != nil {
				return nil, err
			}
			return one(dtype.I64, in[0].Shape), nil
		}}},
	logCumSumExp(),
	scanIndex(CumArgMax, "cumargmax", "Index (i64) of the running maximum along axis, the first of equals; from the first NaN on, its index."),
	scanIndex(CumArgMin, "cumargmin", "Index (i64) of the running minimum along axis, the first of equals; from the first NaN on, its index."),
	{VectorNorm, Row{Name: "vector_norm", Class: Composite, Section: "statistics", Traits: Reduces | Cheap, Operands: []Operand{in("x", dtype.Floats)}, Results: result,
		Doc: "The p-norm over axes: the sum of |x|^p to the power 1/p. For +Inf the greatest |x| (of none 0), for -Inf the least (of none +Inf), for 0 " +
			"how many elements are not 0.",
		Attrs: []AttrSpec{defaults(Float("p", 2), "the order"), required("axes", KindInts, "axes to join; none joins nothing"),
			defaults(Flag("keep_dims", false), "keep joined axes with length 1")},
		Constraints: append(axesRule[:1:1], Constraint{"C2", "p is not NaN"}), Tolerance: perTerm(16),
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferReduce(in, a)
			if err == nil && math.IsNaN(a.Float("p")) {
				err = violation(ErrAttr, "C2", "p is NaN")
			}
			return outs, err
		}}},
	{CosineSimilarity, Row{Name: "cosine_similarity", Class: Composite, Section: "statistics", Traits: Cheap, Operands: []Operand{in("a", dtype.Floats), same("b", 1)},
		Results: result, Doc: "The sum of a·b along axis of the broadcast operands over the greater of epsilon and the product of their 2-norms.",
		Attrs: []AttrSpec{required("axis", KindInt, "axis of the vectors, in the broadcast shape; it goes"),
			defaults(Float("epsilon", 1e-8), "least denominator")},
		Constraints: []Constraint{{"C1", "a and b broadcast together"}, {"C2", "axis is in [0, rank) of the broadcast shape"}}, Tolerance: perTerm(8),
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s, err := broadcast("C1", in...)
			if err != nil {
				return nil, err
			}
			if _, err := axisIn("C2", a.Int("axis"), len(s)); err != nil {
				return nil, err
			}
			return one(in[0].DType, reduced(s, []int{a.Int("axis")}, false)), nil
		}}},
}
