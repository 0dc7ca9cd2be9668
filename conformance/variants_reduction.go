package conformance

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func nan() float64 { return math.NaN() }

// reduced returns the plan of a reduction over axes.
func reduced(special specialness, more ...variant) plan {
	return plan{special: special, variants: append([]variant{
		v("last", shapes(dims(3, 5)), op.Ints("axes", 1)), v("first", shapes(dims(3, 5)), op.Ints("axes", 0)), v("all", shapes(dims(2, 3, 4)), op.Ints("axes", 0, 1, 2)),
		v("outer", shapes(dims(2, 3, 4)), op.Ints("axes", 0, 2)), v("keep", shapes(dims(2, 3, 4)), op.Ints("axes", 1), op.Flag("keep_dims", true)),
		v("order", shapes(dims(2, 3, 4)), op.Ints("axes", 2, 0), op.Flag("keep_dims", true)), v("no-axes", shapes(dims(2, 3)), op.Ints("axes")),
		v("rank0", shapes(dims()), op.Ints("axes")), v("of-none", shapes(dims(3, 0)), op.Ints("axes", 1)), v("of-none-kept", shapes(dims(0, 2)), op.Ints("axes", 0), op.Flag("keep_dims", true)),
		v("empty", shapes(dims(0, 3)), op.Ints("axes", 1)), v("single", shapes(dims(4, 1)), op.Ints("axes", 1)),
		v("long", shapes(dims(3, 257)), op.Ints("axes", 1)).only(dtype.F32, dtype.F64, dtype.I32),
		v("tall", shapes(dims(131, 3)), op.Ints("axes", 0)).only(dtype.F32, dtype.F64, dtype.I32),
	}, more...)}
}

// tied is a domain with few distinct values, so that a line has equal elements.
var tied = op.Domain{Lo: 1, Hi: 3.4}

// axial returns the plan of an op along one axis.
func axial(special specialness, attrs ...[]op.Attr) plan {
	p := plan{special: special, variants: []variant{
		v("last", shapes(dims(3, 5)), op.Int("axis", 1)), v("first", shapes(dims(4, 3)), op.Int("axis", 0)), v("middle", shapes(dims(2, 5, 3)), op.Int("axis", 1)),
		v("odd", shapes(dims(7)), op.Int("axis", 0)), v("single", shapes(dims(3, 1)), op.Int("axis", 1)), v("empty", shapes(dims(0, 3)), op.Int("axis", 1)),
		v("long", shapes(dims(2, 101)), op.Int("axis", 1)).only(dtype.F32, dtype.I32),
	}}
	for i, a := range attrs {
		p.variants = append(p.variants, v("attrs"+string(rune('1'+i)), shapes(dims(3, 4, 2)), append(a, op.Int("axis", 1))...))
	}
	return p
}

// ties adds variants with equal elements.
func (p plan) ties(attrs ...op.Attr) plan {
	p.variants = append(p.variants, v("ties", shapes(dims(4, 17)), append(attrs, op.Int("axis", 1))...).domain(0, tied).within(dtype.Ints),
		v("equal", shapes(dims(3, 6)), append(attrs, op.Int("axis", 1))...).domain(0, op.Domain{Lo: 2, Hi: 2}))
	return p
}

func scanned(special specialness) plan {
	exclusive, reverse := op.Flag("exclusive", true), op.Flag("reverse", true)
	p := axial(special, set(exclusive), set(reverse), set(exclusive, reverse))
	p.variants = append(p.variants, v("of-none", shapes(dims(3, 0)), op.Int("axis", 1)))
	return p
}

// Products have no denormals among their special values, because the order of the factors would matter. Partial products may be computed in
// f32, where 2^-149 times 0.4 is 0. Its product with infinity is then NaN, while another order has the result infinity.
var reductionPlans = map[op.Code]plan{
	op.Sum: reduced(ordinary), op.Prod: reduced(tame), op.ReduceMax: reduced(extreme), op.ReduceMin: reduced(extreme),
	op.ArgMax: axial(extreme, set(op.Flag("keep_dims", true))).ties(), op.ArgMin: axial(extreme, set(op.Flag("keep_dims", true))).ties(),
	op.CumSum: scanned(ordinary), op.CumProd: scanned(tame), op.CumMax: scanned(extreme), op.CumMin: scanned(extreme),
	op.Sort: axial(extreme, set(op.Flag("descending", true))).ties().ties(op.Flag("descending", true)).named(),

	op.Mean: reduced(ordinary), op.LogSumExp: reduced(ordinary),
	op.Variance: reduced(ordinary, v("unbiased", shapes(dims(3, 5)), op.Ints("axes", 1), op.Float("correction", 1)),
		v("correction-all", shapes(dims(3, 1)), op.Ints("axes", 1), op.Float("correction", 1))),
	op.Softmax: axial(ordinary), op.LogSoftmax: axial(ordinary),
}

// named returns the plan with distinct names of variants: it numbers repetitions.
func (p plan) named() plan {
	seen := map[string]int{}
	for i := range p.variants {
		x := &p.variants[i]
		if seen[x.name]++; seen[x.name] > 1 {
			x.name += string(rune('0' + seen[x.name]))
		}
	}
	return p
}
