package conformance

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// blockwise returns variants with one scale and zero point per block along an axis.
func blockwise(attrs ...op.Attr) []variant {
	three := func(name string, x, scale []int, more ...op.Attr) variant {
		return v(name, shapes(x, scale, scale), append(more, attrs...)...)
	}
	return []variant{three("blocks", l(3, 7), l(3, 3), op.Int("axis", 1), op.Int("block", 3)), three("blocks-front", l(6, 2, 3), l(3, 2, 3), op.Int("axis", 0), op.Int("block", 2)),
		three("block-of-one", l(2, 3), l(2, 3), op.Int("axis", 1), op.Int("block", 1)), three("one-block", l(2, 3), l(2, 1), op.Int("axis", 1), op.Int("block", 8)),
		three("no-blocks", l(2, 0), l(2, 0), op.Int("axis", 1), op.Int("block", 4))}
}

// narrowed returns ranges of fewer bits.
func narrowed() []variant {
	var vs []variant
	for _, x := range append(quantized()[:2:2], blockwise()[0]) {
		x.name, x.attrs = x.name+"-4-bits", append(set(op.Int("bits", 4)), x.attrs...)
		vs = append(vs, x)
	}
	return append(vs, v("two-bits", shapes(dims(9), dims(), dims()), op.Int("bits", 2)), v("eight-bits", shapes(dims(9), dims(), dims()), op.Int("bits", 8)))
}

// drawn returns vs with the domains x for the values and zero for the zero point.
func drawn(x, zero op.Domain, vs ...variant) []variant {
	out := make([]variant, len(vs))
	for i := range vs {
		out[i] = vs[i].domain(0, x).domain(2, zero)
	}
	return out
}

// integerConvs returns the geometries of integer convolutions, by name.
func integerConvs() map[string][]op.Attr {
	return map[string][]op.Attr{
		"1d": geometry(l(1), l(0), l(0), l(1), l(1), 1), "2d": geometry(l(2, 1), l(1, 0), l(0, 1), l(1, 2), l(1, 1), 1),
		"groups": geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 2), "spread": geometry(l(1), l(2), l(-1), l(1), l(2), 1),
	}
}

var integerConvShapes = map[string][]shape.Shape{"1d": shapes(dims(2, 3, 6), dims(4, 3, 3)), "2d": shapes(dims(1, 2, 5, 6), dims(3, 2, 2, 3)),
	"groups": shapes(dims(1, 4, 4, 4), dims(4, 2, 3, 3)), "spread": shapes(dims(1, 2, 5), dims(2, 2, 2))}

func convolutions(linear bool) []variant {
	var vs []variant
	for _, name := range []string{"1d", "2d", "groups", "spread"} {
		s, attrs := integerConvShapes[name], integerConvs()[name]
		x, w, o := s[0], s[1], shape.Of(s[1][0])
		if linear {
			vs = append(vs, v(name, shapes(x, dims(), dims(), w, dims(), dims(), dims(), dims()), attrs...), v(name+"-channels", shapes(x, dims(), dims(), w, o, o, dims(), dims()), attrs...),
				v(name+"-bias", shapes(x, dims(), dims(), w, o, dims(), dims(), dims(), o), attrs...).domain(8, op.Domain{Lo: -5000, Hi: 5000}))
			continue
		}
		vs = append(vs, v(name, s, attrs...), v(name+"-zero", shapes(x, w, dims()), attrs...), v(name+"-zeros", shapes(x, w, dims(), dims()), attrs...), v(name+"-channels", shapes(x, w, dims(), o), attrs...))
	}
	if linear {
		return append(vs, v("no-batch", shapes(dims(0, 2, 5), dims(), dims(), dims(3, 2, 3), dims(), dims(), dims(), dims()), geometry(l(1), l(0), l(0), l(1), l(1), 1)...))
	}
	return append(vs, v("no-batch", shapes(dims(0, 2, 5), dims(3, 2, 3)), geometry(l(1), l(0), l(0), l(1), l(1), 1)...))
}

var (
	wideSteps = op.Domain{Lo: 10, Hi: 100}
	signs     = op.Domain{Lo: -20, Hi: 20}
)

var quantizedPlans = map[op.Code]plan{
	op.Quantize:   {variants: append(append(quantized(), drawn(op.Domain{Lo: -60, Hi: 60}, modest, blockwise()...)...), drawn(op.Domain{Lo: -20, Hi: 20}, op.Domain{Lo: -3, Hi: 3}, narrowed()...)...)},
	op.Dequantize: {variants: append(compositePlans[op.Dequantize].variants, drawn(codes, codes, blockwise()...)...)},
	op.FakeQuantize: {variants: append(append(quantized(), drawn(op.Domain{Lo: -60, Hi: 60}, modest, blockwise()...)...),
		drawn(op.Domain{Lo: -20, Hi: 20}, op.Domain{Lo: -3, Hi: 3}, narrowed()...)...)},
	op.Requantize: {variants: append(drawn(codes, modest, append(quantized()[:4:4], blockwise()...)...), drawn(codes, op.Domain{Lo: -3, Hi: 3}, narrowed()...)...)},
	op.DynamicQuantize: {variants: []variant{v("matrix", shapes(dims(3, 5))), v("above", shapes(dims(9))).domain(0, op.Domain{Lo: 1, Hi: 20}), v("below", shapes(dims(9))).domain(0, op.Domain{Lo: -7, Hi: -1}),
		v("rank0", shapes(dims())), v("empty", shapes(dims(2, 0)))}},
	op.MatMulInteger: {variants: []variant{v("plain", shapes(dims(3, 5), dims(5, 4))), v("a-zero", shapes(dims(3, 5), dims(5, 4), dims())), v("zeros", shapes(dims(3, 5), dims(5, 4), dims(), dims())),
		v("rows-columns", shapes(dims(3, 5), dims(5, 4), dims(3, 1), dims(4))), v("batch", shapes(dims(2, 3, 4), dims(2, 4, 5), dims(2, 3, 1), dims(2, 1, 5))), v("broadcast", shapes(dims(2, 1, 3, 4), dims(3, 4, 2), dims(), dims(2))),
		v("deep", shapes(dims(3, 301), dims(301, 5), dims(), dims())), v("odd", shapes(dims(17, 33), dims(33, 19), dims(17, 1), dims(19))), v("no-terms", shapes(dims(3, 0), dims(0, 2))), v("empty", shapes(dims(0, 3), dims(3, 2)))}},
	op.ConvInteger: {variants: convolutions(false)},
	op.QLinearMatMul: {variants: []variant{v("one", shapes(dims(3, 5), dims(), dims(), dims(5, 4), dims(), dims(), dims(), dims())),
		v("rows-columns", shapes(dims(3, 5), dims(3, 1), dims(3, 1), dims(5, 4), dims(4), dims(4), dims(), dims())), v("all-rows", shapes(dims(3, 5), dims(3, 1), dims(3, 1), dims(5, 4), dims(4), dims(4), dims(3, 1), dims(3, 1))),
		v("batch", shapes(dims(2, 3, 4), dims(), dims(), dims(4, 5), dims(), dims(), dims(), dims())), v("empty", shapes(dims(0, 3), dims(), dims(), dims(3, 2), dims(), dims(), dims(), dims()))}},
	op.QLinearConv: {variants: convolutions(true)},
}

func init() { register(quantizedPlans) }
