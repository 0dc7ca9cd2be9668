package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// scarce is a domain with few distinct values, some of them zero.
var scarce = op.Domain{Lo: 0, Hi: 3}

func chosenFrom(name string, axis int, x ...int) variant {
	return v(name, shapes(x, dims(x[axis])), op.Int("axis", axis))
}

func uniques(attrs ...op.Attr) []variant {
	var vs []variant
	for _, x := range []variant{v("few", shapes(dims(17)), attrs...).domain(0, scarce).within(dtype.Ints), v("vector", shapes(dims(9)), attrs...), v("equal", shapes(dims(6)), attrs...).domain(0, op.Domain{Lo: 2, Hi: 2}),
		v("single", shapes(dims(1)), attrs...), v("empty", shapes(dims(0)), attrs...), v("long", shapes(dims(300)), attrs...).domain(0, op.Domain{Lo: 0, Hi: 40}).within(dtype.Ints)} {
		if len(attrs) > 0 {
			x.name += "-unsorted"
		}
		vs = append(vs, x)
	}
	return vs
}

func boxes(name string, n, most int, attrs ...op.Attr) variant {
	return v(name, shapes(dims(n, 4), dims(n)), append(set(op.Int("max_output", most)), attrs...)...).domain(0, op.Domain{Lo: 0, Hi: 4}).domain(1, op.Domain{Lo: 0, Hi: 1})
}

func heads(name string, attrs []op.Attr, mask []int, shape ...int) variant { // B, Hq, H, S, T, D, E
	b, hq, h, s, t, d, e := shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6]
	x := v(name, shapes(dims(b, hq, s, d), dims(b, h, t, d), dims(b, h, t, e)), attrs...)
	if mask != nil {
		x.in = append(x.in, mask)
	}
	return x
}

// backward turns a variant of attention into one of its gradient: it inserts two operands of the shape of the result after the values.
func backward(x variant) variant {
	q, v := x.in[0], x.in[2]
	y := dims(q[0], q[1], q[2], v[3])
	x.in = append(append(x.in[:3:3], y, y), x.in[3:]...)
	return x
}

func turning(name string, x, c []int, attrs ...op.Attr) variant {
	return v(name, shapes(x, c, c), attrs...)
}

// steppedRNN returns variants of a plain recurrent layer in every direction, with the default activation and with relu.
func steppedRNN() []variant {
	var vs []variant
	for _, x := range recurrences(4) {
		t, d, h := x.in[0], x.in[5][0], x.in[5][2]
		x.in = shapes(t, dims(d, h, t[2]), dims(d, h, h), dims(d, h), x.in[5])
		vs = append(vs, x)
		x.name, x.attrs = x.name+"-relu", append(x.attrs[:len(x.attrs):len(x.attrs)], op.Str("activation", "relu"))
		vs = append(vs, x)
	}
	return vs
}

var selectionPlans = map[op.Code]plan{
	op.NonZero: {special: extreme, variants: []variant{
		v("matrix", shapes(dims(3, 5))).domain(0, scarce), v("rank0", shapes(dims())), v("vector", shapes(dims(11))), v("rank4", shapes(dims(2, 3, 1, 2))), v("empty", shapes(dims(2, 0, 3))),
		v("ones", shapes(dims(4, 3))).domain(0, op.Domain{Lo: 1, Hi: 1}), v("large", shapes(dims(40, 30))).only(dtype.F32, dtype.Bool),
	}},
	op.Compress: {special: extreme, variants: []variant{
		chosenFrom("columns", 1, 3, 5), chosenFrom("rows", 0, 7, 2), chosenFrom("middle", 1, 2, 9, 3), chosenFrom("empty-axis", 0, 0, 3), chosenFrom("empty", 1, 0, 4),
	}},
	op.Unique: {special: extreme, variants: append(uniques(), uniques(op.Flag("sorted", false))...)},
	op.NMS: {variants: []variant{
		boxes("some", 12, 5), boxes("all", 9, 9, op.Float("iou_threshold", 0.2)), boxes("scores", 10, 10, op.Float("score_threshold", 0.5)), boxes("centre", 10, 6, op.Flag("center_point", true)),
		boxes("none-asked", 5, 0), boxes("no-boxes", 0, 0), boxes("no-scores", 5, 3, op.Float("score_threshold", 2)), boxes("single", 1, 1),
	}},
	op.Attention: {variants: []variant{
		heads("plain", nil, nil, 2, 2, 2, 3, 4, 5, 3), heads("causal", set(op.Flag("causal", true)), nil, 1, 2, 2, 4, 4, 3, 3), heads("past", set(op.Flag("causal", true), op.Int("past", 3)), nil, 1, 2, 2, 2, 5, 4, 4),
		heads("grouped", nil, nil, 2, 6, 2, 3, 3, 4, 2), heads("one-key-head", set(op.Flag("causal", true)), nil, 1, 4, 1, 3, 3, 2, 2), heads("mask", nil, dims(4, 5), 2, 2, 2, 4, 5, 3, 3),
		heads("mask-heads", set(op.Float("scale", 0.7)), dims(2, 3, 1, 5), 2, 3, 3, 4, 5, 3, 3), heads("mask-rank0", nil, dims(), 1, 2, 2, 3, 3, 3, 3), heads("softcap", set(op.Float("softcap", 0.5)), nil, 1, 2, 1, 3, 4, 8, 2),
		heads("window", set(op.Int("window", 2)), nil, 1, 1, 1, 5, 6, 3, 3), heads("causal-window", set(op.Int("window", 3), op.Flag("causal", true), op.Int("past", 2)), dims(1, 7), 1, 2, 2, 4, 7, 3, 3),
		heads("unseen", set(op.Flag("causal", true), op.Int("past", -2)), nil, 1, 2, 2, 4, 4, 3, 3), heads("no-keys", nil, nil, 1, 2, 2, 3, 0, 4, 2), heads("no-queries", nil, nil, 1, 2, 2, 0, 3, 4, 2),
		heads("no-width", nil, nil, 1, 1, 1, 2, 3, 0, 2), heads("no-batch", nil, nil, 0, 1, 1, 2, 3, 2, 2), heads("long", set(op.Flag("causal", true)), nil, 1, 2, 1, 33, 33, 16, 16).only(dtype.F32, dtype.F64),
	}},
	op.AttentionGradient: {variants: []variant{
		backward(heads("plain", nil, nil, 2, 2, 2, 3, 4, 5, 3)), backward(heads("causal", set(op.Flag("causal", true)), nil, 1, 2, 2, 4, 4, 3, 3)),
		backward(heads("grouped", nil, nil, 2, 6, 2, 3, 3, 4, 2)), backward(heads("past", set(op.Flag("causal", true), op.Int("past", 3)), nil, 1, 4, 1, 2, 5, 4, 4)),
		backward(heads("mask", set(op.Float("scale", 0.7)), dims(2, 3, 1, 5), 2, 3, 3, 4, 5, 3, 3)), backward(heads("mask-rank0", nil, dims(), 1, 2, 2, 3, 3, 3, 3)),
		backward(heads("softcap", set(op.Float("softcap", 0.5)), nil, 1, 2, 1, 3, 4, 8, 2)), backward(heads("window", set(op.Int("window", 2)), nil, 1, 1, 1, 5, 6, 3, 3)),
		backward(heads("causal-window", set(op.Int("window", 3), op.Flag("causal", true), op.Int("past", 2)), dims(1, 7), 1, 2, 2, 4, 7, 3, 3)),
		backward(heads("unseen", set(op.Flag("causal", true), op.Int("past", -2)), nil, 1, 2, 2, 4, 4, 3, 3)), backward(heads("no-keys", nil, nil, 1, 2, 2, 3, 0, 4, 2)),
		backward(heads("no-queries", nil, nil, 1, 2, 2, 0, 3, 4, 2)), backward(heads("no-width", nil, nil, 1, 1, 1, 2, 3, 0, 2)), backward(heads("no-values", nil, nil, 1, 1, 1, 2, 3, 2, 0)),
		backward(heads("no-batch", nil, nil, 0, 1, 1, 2, 3, 2, 2)), backward(heads("long", set(op.Flag("causal", true)), nil, 1, 2, 1, 33, 33, 16, 16)).only(dtype.F32, dtype.F64),
	}},
	op.CacheWrite: {variants: []variant{
		v("rows", shapes(dims(5, 3), dims(), dims(2, 3)), op.Int("axis", 0)).domain(1, op.Domain{Lo: 1, Hi: 3}), v("middle", shapes(dims(2, 6, 3), dims(), dims(2, 1, 3)), op.Int("axis", 1)).domain(1, op.Domain{Lo: 5, Hi: 5}),
		v("each", shapes(dims(3, 2, 6, 2), dims(3), dims(3, 2, 2, 2)), op.Int("axis", 2)).domain(1, op.Domain{Lo: 0.5, Hi: 4}), v("all", shapes(dims(4), dims(), dims(4)), op.Int("axis", 0)).domain(1, op.Domain{Lo: -0.5, Hi: 0.5}),
		v("none", shapes(dims(4, 2), dims(), dims(0, 2)), op.Int("axis", 0)), v("empty", shapes(dims(0, 3), dims(0), dims(0, 2)), op.Int("axis", 1)),
	}},
	op.RotaryEmbedding: {variants: []variant{
		turning("whole", dims(2, 3, 8), dims(3, 4)), turning("part", dims(2, 3, 7), dims(3, 2)), turning("interleaved", dims(2, 3, 8), dims(3, 4), op.Flag("interleaved", true)),
		turning("interleaved-part", dims(2, 2, 3, 9), dims(2, 1, 3, 2), op.Flag("interleaved", true)), turning("one-angle", dims(4, 6), dims(3)), turning("none", dims(3, 4), dims(0)), turning("empty", dims(0, 4), dims(2)),
	}},
	op.RNN: {variants: steppedRNN()},
	op.Embedding: {special: extreme, variants: []variant{
		v("matrix", shapes(dims(5, 3), dims(2, 4))), v("padding", shapes(dims(3, 4), dims(9)), op.Int("padding", 1)), v("rank0", shapes(dims(5, 2), dims())), v("none", shapes(dims(5, 3), dims(0))),
		v("no-width", shapes(dims(3, 0), dims(4))),
	}},
}

func init() { register(selectionPlans) }
