package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var (
	ta = op.Flag("transpose_a", true)
	tb = op.Flag("transpose_b", true)
)

// geometry returns the attributes of a convolution, in the order strides, pad_lo, pad_hi, kernel dilation, input dilation.
func geometry(strides, lo, hi, kernel, input []int, groups int) []op.Attr {
	return set(op.Ints("strides", strides...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...), op.Ints("kernel_dilation", kernel...),
		op.Ints("input_dilation", input...), op.Int("groups", groups))
}

// sliding returns the attributes of a window.
func sliding(window, strides, lo, hi, dilation []int, more ...op.Attr) []op.Attr {
	return append(more, op.Ints("window", window...), op.Ints("strides", strides...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...),
		op.Ints("dilation", dilation...))
}

func l(i ...int) []int { return i }

var contractionPlans = map[op.Code]plan{
	op.MatMul: {special: ordinary, variants: []variant{
		v("plain", shapes(dims(3, 5), dims(5, 4))), v("transpose-a", shapes(dims(5, 3), dims(5, 4)), ta), v("transpose-b", shapes(dims(3, 5), dims(4, 5)), tb),
		v("transpose-both", shapes(dims(5, 3), dims(4, 5)), ta, tb), v("batch", shapes(dims(2, 3, 4), dims(2, 4, 5))), v("broadcast-left", shapes(dims(3, 4), dims(2, 4, 5))),
		v("broadcast-both", shapes(dims(2, 1, 3, 4), dims(3, 4, 2))), v("row", shapes(dims(1, 7), dims(7, 5))), v("column", shapes(dims(5, 7), dims(7, 1))),
		v("dot", shapes(dims(1, 9), dims(9, 1))), v("outer", shapes(dims(4, 1), dims(1, 5))), v("no-terms", shapes(dims(3, 0), dims(0, 2))),
		v("empty", shapes(dims(0, 3), dims(3, 2))), v("empty-batch", shapes(dims(0, 2, 3), dims(3, 2))), v("empty-columns", shapes(dims(2, 3), dims(3, 0))),
		v("odd", shapes(dims(17, 33), dims(33, 19))).only(dtype.F32, dtype.I32), v("deep", shapes(dims(3, 301), dims(301, 5))).only(dtype.F32, dtype.F64),
		v("odd-transposed", shapes(dims(33, 17), dims(19, 33)), ta, tb).only(dtype.F32),
	}},
	op.Conv: {special: ordinary, variants: []variant{
		v("1d", shapes(dims(2, 3, 8), dims(4, 3, 3)), geometry(l(1), l(0), l(0), l(1), l(1), 1)...),
		v("pointwise", shapes(dims(2, 3, 4, 5), dims(4, 3, 1, 1)), geometry(l(1, 1), l(0, 0), l(0, 0), l(1, 1), l(1, 1), 1)...),
		v("same", shapes(dims(1, 2, 5, 6), dims(3, 2, 3, 3)), geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 1)...),
		v("strided", shapes(dims(1, 2, 9, 7), dims(3, 2, 3, 2)), geometry(l(2, 3), l(1, 0), l(0, 2), l(1, 1), l(1, 1), 1)...),
		v("dilated", shapes(dims(1, 2, 8, 7), dims(2, 2, 3, 2)), geometry(l(1, 1), l(2, 1), l(2, 0), l(2, 3), l(1, 1), 1)...),
		v("groups", shapes(dims(2, 4, 5, 5), dims(6, 2, 3, 3)), geometry(l(1, 2), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 2)...),
		v("depthwise", shapes(dims(1, 5, 6, 6), dims(5, 1, 3, 3)), geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 5)...),
		v("transposed", shapes(dims(1, 2, 3, 4), dims(3, 2, 3, 3)), geometry(l(1, 1), l(2, 1), l(2, 3), l(1, 1), l(2, 3), 1)...),
		v("cropped", shapes(dims(1, 2, 7, 7), dims(2, 2, 2, 2)), geometry(l(1, 1), l(-1, -2), l(0, -1), l(1, 1), l(1, 1), 1)...),
		v("cropped-dilated", shapes(dims(1, 2, 4), dims(2, 2, 3)), geometry(l(1), l(-2), l(-1), l(1), l(3), 1)...),
		v("3d", shapes(dims(1, 2, 4, 3, 5), dims(2, 2, 2, 2, 3)), geometry(l(1, 1, 2), l(0, 1, 1), l(1, 0, 1), l(1, 1, 1), l(1, 1, 1), 1)...),
		v("too-small", shapes(dims(1, 2, 2), dims(3, 2, 4)), geometry(l(1), l(0), l(0), l(1), l(1), 1)...),
		v("no-batch", shapes(dims(0, 2, 5), dims(3, 2, 3)), geometry(l(1), l(0), l(0), l(1), l(1), 1)...),
		v("no-channels", shapes(dims(1, 0, 5), dims(2, 0, 3)), geometry(l(1), l(0), l(0), l(1), l(1), 1)...),
		v("padding-alone", shapes(dims(1, 1, 0), dims(1, 1, 2)), geometry(l(1), l(2), l(1), l(1), l(1), 1)...),
		v("wide", shapes(dims(1, 9, 11, 13), dims(17, 9, 3, 3)), geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 1)...).only(dtype.F32),
	}},
	op.WindowReduce: windows(),
	op.AvgPool: {special: ordinary, variants: []variant{
		v("2d", shapes(dims(1, 2, 6, 5)), pool(l(3, 2), l(2, 1), l(1, 0), l(1, 1), l(0, 0), l(1, 1))...),
		v("count-pad", shapes(dims(1, 2, 6, 5)), append(pool(l(3, 2), l(2, 1), l(1, 0), l(1, 1), l(0, 0), l(1, 1)), op.Flag("count_pad", true))...),
		v("overhang", shapes(dims(1, 1, 6)), pool(l(3), l(2), l(0), l(0), l(1), l(1))...),
		v("overhang-count-pad", shapes(dims(1, 1, 6)), append(pool(l(3), l(2), l(1), l(0), l(2), l(1)), op.Flag("count_pad", true))...),
		v("dilated", shapes(dims(2, 7)), pool(l(3), l(1), l(1), l(1), l(0), l(2))...), v("global", shapes(dims(1, 3, 4, 4)), pool(l(4, 4), l(1, 1), l(0, 0), l(0, 0), l(0, 0), l(1, 1))...),
		v("empty", shapes(dims(0, 5)), pool(l(2), l(1), l(0), l(0), l(0), l(1))...),
	}},
	op.Linear: {special: ordinary, variants: []variant{
		v("plain", shapes(dims(3, 5), dims(5, 4))), v("bias", shapes(dims(3, 5), dims(5, 4), dims(4))), v("transposed", shapes(dims(2, 3, 5), dims(4, 5), dims(4)), op.Flag("transpose_w", true)),
		v("vector", shapes(dims(5), dims(5, 4), dims(4))), v("vector-transposed", shapes(dims(5), dims(4, 5)), op.Flag("transpose_w", true)),
		v("no-terms", shapes(dims(2, 0), dims(0, 3), dims(3))), v("empty", shapes(dims(0, 5), dims(5, 4))),
	}},
}

func pool(window, strides, lo, hi, overhang, dilation []int) []op.Attr {
	return sliding(window, strides, lo, hi, dilation, op.Ints("overhang", overhang...))
}

func windows() plan {
	p := plan{special: ordinary}
	for _, kind := range []struct {
		name  string
		attrs []op.Attr
	}{{"sum", set(op.Str("reduce", "sum"))}, {"max", set(op.Str("reduce", "max"))}, {"argmax", set(op.Str("reduce", "max"), op.Flag("indices", true))}} {
		add := func(name string, s []int, window, strides, lo, hi, dilation []int) {
			x := v(kind.name+"-"+name, shapes(s), sliding(window, strides, lo, hi, dilation, kind.attrs...)...)
			p.variants = append(p.variants, x)
		}
		add("2d", l(1, 2, 6, 5), l(3, 2), l(2, 1), l(1, 0), l(1, 1), l(1, 1))
		add("1d", l(3, 9), l(4), l(3), l(0), l(0), l(1))
		add("dilated", l(2, 7, 6), l(2, 3), l(1, 1), l(2, 1), l(0, 1), l(3, 2))
		add("cropped", l(2, 8), l(2), l(1), l(-2), l(-1), l(1))
		add("padding-alone", l(2, 3), l(2), l(1), l(3), l(2), l(1))
		add("all-dimensions", l(5), l(2), l(2), l(0), l(0), l(1))
		add("too-small", l(2, 2), l(3), l(1), l(0), l(0), l(1))
		add("empty", l(0, 4), l(2), l(1), l(0), l(0), l(1))
		add("of-none", l(2, 0), l(2), l(1), l(1), l(1), l(1))
	}
	return p
}
