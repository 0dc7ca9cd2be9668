package conformance

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// pools returns pooling variants with each set of attributes in more, in the order of the names in order.
func pools(more map[string][]op.Attr, order ...string) []variant {
	var vs []variant
	for _, name := range order {
		add := func(shape string, s []int, attrs []op.Attr) {
			vs = append(vs, v(name+shape, shapes(s), append(attrs, more[name]...)...))
		}
		add("2d", l(1, 2, 6, 5), pool(l(3, 2), l(2, 1), l(1, 0), l(1, 1), l(0, 0), l(1, 1)))
		add("overhang", l(2, 6), pool(l(3), l(2), l(0), l(0), l(1), l(1)))
		add("dilated", l(2, 7, 6), pool(l(2, 3), l(1, 1), l(2, 1), l(0, 1), l(0, 1), l(3, 2)))
		add("padding-alone", l(2, 3), pool(l(2), l(1), l(3), l(2), l(0), l(1)))
		add("3d", l(2, 3, 4, 3), pool(l(2, 2, 2), l(1, 2, 1), l(0, 0, 1), l(1, 0, 0), l(0, 0, 0), l(1, 1, 1)))
		add("too-small", l(2, 2), pool(l(3), l(1), l(0), l(0), l(0), l(1)))
		add("empty", l(0, 4), pool(l(2), l(1), l(0), l(0), l(0), l(1)))
	}
	return vs
}

func adaptive(indices bool) []variant {
	var vs []variant
	for _, x := range []struct {
		name string
		s    []int
		size []int
	}{{"even", l(2, 6, 4), l(3, 2)}, {"uneven", l(2, 7, 5), l(3, 2)}, {"one", l(3, 5), l(1)}, {"more", l(2, 3), l(5)}, {"3d", l(1, 2, 3, 5, 4), l(2, 3, 3)},
		{"whole", l(2, 5), l(5)}, {"empty", l(0, 5), l(3)}} {
		vs = append(vs, v(x.name, shapes(x.s), op.Ints("size", x.size...)))
		if indices {
			vs = append(vs, v(x.name+"-indices", shapes(x.s), op.Ints("size", x.size...), op.Flag("indices", true)))
		}
	}
	return vs
}

// interpolations returns variants with every mode and coordinate rule, enlarging and reducing, and with each option.
func interpolations() []variant {
	var vs []variant
	for _, mode := range []string{"nearest", "linear", "cubic", "lanczos"} {
		for _, to := range []string{"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"} {
			vs = append(vs, v(mode+"-"+to, shapes(dims(2, 5, 4)), op.Ints("size", 3, 9), op.Str("mode", mode), op.Str("coordinates", to)))
		}
		m := op.Str("mode", mode)
		vs = append(vs, v(mode+"-1d", shapes(dims(3, 7)), op.Ints("size", 4), m), v(mode+"-3d", shapes(dims(1, 3, 2, 4)), op.Ints("size", 4, 3, 2), m),
			v(mode+"-scales", shapes(dims(2, 5, 4)), op.Ints("size", 7, 9), op.Floats("scales", 1.4, 2.3), m),
			v(mode+"-shrink-scales", shapes(dims(2, 9, 7)), op.Ints("size", 5, 2), op.Floats("scales", 0.6, 0.35), m),
			v(mode+"-one", shapes(dims(2, 5)), op.Ints("size", 1), op.Str("coordinates", "align_corners"), m), v(mode+"-of-one", shapes(dims(2, 1)), op.Ints("size", 4), m),
			v(mode+"-none", shapes(dims(2, 5)), op.Ints("size", 0), m), v(mode+"-empty", shapes(dims(0, 5)), op.Ints("size", 3), m))
		if mode == "nearest" {
			for _, r := range []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"} {
				vs = append(vs, v(r+"-up", shapes(dims(2, 4)), op.Ints("size", 8), op.Str("rounding", r)), v(r+"-down", shapes(dims(2, 9)), op.Ints("size", 4), op.Str("rounding", r)),
					v(r+"-aligned", shapes(dims(2, 5)), op.Ints("size", 9), op.Str("coordinates", "align_corners"), op.Str("rounding", r)))
			}
			continue
		}
		vs = append(vs, v(mode+"-antialias", shapes(dims(2, 9, 8)), op.Ints("size", 4, 3), op.Flag("antialias", true), m),
			v(mode+"-antialias-outside", shapes(dims(2, 9, 4)), op.Ints("size", 4, 7), op.Flag("antialias", true), op.Flag("exclude_outside", true), m),
			v(mode+"-outside", shapes(dims(2, 4, 5)), op.Ints("size", 7, 3), op.Flag("exclude_outside", true), m))
	}
	return append(vs, v("cubic-parameter", shapes(dims(2, 5)), op.Ints("size", 8), op.Str("mode", "cubic"), op.Float("cubic_a", -0.5)),
		v("lanczos-parameter", shapes(dims(2, 6)), op.Ints("size", 9), op.Str("mode", "lanczos"), op.Int("lanczos_a", 2)))
}

func samplings() []variant {
	var vs []variant
	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for _, align := range []bool{false, true} {
				name := fmt.Sprintf("%s-%s", mode, padding)
				if align {
					name += "-aligned"
				}
				attrs := set(op.Str("mode", mode), op.Str("padding", padding), op.Flag("align_corners", align))
				vs = append(vs, v(name, shapes(dims(2, 3, 5, 4), dims(2, 3, 4, 2)), attrs...))
				if mode != "cubic" {
					vs = append(vs, v(name+"-3d", shapes(dims(1, 2, 3, 4, 2), dims(1, 2, 3, 2, 3)), attrs...))
				}
			}
		}
	}
	return append(vs, v("1d", shapes(dims(2, 2, 6), dims(2, 5, 1))), v("cubic-parameter", shapes(dims(1, 2, 5, 4), dims(1, 2, 3, 2)), op.Str("mode", "cubic"), op.Float("cubic_a", -0.5)),
		v("one", shapes(dims(1, 1, 1, 1), dims(1, 2, 2, 2)), op.Str("padding", "reflection"), op.Flag("align_corners", true)), v("no-points", shapes(dims(2, 3, 4, 4), dims(2, 0, 3, 2))),
		v("no-batch", shapes(dims(0, 3, 4, 4), dims(0, 2, 3, 2))))
}

func regions() []variant {
	var vs []variant
	in := shapes(dims(2, 3, 6, 5), dims(4), dims(4, 4))
	for _, reduce := range []string{"mean", "max"} {
		for _, half := range []bool{true, false} {
			attrs := set(op.Ints("size", 3, 2), op.Int("samples", 2), op.Str("reduce", reduce), op.Flag("half_pixel", half))
			name := reduce
			if !half {
				name += "-whole-pixel"
			}
			vs = append(vs, v(name, in, attrs...), v(name+"-scaled", in, append(attrs, op.Float("scale", 1.7))...))
		}
	}
	return append(vs, v("one-point", in, op.Ints("size", 1, 4), op.Int("samples", 1)), v("none", shapes(dims(2, 3, 4, 4), dims(0), dims(0, 4)), op.Ints("size", 2, 2), op.Int("samples", 3)))
}

// deformation returns the attributes of a deformable convolution.
func deformation(strides, lo, hi, dilation []int, groups, offsets int) []op.Attr {
	return set(op.Ints("strides", strides...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...), op.Ints("dilation", dilation...), op.Int("groups", groups), op.Int("offset_groups", offsets))
}

// unfolding returns the attributes of im2col.
func unfolding(window, strides, lo, hi, dilation []int) []op.Attr {
	return sliding(window, strides, lo, hi, dilation)
}

func foldings(fold bool) []variant {
	var vs []variant
	for _, x := range []struct {
		name    string
		x       []int
		columns []int
		attrs   []op.Attr
	}{{"2d", l(2, 3, 5, 4), l(2, 12, 12), unfolding(l(2, 2), l(1, 1), l(0, 0), l(0, 0), l(1, 1))}, {"padded", l(1, 2, 4, 5), l(1, 12, 9), unfolding(l(3, 2), l(2, 1), l(1, 0), l(2, 0), l(1, 2))},
		{"1d", l(2, 2, 7), l(2, 6, 3), unfolding(l(3), l(2), l(0), l(0), l(1))}, {"3d", l(1, 2, 3, 3, 4), l(1, 16, 12), unfolding(l(2, 2, 2), l(1, 1, 1), l(0, 0, 0), l(0, 0, 0), l(1, 1, 1))},
		{"too-small", l(2, 3, 2), l(2, 9, 0), unfolding(l(3), l(1), l(0), l(0), l(1))}, {"apart", l(2, 2, 9), l(2, 4, 3), unfolding(l(2), l(4), l(1), l(0), l(1))},
		{"empty", l(0, 3, 4), l(0, 6, 3), unfolding(l(2), l(1), l(0), l(0), l(1))}} {
		if fold {
			vs = append(vs, v(x.name, shapes(x.columns), append(x.attrs, op.Ints("size", x.x[2:]...))...))
		} else {
			vs = append(vs, v(x.name, shapes(x.x), x.attrs...))
		}
	}
	return vs
}

func blocks(deep bool) []variant {
	var vs []variant
	for _, mode := range []string{"dcr", "crd"} {
		for _, x := range []struct {
			name       string
			deep, wide []int
			block      []int
		}{{"2d", l(2, 12, 3, 2), l(2, 2, 6, 6), l(2, 3)}, {"1d", l(2, 6, 4), l(2, 3, 8), l(2)}, {"3d", l(1, 12, 2, 1, 3), l(1, 1, 4, 3, 6), l(2, 3, 2)}, {"empty", l(0, 4, 3, 3), l(0, 1, 6, 6), l(2, 2)}} {
			in := x.wide
			if deep {
				in = x.deep
			}
			vs = append(vs, v(mode+"-"+x.name, shapes(in), op.Ints("block", x.block...), op.Str("mode", mode)))
		}
	}
	return vs
}

// transposed returns the attributes of a transposed convolution.
func transposed(strides, lo, hi, extra, dilation []int, groups int) []op.Attr {
	return set(op.Ints("strides", strides...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...), op.Ints("output_padding", extra...), op.Ints("dilation", dilation...), op.Int("groups", groups))
}

func unpooling(x variant, size ...int) variant {
	x.attrs = set(op.Ints("size", size...))
	return x.domain(1, op.Domain{Hi: float64(shape.Shape(size).Size() - 1)})
}

var spatialPlans = map[op.Code]plan{
	op.MaxPool: {special: extreme, variants: pools(map[string][]op.Attr{"indices-": set(op.Flag("indices", true))}, "", "indices-")},
	op.LpPool: {special: noSpecial, variants: pools(map[string][]op.Attr{"1-": set(op.Float("p", 1)), "3-": set(op.Float("p", 3)), "half-": set(op.Float("p", 0.5))},
		"", "1-", "3-", "half-")},
	op.AdaptiveAvgPool: {special: ordinary, variants: adaptive(false)}, op.AdaptiveMaxPool: {special: extreme, variants: adaptive(true)},
	op.MaxUnpool: {variants: []variant{unpooling(v("2d", shapes(dims(2, 2, 3), dims(2, 2, 3))), 4, 5), unpooling(v("1d", shapes(dims(3, 4), dims(3, 4))), 9),
		unpooling(v("all", shapes(dims(2, 3), dims(2, 3))), 3, 4), unpooling(v("collisions", shapes(dims(2, 9), dims(2, 9))), 2), unpooling(v("empty", shapes(dims(0, 3), dims(0, 3))), 5)}},
	op.Interpolate: {variants: interpolations()},
	op.AffineGrid: {variants: []variant{v("2d", shapes(dims(2, 2, 3)), op.Ints("size", 4, 5)), v("2d-aligned", shapes(dims(2, 2, 3)), op.Ints("size", 4, 5), op.Flag("align_corners", true)),
		v("3d", shapes(dims(2, 3, 4)), op.Ints("size", 2, 3, 4)), v("3d-aligned", shapes(dims(1, 3, 4)), op.Ints("size", 2, 1, 3), op.Flag("align_corners", true)),
		v("1d", shapes(dims(3, 1, 2)), op.Ints("size", 5)), v("none", shapes(dims(2, 2, 3)), op.Ints("size", 0, 3)), v("empty", shapes(dims(0, 2, 3)), op.Ints("size", 2, 2))}},
	op.GridSample: {variants: samplings()}, op.RoiAlign: {variants: regions()},
	op.DeformConv: {variants: []variant{
		v("plain", shapes(dims(1, 2, 5, 4), dims(3, 2, 2, 3), dims(1, 12, 4, 2)), deformation(l(1, 1), l(0, 0), l(0, 0), l(1, 1), 1, 1)...),
		v("mask", shapes(dims(2, 2, 4, 4), dims(2, 2, 2, 2), dims(2, 8, 3, 3), dims(2, 4, 3, 3)), deformation(l(1, 1), l(0, 0), l(0, 0), l(1, 1), 1, 1)...),
		v("groups", shapes(dims(1, 4, 5, 5), dims(2, 2, 2, 2), dims(1, 16, 3, 4), dims(1, 8, 3, 4)), deformation(l(2, 1), l(1, 0), l(0, 1), l(1, 2), 2, 2)...),
		v("offset-groups", shapes(dims(1, 6, 4, 4), dims(4, 3, 1, 2), dims(1, 12, 4, 5)), deformation(l(1, 1), l(0, 1), l(0, 1), l(1, 1), 2, 3)...),
		v("empty", shapes(dims(0, 2, 3, 3), dims(2, 2, 2, 2), dims(0, 8, 2, 2)), deformation(l(1, 1), l(0, 0), l(0, 0), l(1, 1), 1, 1)...),
	}},
	op.Im2Col: {special: extreme, variants: foldings(false)}, op.Col2Im: {variants: foldings(true)},
	op.DepthToSpace: {special: extreme, variants: blocks(true)}, op.SpaceToDepth: {special: extreme, variants: blocks(false)},
	op.ChannelShuffle: {special: extreme, variants: []variant{v("image", shapes(dims(2, 6, 3, 2)), op.Int("groups", 3)), v("matrix", shapes(dims(3, 8)), op.Int("groups", 2)),
		v("one", shapes(dims(2, 4, 3)), op.Int("groups", 1)), v("empty", shapes(dims(0, 4, 3)), op.Int("groups", 2))}},
	op.ConvTranspose: {variants: []variant{
		v("1d", shapes(dims(2, 3, 4), dims(3, 2, 3)), transposed(l(2), l(0), l(0), l(0), l(1), 1)...),
		v("2d", shapes(dims(1, 2, 3, 4), dims(2, 3, 3, 2)), transposed(l(2, 1), l(1, 0), l(0, 1), l(1, 0), l(1, 2), 1)...),
		v("groups", shapes(dims(1, 4, 3, 3), dims(4, 2, 2, 2)), transposed(l(1, 3), l(0, 0), l(0, 0), l(0, 2), l(1, 1), 2)...),
		v("depthwise", shapes(dims(2, 3, 4), dims(3, 1, 4)), transposed(l(3), l(2), l(1), l(1), l(1), 3)...), v("uncut", shapes(dims(1, 2, 3), dims(2, 2, 2)), transposed(l(1), l(-1), l(-2), l(0), l(1), 1)...),
		v("cut-away", shapes(dims(1, 2, 3), dims(2, 2, 2)), transposed(l(1), l(3), l(0), l(0), l(1), 1)...), v("3d", shapes(dims(1, 2, 2, 3, 2), dims(2, 2, 2, 1, 2)), transposed(l(2, 1, 1), l(0, 0, 1), l(1, 0, 0), l(0, 0, 0), l(1, 1, 1), 1)...),
		v("no-batch", shapes(dims(0, 2, 3), dims(2, 2, 2)), transposed(l(1), l(0), l(0), l(0), l(1), 1)...), v("no-channels", shapes(dims(1, 0, 3), dims(0, 2, 2)), transposed(l(1), l(0), l(0), l(0), l(1), 1)...),
		v("wide", shapes(dims(1, 5, 7, 6), dims(5, 4, 4, 4)), transposed(l(2, 2), l(1, 1), l(1, 1), l(0, 0), l(1, 1), 1)...).only(dtype.F32, dtype.F64),
	}},
}

func init() { register(spatialPlans) }
