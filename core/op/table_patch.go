package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func patch(r Row) Row {
	r.Class, r.Section, r.Results = Composite, "patch", result
	return r
}

var patchAttrs = []AttrSpec{required("window", KindInts, "size per spatial dimension"), required("strides", KindInts, "per spatial dimension"),
	required("pad_lo", KindInts, "zeros before, per spatial dimension"), required("pad_hi", KindInts, "zeros after, per spatial dimension"),
	required("dilation", KindInts, "per spatial dimension")}

var patchEntries = "one entry per spatial dimension; window, strides and dilation at least 1, paddings not negative"

var (
	blocks    = required("block", KindInts, "block length per spatial dimension")
	blockMode = choice("mode", "dcr", "whether the place in the block is the slower part of the channel (dcr) or the faster (crd)", "dcr", "crd")
)

var patchRows = []entry{
	{Im2Col, patch(Row{Name: "im2col", Tolerance: exact, Operands: []Operand{in("x", dtype.Any)},
		Doc: "The windows that slide over the spatial dimensions of x[N, C, spatial...], padded with zeros, as columns: result [N, C·W, L], W being the " +
			"elements of a window and L the windows, both in row-major order. Also called unfold.",
		Attrs:       patchAttrs,
		Constraints: []Constraint{{"C1", "x has 1 to 3 spatial dimensions"}, {"C2", patchEntries}, {"C3", "all windows are a legal shape"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			x := in[0].Shape
			if len(x) < 3 || len(x) > 5 {
				return nil, violation(ErrShape, "C1", "x is %v, want [N,C] and 1 to 3 spatial dimensions", x)
			}
			taps, windows, err := patches("C2", "C3", max(1, x[0]), max(1, x[1]), x[2:], a)
			if err != nil {
				return nil, err
			}
			return one(in[0].DType, shape.Of(x[0], x[1]*taps, windows.Size())), nil
		}})},
	{Col2Im, patch(Row{Name: "col2im", Tolerance: perTerm(1), Operands: []Operand{in("x", dtype.Numbers)},
		Doc:   "Columns x[N, C·W, L], in the layout of im2col for [N, C, size...], added up at their original elements: result [N, C, size...]. Also called fold.",
		Attrs: append([]AttrSpec{required("size", KindInts, "spatial dimensions of the result")}, patchAttrs...),
		Constraints: []Constraint{{"C1", "size has 1 to 3 entries and is a legal shape"}, {"C2", patchEntries}, {"C3", "all windows are a legal shape, and so is the padded size"},
			{"C4", "x is [N, C·W, L] with the W and L that size has"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			x, size := in[0].Shape, a.Ints("size")
			if len(size) < 1 || len(size) > 3 {
				return nil, violation(ErrShape, "C1", "size %v, want 1 to 3 entries", size)
			}
			if _, err := legal("C1", size); err != nil {
				return nil, err
			}
			if len(x) != 3 {
				return nil, violation(ErrShape, "C4", "x is %v, want rank 3", x)
			}
			taps, windows, err := patches("C2", "C3", max(1, x[0]), 1, size, a)
			if err != nil {
				return nil, err
			}
			if x[1]%taps != 0 || x[2] != windows.Size() {
				return nil, violation(ErrShape, "C4", "x is %v, want [N,C·%d,%d]", x, taps, windows.Size())
			}
			padded := shape.Of(max(1, x[0]), max(1, x[1]/taps))
			for i, n := range size {
				padded = append(padded, max(1, n+a.Ints("pad_lo")[i]+a.Ints("pad_hi")[i]))
			}
			if _, err := legal("C3", padded); err != nil {
				return nil, err
			}
			return one(in[0].DType, append(shape.Of(x[0], x[1]/taps), size...)), nil
		}})},
	{DepthToSpace, patch(Row{Name: "depth_to_space", Tolerance: exact, Operands: []Operand{in("x", dtype.Any)},
		Doc: "Channels spread over blocks: x[N, C·B, spatial...], B being the elements of a block, becomes [N, C, spatial·block...]; the row-major place in the " +
			"block comes before C in the channel (dcr) or after it (crd, also called pixel_shuffle).",
		Attrs:       []AttrSpec{blocks, blockMode},
		Constraints: []Constraint{{"C1", "block has 1 to 3 entries, at least 1, and x two dimensions more"}, {"C2", "the elements of a block divide the channels of x"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			x, size, err := blocked(in[0].Shape, a)
			if err != nil {
				return nil, err
			}
			if x[1]%size != 0 {
				return nil, violation(ErrShape, "C2", "%d channels for blocks of %d, want a multiple", x[1], size)
			}
			x[1] /= size
			for i, k := range a.Ints("block") {
				if k > limit || x[2+i] > limit/k {
					return nil, violation(ErrShape, "C1", "%d blocks of %d", x[2+i], k)
				}
				x[2+i] *= k
			}
			return one(in[0].DType, x), nil
		}})},
	{SpaceToDepth, patch(Row{Name: "space_to_depth", Tolerance: exact, Operands: []Operand{in("x", dtype.Any)},
		Doc:   "The inverse of depth_to_space of the same mode: x[N, C, spatial...] becomes [N, C·B, spatial/block...]. With crd also called pixel_unshuffle.",
		Attrs: []AttrSpec{blocks, blockMode}, Constraints: []Constraint{{"C1", "block has 1 to 3 entries, at least 1, and x two dimensions more"},
			{"C2", "block divides the spatial dimensions of x"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			x, size, err := blocked(in[0].Shape, a)
			if err != nil {
				return nil, err
			}
			for i, k := range a.Ints("block") {
				if x[2+i]%k != 0 {
					return nil, violation(ErrShape, "C2", "spatial dimension %d is %d, want a multiple of %d", i, x[2+i], k)
				}
				x[2+i] /= k
			}
			if x[1] > limit/size {
				return nil, violation(ErrShape, "C1", "%d channels of %d", x[1], size)
			}
			x[1] *= size
			return one(in[0].DType, x), nil
		}})},
	{ChannelShuffle, patch(Row{Name: "channel_shuffle", Tolerance: exact, Operands: []Operand{in("x", dtype.Any)},
		Doc:         "The channels of x[N, C, ...], seen as [groups, C/groups], transposed: channel k·groups+g of the result is channel g·(C/groups)+k of x.",
		Attrs:       []AttrSpec{required("groups", KindInt, "groups of channels")},
		Constraints: []Constraint{{"C1", "x has rank 2 or more"}, {"C2", "groups is at least 1 and divides the channels of x"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s, g := in[0].Shape, a.Int("groups")
			if len(s) < 2 {
				return nil, violation(ErrShape, "C1", "x is %v, want rank 2 or more", s)
			}
			if g < 1 || s[1]%g != 0 {
				return nil, violation(ErrShape, "C2", "%d groups of %d channels, want 1 or more that divide the channels", g, s[1])
			}
			return one(in[0].DType, s), nil
		}})},
	{ConvTranspose, Row{Name: "conv_transpose", Class: Composite, Section: "layer", Results: result, Tolerance: perTerm(1),
		Operands: []Operand{in("x", dtype.Numbers), same("w", 1)},
		Doc: "The transpose of a convolution: each element of x[N, C, spatial...] adds w[C, O/groups, kernel...] times itself to the result at strides times its place. A " +
			"spatial dimension of the result is (n-1)·stride + (k-1)·dilation + 1 - pad_lo - pad_hi + output_padding; paddings cut off, output_padding adds at the end.",
		Attrs: []AttrSpec{required("strides", KindInts, "per spatial dimension"), required("pad_lo", KindInts, "cut off before, may be negative"),
			required("pad_hi", KindInts, "cut off after, may be negative"), required("output_padding", KindInts, "added after, not negative"),
			required("dilation", KindInts, "of the kernel, per spatial dimension"), defaults(Int("groups", 1), "channel groups")},
		Constraints: []Constraint{{"C1", "x and w have the same rank, 3 or more"}, {"C2", "one entry per spatial dimension; strides and dilation at least 1"},
			{"C3", "w[0] is C, and groups divides it"}, {"C4", "no spatial dimension of x or w is empty, and none of the result negative; neither end has more than 2^40 of padding and kernel"}},
		Infer: inferConvTranspose}},
}

// patches checks the attributes of windows over spatial dimensions, by the constraints entries and fits. It returns the number of elements of
// a window and the number of windows along each dimension.
func patches(entries, fits string, n, c int, spatial shape.Shape, a Attrs) (taps int, windows shape.Shape, err error) {
	for _, l := range []struct {
		name  string
		least int
	}{{"window", 1}, {"strides", 1}, {"dilation", 1}, {"pad_lo", 0}, {"pad_hi", 0}} {
		if err := perSpatial(entries, a, l.name, len(spatial), l.least); err != nil {
			return 0, nil, err
		}
	}
	all := shape.Of(n, c)
	for i, d := range spatial {
		o, _ := windowed(d, a.Ints("window")[i], a.Ints("strides")[i], a.Ints("dilation")[i], a.Ints("pad_lo")[i], a.Ints("pad_hi")[i])
		windows = append(windows, o)
		all = append(all, a.Ints("window")[i], max(1, o, d+a.Ints("pad_lo")[i]+a.Ints("pad_hi")[i]))
	}
	if _, err := legal(fits, all); err != nil {
		return 0, nil, err
	}
	return shape.Shape(a.Ints("window")).Size(), windows, nil
}

// blocked checks the attribute block for an operand of shape s. It returns a copy of s and the number of elements of a block. Whether block
// divides s is not checked.
func blocked(s shape.Shape, a Attrs) (shape.Shape, int, error) {
	block := a.Ints("block")
	if n := len(block); n < 1 || n > 3 || len(s) != 2+n {
		return nil, 0, violation(ErrShape, "C1", "block %v for x %v, want 1 to 3 entries, and x of two dimensions more", block, s)
	}
	for _, k := range block {
		if k < 1 {
			return nil, 0, violation(ErrShape, "C1", "block %v, want entries of at least 1", block)
		}
	}
	if _, err := legal("C1", block); err != nil {
		return nil, 0, err
	}
	return slices.Clone(s), shape.Shape(block).Size(), nil
}

func inferConvTranspose(in []Desc, a Attrs) ([]Desc, error) {
	x, w := in[0].Shape, in[1].Shape
	if len(x) < 3 || len(x) != len(w) {
		return nil, violation(ErrShape, "C1", "ranks %d and %d, want the same, 3 or more", len(x), len(w))
	}
	n := len(x) - 2
	for _, l := range []struct {
		name  string
		least int
	}{{"strides", 1}, {"dilation", 1}, {"output_padding", 0}, {"pad_lo", -1 << 40}, {"pad_hi", -1 << 40}} {
		if err := perSpatial("C2", a, l.name, n, l.least); err != nil {
			return nil, err
		}
	}
	g := a.Int("groups")
	if g < 1 || w[0] != x[1] || x[1]%g != 0 {
		return nil, violation(ErrShape, "C3", "%d groups for x %v and w %v", g, x, w)
	}
	if w[1] > limit/g {
		return nil, violation(ErrShape, "C3", "%d groups of %d channels", g, w[1])
	}
	out := shape.Of(x[0], w[1]*g)
	for i := range n {
		d, k, stride, dilation := x[2+i], w[2+i], a.Ints("strides")[i], a.Ints("dilation")[i]
		if d < 1 || k < 1 || d > limit/stride || k > limit/dilation {
			return nil, violation(ErrShape, "C4", "spatial dimension %d: %d elements %d apart, kernel %d, dilation %d", i, d, stride, k, dilation)
		}
		o := (d-1)*stride + (k-1)*dilation + 1 - a.Ints("pad_lo")[i] - a.Ints("pad_hi")[i] + a.Ints("output_padding")[i]
		if o < 0 {
			return nil, violation(ErrShape, "C4", "spatial dimension %d of the result is %d", i, o)
		}
		const far = 1 << 40
		lo, hi := (k-1)*dilation-a.Ints("pad_lo")[i], (k-1)*dilation-a.Ints("pad_hi")[i]+a.Ints("output_padding")[i]
		if lo < -far || lo > far || hi < -far || hi > far {
			return nil, violation(ErrShape, "C4", "spatial dimension %d begins %d and ends %d beyond the kernel", i, lo, hi)
		}
		out = append(out, o)
	}
	return one(in[0].DType, out), nil
}
