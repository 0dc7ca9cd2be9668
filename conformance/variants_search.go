package conformance

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// joined returns variants of a statistic over axes that needs at least one element.
func joined(attrs ...op.Attr) []variant {
	l := func(name string, x []int, axes ...int) variant {
		return v(name, shapes(dims(x...)), append(set(op.Ints("axes", axes...)), attrs...)...)
	}
	kept := l("keep", []int{2, 3, 4}, 2, 0)
	kept.attrs = append(kept.attrs, op.Flag("keep_dims", true))
	return []variant{l("last", []int{3, 5}, 1), l("even", []int{6, 3}, 0), l("all", []int{2, 3, 4}, 0, 1, 2), kept, l("no-axes", []int{2, 3}), l("rank0", nil),
		l("empty", []int{0, 3}, 1), l("single", []int{4, 1}, 1)}
}

func quantiles() []variant {
	var vs []variant
	for _, i := range []string{"linear", "lower", "higher", "midpoint", "nearest"} {
		for _, x := range joined(op.Floats("q", 0, 0.3, 0.5, 1, 0.75), op.Str("interpolation", i)) {
			if i == "linear" || x.name == "last" || x.name == "even" {
				x.name = i + "-" + x.name
				vs = append(vs, x)
			}
		}
	}
	return append(vs, v("none-asked", shapes(dims(3, 4)), op.Floats("q"), op.Ints("axes", 1)))
}

func norms() []variant {
	var vs []variant
	for _, p := range []struct {
		name string
		p    float64
	}{{"2", 2}, {"1", 1}, {"0", 0}, {"3", 3}, {"half", 0.5}, {"max", math.Inf(1)}, {"min", math.Inf(-1)}, {"minus1", -1}} {
		x := v("p-"+p.name, shapes(dims(3, 5)), op.Float("p", p.p), op.Ints("axes", 1))
		if p.p == -1 {
			x = x.domain(0, op.Domain{Lo: 0.5, Hi: 2})
		}
		vs = append(vs, x, v("kept-"+p.name, shapes(dims(2, 3, 4)), op.Float("p", p.p), op.Ints("axes", 0, 2), op.Flag("keep_dims", true)).domain(0, op.Domain{Lo: 0.5, Hi: 2}))
	}
	return append(vs, v("of-none", shapes(dims(3, 0)), op.Ints("axes", 1)), v("max-of-none", shapes(dims(3, 0)), op.Ints("axes", 1), op.Float("p", math.Inf(1))),
		v("min-of-none", shapes(dims(3, 0)), op.Ints("axes", 1), op.Float("p", math.Inf(-1))), v("rank0", shapes(dims()), op.Ints("axes")))
}

var searchPlans = map[op.Code]plan{
	op.Std: {special: ordinary, variants: append(joined(), v("unbiased", shapes(dims(3, 5)), op.Ints("axes", 1), op.Float("correction", 1)),
		v("of-none", shapes(dims(3, 0)), op.Ints("axes", 1)))},
	op.Median: {special: ordinary, variants: joined()}, op.Quantile: {variants: quantiles()},
	op.Covariance: {variants: []variant{v("matrix", shapes(dims(3, 7))), v("population", shapes(dims(2, 5)), op.Float("correction", 0)), v("batch", shapes(dims(2, 3, 4))),
		v("one-variable", shapes(dims(1, 6))), v("no-variables", shapes(dims(0, 4))), v("no-observations", shapes(dims(2, 0)))}},
	op.CorrCoef: {variants: []variant{v("matrix", shapes(dims(3, 7))), v("batch", shapes(dims(2, 3, 5))), v("no-variables", shapes(dims(0, 4)))}},
	op.Histogram: {special: extreme, variants: []variant{v("matrix", shapes(dims(5, 9), dims(4))), v("one-bin", shapes(dims(30), dims(2))), v("empty", shapes(dims(0, 3), dims(3))),
		v("rank0", shapes(dims(), dims(3))), v("ties", shapes(dims(40), dims(5))).domain(0, tied).domain(1, tied).within(dtype.Ints)}},
	op.SearchSorted: {special: extreme, variants: []variant{v("matrix", shapes(dims(6), dims(3, 5))), v("right", shapes(dims(6), dims(3, 5)), op.Flag("right", true)),
		v("batch", shapes(dims(2, 3, 7), dims(2, 3, 4))), v("rank0", shapes(dims(5), dims())), v("none", shapes(dims(0), dims(4))), v("empty", shapes(dims(2, 4), dims(2, 0))),
		v("ties", shapes(dims(9), dims(20))).domain(0, tied).domain(1, tied).within(dtype.Ints),
		v("ties-right", shapes(dims(9), dims(20)), op.Flag("right", true)).domain(0, tied).domain(1, tied).within(dtype.Ints)}},
	op.ArgSort:      axial(extreme, set(op.Flag("descending", true))).ties().ties(op.Flag("descending", true)).named(),
	op.LogCumSumExp: scanned(ordinary), op.CumArgMax: axial(extreme).ties(), op.CumArgMin: axial(extreme).ties(),
	op.VectorNorm: {variants: norms()},
	op.CosineSimilarity: {variants: []variant{v("matrix", shapes(dims(3, 5), dims(3, 5)), op.Int("axis", 1)), v("broadcast", shapes(dims(2, 1, 4), dims(3, 4)), op.Int("axis", 2)),
		v("stretched-axis", shapes(dims(3, 1), dims(3, 4)), op.Int("axis", 1)), v("front", shapes(dims(4, 2), dims(4, 2)), op.Int("axis", 0), op.Float("epsilon", 10)),
		v("of-none", shapes(dims(2, 0), dims(2, 0)), op.Int("axis", 1)), v("empty", shapes(dims(0, 3), dims(3)), op.Int("axis", 1))}},
}

func init() { register(searchPlans) }

// register adds plans to the suite. They replace earlier plans of the same ops.
func register(more map[op.Code]plan) {
	for c, p := range more {
		plans[c] = p
	}
}
