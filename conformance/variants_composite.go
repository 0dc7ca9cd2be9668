package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var (
	positive = op.Domain{Lo: 0.1, Hi: 2}
	modest   = op.Domain{Lo: -100, Hi: 100}
	codes    = op.Domain{Lo: -3000, Hi: 3000}
)

// batchNorm returns a variant whose variance is positive.
func batchNorm(name string, x ...int) variant {
	c := dims(x[1])
	return v(name, shapes(x, c, c, c, c)).domain(4, positive)
}

var compositePlans = map[op.Code]plan{
	op.BatchNorm: {special: ordinary, variants: []variant{
		batchNorm("image", 2, 3, 4, 5), batchNorm("matrix", 4, 3), batchNorm("empty", 0, 3, 2), batchNorm("series", 2, 5, 7),
		{name: "epsilon", in: batchNorm("", 2, 3).in, attrs: set(op.Float("epsilon", 0.1)), domains: batchNorm("", 2, 3).domains},
	}},
	op.LayerNorm: {special: ordinary, variants: []variant{
		v("affine", shapes(dims(3, 5), dims(5), dims(5)), op.Int("axis", 1)), v("scale", shapes(dims(3, 5), dims(5)), op.Int("axis", 1)), v("plain", shapes(dims(3, 5)), op.Int("axis", 1)),
		v("tail", shapes(dims(2, 3, 4), dims(3, 4), dims(4)), op.Int("axis", 1), op.Float("epsilon", 0.01)), v("all", shapes(dims(3, 4), dims(), dims(3, 1)), op.Int("axis", 0)),
		v("empty", shapes(dims(0, 4), dims(4)), op.Int("axis", 1)), v("single", shapes(dims(3, 1)), op.Int("axis", 1)),
	}},
	op.RMSNorm: {special: ordinary, variants: []variant{
		v("scale", shapes(dims(3, 5), dims(5)), op.Int("axis", 1)), v("plain", shapes(dims(3, 5)), op.Int("axis", 1)),
		v("tail", shapes(dims(2, 3, 4), dims(3, 1)), op.Int("axis", 1), op.Float("epsilon", 0.01)), v("empty", shapes(dims(0, 4)), op.Int("axis", 1)),
	}},
	op.GroupNorm: {special: ordinary, variants: []variant{
		v("groups", shapes(dims(2, 6, 5), dims(6), dims(6)), op.Int("groups", 2)), v("one-group", shapes(dims(2, 4, 3, 2), dims(4), dims(4)), op.Int("groups", 1)),
		v("instance", shapes(dims(2, 3, 7), dims(3), dims(3)), op.Int("groups", 3), op.Float("epsilon", 0.01)), v("empty", shapes(dims(0, 4, 3), dims(4), dims(4)), op.Int("groups", 2)),
	}},
	op.LSTM: {variants: recurrences(4)},
	op.GRU:  {variants: append(recurrences(3), resetAfter(recurrences(3))...)},

	op.Quantize: {variants: quantized()},
	op.Dequantize: {variants: []variant{
		v("one", shapes(dims(3, 5), dims(), dims())).domain(0, codes).domain(2, codes), v("axis", shapes(dims(2, 3, 4), dims(3), dims(3)), op.Int("axis", 1)).domain(0, codes).domain(2, codes),
		v("rank0", shapes(dims(), dims(), dims())).domain(0, codes).domain(2, codes), v("empty", shapes(dims(0, 3), dims(3), dims(3)), op.Int("axis", 1)),
	}},
}

func quantized() []variant {
	x := op.Domain{Lo: -60, Hi: 60}
	var vs []variant
	for _, q := range []variant{v("one", shapes(dims(3, 5), dims(), dims())), v("axis", shapes(dims(2, 3, 4), dims(3), dims(3)), op.Int("axis", 1)),
		v("rank0", shapes(dims(), dims(), dims())), v("empty", shapes(dims(0, 3), dims(3), dims(3)), op.Int("axis", 1)),
		v("ties", shapes(dims(41), dims(), dims())).domain(1, op.Domain{Lo: 0.5, Hi: 0.5})} {
		vs = append(vs, q.domain(0, x).domain(2, modest))
	}
	return vs
}

// recurrences returns variants of a recurrent layer in every direction. gates is 4 for LSTM, 3 for GRU.
func recurrences(gates int) []variant {
	make := func(name, direction string, t, b, i, h int) variant {
		d := 1
		if direction == "bidirectional" {
			d = 2
		}
		state := dims(d, b, h)
		in := shapes(dims(t, b, i), dims(d, gates*h, i), dims(d, gates*h, h), dims(d, gates*h))
		if gates == 3 {
			in = append(in, dims(d, gates*h), state)
		} else {
			in = append(in, state, state)
		}
		return v(name, in, op.Str("direction", direction))
	}
	return []variant{make("forward", "forward", 3, 2, 4, 3), make("reverse", "reverse", 3, 2, 2, 2), make("bidirectional", "bidirectional", 4, 1, 3, 2),
		make("no-steps", "forward", 0, 2, 3, 2), make("no-batch", "forward", 2, 0, 3, 2)}
}

func resetAfter(vs []variant) []variant {
	for i := range vs {
		vs[i].name += "-reset-after"
		vs[i].attrs = append(vs[i].attrs, op.Flag("reset_after", true))
	}
	return vs
}

var modes = []string{"assign", "add", "mul", "min", "max"}

// eachMode repeats variants in every scatter mode.
func eachMode(vs ...variant) []variant {
	var out []variant
	for _, m := range modes {
		for _, x := range vs {
			x.name, x.attrs = m+"-"+x.name, append(set(op.Str("mode", m)), x.attrs...)
			if m != "assign" {
				x.types = dtype.Numbers
			}
			out = append(out, x)
		}
	}
	return out
}

var indexPlans = map[op.Code]plan{
	op.GatherElements: {special: extreme, variants: []variant{
		v("columns", shapes(dims(3, 5), dims(3, 4)), op.Int("axis", 1)), v("rows", shapes(dims(5, 3), dims(2, 3)), op.Int("axis", 0)), v("smaller", shapes(dims(4, 5, 3), dims(2, 7, 2)), op.Int("axis", 1)),
		v("none", shapes(dims(3, 2), dims(0, 2)), op.Int("axis", 0)),
	}},
	op.ScatterElements: {variants: eachMode(v("columns", shapes(dims(3, 5), dims(3, 4), dims(3, 4)), op.Int("axis", 1)), v("rows", shapes(dims(5, 3), dims(7, 3), dims(7, 3)), op.Int("axis", 0)),
		v("smaller", shapes(dims(4, 5, 3), dims(2, 6, 2), dims(2, 6, 2)), op.Int("axis", 1)), v("none", shapes(dims(3, 2), dims(0, 2), dims(0, 2)), op.Int("axis", 0)))},
	op.GatherND: {special: extreme, variants: []variant{
		v("elements", shapes(dims(3, 4), dims(5, 2))), v("slices", shapes(dims(3, 4), dims(2, 1))), v("batch", shapes(dims(2, 3, 4), dims(2, 5, 1)), op.Int("batch", 1)),
		v("batch-pairs", shapes(dims(2, 3, 4, 2), dims(2, 3, 2)), op.Int("batch", 1)), v("whole", shapes(dims(2, 3), dims(4, 0))), v("tuple", shapes(dims(2, 3), dims(2))),
		v("none", shapes(dims(3, 4), dims(0, 2))),
	}},
	op.ScatterND: {variants: eachMode(v("elements", shapes(dims(3, 4), dims(5, 2), dims(5))), v("slices", shapes(dims(4, 3), dims(3, 1), dims(3, 3))),
		v("tuple", shapes(dims(2, 3), dims(2), dims())), v("whole", shapes(dims(2, 3), dims(2, 0), dims(2, 2, 3))), v("none", shapes(dims(3, 4), dims(0, 2), dims(0))))},
	op.OneHot: {typed: func(_ dtype.DType, types dtype.Set) []variant {
		var vs []variant
		for _, to := range types.List() {
			vs = append(vs, v("to-"+to.String(), shapes(dims(3, 2)), op.Int("depth", 4), op.Int("axis", 2), op.Type("dtype", to)))
		}
		first := op.Type("dtype", dtype.F32)
		return append(vs, v("front", shapes(dims(3, 2)), op.Int("depth", 5), op.Int("axis", 0), first), v("middle", shapes(dims(3, 2)), op.Int("depth", 3), op.Int("axis", 1), first),
			v("rank0", shapes(dims()), op.Int("depth", 5), op.Int("axis", 0), first), v("no-depth", shapes(dims(3)), op.Int("depth", 0), op.Int("axis", 1), first),
			v("outside", shapes(dims(30)), op.Int("depth", 3), op.Int("axis", 1), first).domain(0, op.Domain{Lo: -5, Hi: 5}))
	}},
	op.TopK: {special: extreme, variants: []variant{
		v("greatest", shapes(dims(3, 7)), op.Int("axis", 1), op.Int("k", 3)), v("least", shapes(dims(3, 7)), op.Int("axis", 1), op.Int("k", 3), op.Flag("largest", false)),
		v("all", shapes(dims(5, 2)), op.Int("axis", 0), op.Int("k", 5)), v("none", shapes(dims(3, 4)), op.Int("axis", 1), op.Int("k", 0)), v("empty", shapes(dims(3, 0)), op.Int("axis", 1), op.Int("k", 0)),
		v("ties", shapes(dims(4, 17)), op.Int("axis", 1), op.Int("k", 9)).domain(0, tied).within(dtype.Ints), v("equal", shapes(dims(2, 6)), op.Int("axis", 1), op.Int("k", 4)).domain(0, op.Domain{Lo: 2, Hi: 2}),
	}},
}
