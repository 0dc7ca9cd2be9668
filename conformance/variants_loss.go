package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// eachReduction repeats variants with every reduction of the losses.
func eachReduction(vs ...variant) []variant {
	var out []variant
	for _, r := range []string{"mean", "sum", "none"} {
		for _, x := range vs {
			x.name, x.attrs = r+"-"+x.name, append(set(op.Str("reduction", r)), x.attrs...)
			out = append(out, x)
		}
	}
	return out
}

// compared returns the plan of an elementwise loss. Each set of attributes adds a variant.
func compared(attrs ...[]op.Attr) plan {
	p := plan{variants: eachReduction(v("matrix", shapes(dims(3, 5), dims(3, 5))), v("rank0", shapes(dims(), dims())), v("empty", shapes(dims(0, 3), dims(0, 3))))}
	p.variants = append(p.variants, v("long", shapes(dims(4, 301), dims(4, 301))).only(dtype.F32, dtype.F64))
	for i, a := range attrs {
		p.variants = append(p.variants, v("attrs"+string(rune('1'+i)), shapes(dims(3, 5), dims(3, 5)), append(a, op.Str("reduction", "none"))...))
	}
	return p
}

func classes(n int) op.Domain { return op.Domain{Lo: -0.5, Hi: float64(n - 1)} }

func classified(attrs ...[]op.Attr) plan {
	vs := eachReduction(v("matrix", shapes(dims(6, 4), dims(6))).domain(1, classes(4)), v("weighted", shapes(dims(2, 3, 5), dims(2, 5), dims(3))).domain(1, classes(3)).domain(2, positive),
		v("ignored", shapes(dims(9, 4), dims(9), dims(4)), op.Int("ignore_index", 1)).domain(1, classes(4)).domain(2, positive))
	vs = append(vs, v("empty", shapes(dims(0, 4), dims(0))), v("all-ignored", shapes(dims(3, 4), dims(3)), op.Int("ignore_index", 2)).domain(1, op.Domain{Lo: 2, Hi: 2}))
	for i, a := range attrs {
		for _, x := range eachReduction(v("attrs"+string(rune('1'+i)), shapes(dims(7, 4), dims(7), dims(4)), append(a, op.Int("ignore_index", 1))...).domain(1, classes(4)).domain(2, positive)) {
			vs = append(vs, x)
		}
	}
	return plan{variants: vs}
}

func vectors(n int, y bool, attrs ...[]op.Attr) plan {
	in := func(s shape.Shape) []shape.Shape {
		var l []shape.Shape
		for range n {
			l = append(l, s)
		}
		if y {
			l = append(l, s[:len(s)-1])
		}
		return l
	}
	p := plan{variants: eachReduction(v("matrix", in(dims(3, 5))), v("vector", in(dims(4))), v("empty", in(dims(0, 3))))}
	for i, a := range attrs {
		p.variants = append(p.variants, v("attrs"+string(rune('1'+i)), in(dims(2, 3, 4)), append(a, op.Str("reduction", "none"))...))
	}
	return p
}

func alignment(name string, t, b, c, s int, attrs ...op.Attr) variant {
	x := v(name, shapes(dims(t, b, c), dims(b, s), dims(b), dims(b)), attrs...)
	return x.domain(0, op.Domain{Lo: -3, Hi: -0.1}).domain(1, op.Domain{Lo: 1, Hi: float64(c - 1)}).domain(2, op.Domain{Lo: float64(t) / 2, Hi: float64(t)}).domain(3, op.Domain{Lo: -0.5, Hi: float64(s)})
}

func margins(m float64) []op.Attr { return set(op.Float("margin", m)) }

var lossPlans = map[op.Code]plan{
	op.NLLLoss: classified(), op.CrossEntropyLoss: classified(set(op.Float("label_smoothing", 0.3))),
	op.MSELoss: compared(), op.L1Loss: compared(), op.HuberLoss: compared(set(op.Float("delta", 0.3))), op.SmoothL1Loss: compared(set(op.Float("beta", 0.3))), op.BCELoss: compared(),
	op.BCEWithLogitsLoss: {variants: append(compared().variants, v("weighted", shapes(dims(3, 5), dims(3, 5), dims(5))).domain(2, positive))},
	op.KLDivLoss:         compared(set(op.Flag("log_target", true))),
	op.PoissonNLLLoss:    compared(set(op.Flag("full", true)), set(op.Flag("log_input", false), op.Float("epsilon", 0.01))),
	op.HingeLoss:         compared(margins(0.3)), op.HingeEmbeddingLoss: compared(margins(0.3)),
	op.MarginRankingLoss:   {variants: append(eachReduction(v("matrix", shapes(dims(3, 5), dims(3, 5), dims(3, 5))), v("rank0", shapes(dims(), dims(), dims()))), v("margin", shapes(dims(7), dims(7), dims(7)), op.Float("margin", 0.3)))},
	op.CosineEmbeddingLoss: vectors(2, true, margins(0.2)),
	op.TripletMarginLoss:   vectors(3, false, set(op.Flag("swap", true)), set(op.Float("p", 1)), set(op.Float("p", 3), op.Float("epsilon", 0.01), op.Float("margin", 0.5))),
	op.CTCLoss: {variants: append(eachReduction(alignment("some", 6, 3, 4, 2), alignment("tight", 4, 4, 3, 2)), alignment("blank", 5, 2, 4, 2, op.Int("blank", 0)), alignment("zero-infinity", 3, 6, 3, 3, op.Flag("zero_infinity", true)),
		alignment("no-labels", 4, 2, 3, 0), alignment("no-steps", 0, 2, 3, 1), alignment("no-batch", 3, 0, 3, 1), alignment("long", 24, 2, 5, 8))},
}

func init() { register(lossPlans) }
