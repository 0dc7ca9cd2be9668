package op_test

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func size(n ...int) op.Attr { return op.Ints("size", n...) }

// slide returns the attributes of Im2Col and Col2Im with windows of sizes w and padding pad on both sides.
func slide(pad int, w []int, more ...op.Attr) []op.Attr { return window(pad, w, more...) }

// upward returns the attributes of a transposed convolution with n spatial dimensions.
func upward(n, stride, pad, extra, groups int) []op.Attr {
	rep := func(k int) []int {
		l := make([]int, n)
		for i := range l {
			l[i] = k
		}
		return l
	}
	return with(op.Ints("strides", rep(stride)...), op.Ints("pad_lo", rep(pad)...), op.Ints("pad_hi", rep(pad)...), op.Ints("output_padding", rep(extra)...),
		op.Ints("dilation", rep(1)...), op.Int("groups", groups))
}

// deform returns the attributes of a deformable convolution.
func deform(pad, groups, offsets int) []op.Attr {
	return with(op.Ints("strides", 1, 1), op.Ints("pad_lo", pad, pad), op.Ints("pad_hi", pad, pad), op.Ints("dilation", 1, 1), op.Int("groups", groups), op.Int("offset_groups", offsets))
}

func init() {
	over, mode, down := op.Ints("overhang", 0), op.Str("mode", "linear"), op.Flag("antialias", true)
	nan := math.NaN()
	violations = append(violations, []violation{
		{op.MaxPool, "C1", ins(f(3)), window(0, []int{1, 1}, op.Ints("overhang", 0, 0)), op.ErrShape}, {op.MaxPool, "C2", ins(f(3)), window(0, []int{0}, over), op.ErrAttr},
		{op.MaxPool, "C3", ins(f(3)), window(-1, []int{1}, over), op.ErrAttr}, {op.LpPool, "C1", ins(f(3)), window(0, []int{1, 1}, op.Ints("overhang", 0, 0)), op.ErrShape},
		{op.LpPool, "C2", ins(f(3)), window(0, []int{0}, over), op.ErrAttr}, {op.LpPool, "C3", ins(f(3)), window(0, []int{1}, op.Ints("overhang", -1)), op.ErrAttr},
		{op.LpPool, "C4", ins(f(3)), window(0, []int{1}, over, op.Float("p", 0)), op.ErrAttr}, {op.LpPool, "C4", ins(f(3)), window(0, []int{1}, over, op.Float("p", math.Inf(1))), op.ErrAttr},
		{op.AdaptiveAvgPool, "C1", ins(f(3)), with(size(1, 1)), op.ErrShape}, {op.AdaptiveAvgPool, "C1", ins(f(3)), with(size(0)), op.ErrShape}, {op.AdaptiveAvgPool, "C2", ins(f(2, 0)), with(size(1)), op.ErrShape},
		{op.AdaptiveAvgPool, "C3", ins(f(2, 3)), with(size(1 << 60)), op.ErrShape}, {op.AdaptiveMaxPool, "C1", ins(f(3, 3, 3, 3)), with(size(1, 1, 1, 1)), op.ErrShape},
		{op.AdaptiveMaxPool, "C2", ins(f(0)), with(size(1)), op.ErrShape}, {op.AdaptiveMaxPool, "C3", ins(f(1<<34, 1<<12, 1<<12)), with(size(1<<12-1, 1<<12-1)), op.ErrShape},
		{op.MaxUnpool, "C1", ins(f(3), i(3)), with(size()), op.ErrShape}, {op.MaxUnpool, "C1", ins(f(3), i(3)), with(size(-1)), op.ErrShape}, {op.MaxUnpool, "C2", ins(f(2, 3), i(3)), with(size(5)), op.ErrShape},

		{op.Interpolate, "C1", ins(f(3)), with(size(2, 2)), op.ErrShape}, {op.Interpolate, "C1", ins(f(3)), with(size(-1)), op.ErrShape}, {op.Interpolate, "C2", ins(f(3)), with(size(2), op.Floats("scales", 1, 1)), op.ErrAttr},
		{op.Interpolate, "C2", ins(f(3)), with(size(2), op.Floats("scales", 0)), op.ErrAttr}, {op.Interpolate, "C2", ins(f(3)), with(size(2), op.Floats("scales", nan)), op.ErrAttr},
		{op.Interpolate, "C3", ins(f(0)), with(size(2)), op.ErrShape}, {op.Interpolate, "C3", ins(f(1 << 31)), with(size(2)), op.ErrShape},
		{op.Interpolate, "C4", ins(f(3)), with(size(2), op.Float("cubic_a", nan)), op.ErrAttr}, {op.Interpolate, "C4", ins(f(3)), with(size(2), op.Int("lanczos_a", 0)), op.ErrAttr},
		{op.Interpolate, "C5", ins(f(1<<28, 1<<29)), with(size(1<<30), mode, down), op.ErrShape},

		{op.AffineGrid, "C1", ins(f(2, 2, 3)), with(size()), op.ErrShape}, {op.AffineGrid, "C1", ins(f(2, 2, 3)), with(size(2, -1)), op.ErrShape}, {op.AffineGrid, "C2", ins(f(2, 3, 4)), with(size(2, 2)), op.ErrShape},
		{op.AffineGrid, "C3", ins(f(2, 3, 4)), with(size(1<<29, 1<<29, 1<<29)), op.ErrShape},
		{op.GridSample, "C1", ins(f(2, 3), f(2, 0)), nil, op.ErrShape}, {op.GridSample, "C1", ins(f(2, 3, 0, 4), f(2, 1, 1, 2)), nil, op.ErrShape},
		{op.GridSample, "C2", ins(f(2, 3, 4, 4), f(2, 5, 5, 3)), nil, op.ErrShape}, {op.GridSample, "C2", ins(f(2, 3, 4, 4), f(1, 5, 5, 2)), nil, op.ErrShape},
		{op.GridSample, "C3", ins(f(2, 3, 4), f(2, 5, 1)), with(op.Float("cubic_a", math.Inf(1))), op.ErrAttr},
		{op.RoiAlign, "C1", ins(f(2, 3, 4), i(2), f(2, 4)), with(size(2, 2), op.Int("samples", 1)), op.ErrShape}, {op.RoiAlign, "C1", ins(f(2, 3, 0, 4), i(2), f(2, 4)), with(size(2, 2), op.Int("samples", 1)), op.ErrShape},
		{op.RoiAlign, "C2", ins(f(2, 3, 4, 4), i(2), f(3, 4)), with(size(2, 2), op.Int("samples", 1)), op.ErrShape}, {op.RoiAlign, "C3", ins(f(2, 3, 4, 4), i(2), f(2, 4)), with(size(2, 0), op.Int("samples", 1)), op.ErrAttr},
		{op.RoiAlign, "C3", ins(f(2, 3, 4, 4), i(2), f(2, 4)), with(size(2, 2), op.Int("samples", 0)), op.ErrAttr}, {op.RoiAlign, "C4", ins(f(2, 3, 4, 4), i(1<<20), f(1<<20, 4)), with(size(1<<20, 1<<20), op.Int("samples", 64)), op.ErrShape},
		{op.RoiAlign, "C5", ins(f(2, 3, 4, 4), i(2), f(2, 4)), with(size(2, 2), op.Int("samples", 1), op.Float("scale", nan)), op.ErrAttr},
		{op.DeformConv, "C1", ins(f(1, 2, 3), f(2, 2, 2, 2), f(1, 8, 2, 2)), deform(0, 1, 1), op.ErrShape}, {op.DeformConv, "C1", ins(f(1, 2, 3, 3), f(2, 2, 2), f(1, 8, 2, 2)), deform(0, 1, 1), op.ErrShape},
		{op.DeformConv, "C2", ins(f(1, 2, 3, 3), f(2, 2, 2, 2), f(1, 8, 2, 2)), deform(-1, 1, 1), op.ErrAttr}, {op.DeformConv, "C3", ins(f(1, 2, 3, 3), f(2, 2, 2, 2), f(1, 8, 2, 2)), deform(0, 2, 1), op.ErrShape},
		{op.DeformConv, "C3", ins(f(1, 2, 3, 3), f(2, 2, 2, 2), f(1, 24, 2, 2)), deform(0, 1, 3), op.ErrShape}, {op.DeformConv, "C4", ins(f(1, 2, 3, 3), f(2, 2, 0, 2), f(1, 8, 2, 2)), deform(0, 1, 1), op.ErrShape},
		{op.DeformConv, "C5", ins(f(1, 2, 3, 3), f(2, 2, 2, 2), f(1, 4, 2, 2)), deform(0, 1, 1), op.ErrShape}, {op.DeformConv, "C5", ins(f(1, 2, 3, 3), f(2, 2, 2, 2), f(1, 8, 2, 2), f(1, 8, 2, 2)), deform(0, 1, 1), op.ErrShape},
		{op.DeformConv, "C6", ins(f(0, 1<<40, 8, 8), f(1, 1<<40, 8, 8), f(0, 128, 1<<11+1, 1<<11+1)), deform(1<<10, 1, 1), op.ErrShape},

		{op.Im2Col, "C1", ins(f(2, 3)), slide(0, nil), op.ErrShape}, {op.Im2Col, "C1", ins(f(1, 1, 2, 2, 2, 2)), slide(0, []int{1, 1, 1, 1}), op.ErrShape}, {op.Im2Col, "C2", ins(f(2, 3, 4)), slide(0, []int{0}), op.ErrAttr},
		{op.Im2Col, "C2", ins(f(2, 3, 4)), slide(-1, []int{1}), op.ErrAttr}, {op.Im2Col, "C3", ins(f(2, 3, 4)), slide(1<<40, []int{1 << 30}), op.ErrShape},
		{op.Col2Im, "C1", ins(f(2, 4, 3)), slide(0, nil, size()), op.ErrShape}, {op.Col2Im, "C1", ins(f(2, 4, 3)), slide(0, []int{2}, size(-4)), op.ErrShape}, {op.Col2Im, "C2", ins(f(2, 4, 3)), slide(0, []int{2, 2}, size(4)), op.ErrAttr},
		{op.Col2Im, "C3", ins(f(2, 4, 3)), slide(1<<40, []int{1 << 30}, size(4)), op.ErrShape}, {op.Col2Im, "C4", ins(f(2, 4)), slide(0, []int{2}, size(4)), op.ErrShape},
		{op.Col2Im, "C4", ins(f(2, 5, 3)), slide(0, []int{2}, size(4)), op.ErrShape}, {op.Col2Im, "C4", ins(f(2, 4, 4)), slide(0, []int{2}, size(4)), op.ErrShape},
		{op.DepthToSpace, "C1", ins(f(2, 4, 3)), with(op.Ints("block", 2, 2)), op.ErrShape}, {op.DepthToSpace, "C1", ins(f(2, 4, 3)), with(op.Ints("block", 0)), op.ErrShape}, {op.DepthToSpace, "C2", ins(f(2, 5, 3)), with(op.Ints("block", 2)), op.ErrShape},
		{op.SpaceToDepth, "C1", ins(f(2, 4)), with(op.Ints("block")), op.ErrShape}, {op.SpaceToDepth, "C2", ins(f(2, 4, 3)), with(op.Ints("block", 2)), op.ErrShape},
		{op.ChannelShuffle, "C1", ins(f(4)), with(op.Int("groups", 2)), op.ErrShape}, {op.ChannelShuffle, "C2", ins(f(2, 4)), with(op.Int("groups", 3)), op.ErrShape}, {op.ChannelShuffle, "C2", ins(f(2, 4)), with(op.Int("groups", 0)), op.ErrShape},
		{op.ConvTranspose, "C1", ins(f(1, 2), f(2, 2)), upward(0, 1, 0, 0, 1), op.ErrShape}, {op.ConvTranspose, "C2", ins(f(1, 2, 3), f(2, 2, 2)), upward(1, 0, 0, 0, 1), op.ErrAttr}, {op.ConvTranspose, "C2", ins(f(1, 2, 3), f(2, 2, 2)), upward(1, 1, 0, -1, 1), op.ErrAttr},
		{op.ConvTranspose, "C3", ins(f(1, 2, 3), f(3, 2, 2)), upward(1, 1, 0, 0, 1), op.ErrShape}, {op.ConvTranspose, "C3", ins(f(1, 3, 3), f(3, 2, 2)), upward(1, 1, 0, 0, 2), op.ErrShape},
		{op.ConvTranspose, "C4", ins(f(1, 2, 0), f(2, 2, 2)), upward(1, 1, 0, 0, 1), op.ErrShape}, {op.ConvTranspose, "C4", ins(f(1, 2, 3), f(2, 2, 2)), upward(1, 1, 3, 0, 1), op.ErrShape}, {op.ConvTranspose, "C4", ins(f(1, 2, 3), f(2, 2, 2)), upward(1, 1, -1<<40, 0, 1), op.ErrShape},
		{op.Interpolate, "C5", ins(f(1<<26, 1<<10, 16)), with(size(1<<30, 1)), op.ErrShape},
	}...)
	samples = append(samples, []sample{
		{op.MaxPool, ins(f(2, 6)), window(1, []int{3}, op.Ints("overhang", 1), op.Flag("indices", true))}, {op.MaxPool, ins(f(2, 5, 4)), window(0, []int{2, 2}, op.Ints("overhang", 0, 0))},
		{op.LpPool, ins(f(2, 6)), window(1, []int{3}, op.Ints("overhang", 1))}, {op.LpPool, ins(f(2, 6)), window(0, []int{2}, over, op.Float("p", 3))}, {op.LpPool, ins(f(2, 6)), window(0, []int{2}, over, op.Float("p", 1))},
		{op.AdaptiveAvgPool, ins(f(2, 6, 5)), with(size(3, 2))}, {op.AdaptiveMaxPool, ins(f(2, 6, 5)), with(size(3, 2), op.Flag("indices", true))}, {op.AdaptiveMaxPool, ins(f(0, 5)), with(size(2), op.Flag("indices", true))},
		{op.MaxUnpool, ins(f(2, 3), i(2, 3)), with(size(4))}, {op.MaxUnpool, ins(f(2, 2), i(2, 2)), with(size(2, 3))},
		{op.Interpolate, ins(f(2, 4, 3)), with(size(3, 7), mode)}, {op.Interpolate, ins(f(2, 5)), with(size(0))}, {op.Interpolate, ins(f(0, 5)), with(size(3), op.Str("mode", "cubic"), op.Floats("scales", 0.7))},
		{op.Interpolate, ins(f(2, 8)), with(size(3), op.Str("mode", "lanczos"), down, op.Flag("exclude_outside", true))}, {op.Interpolate, ins(f(2, 8)), with(size(3), op.Str("coordinates", "align_corners"))},
		{op.AffineGrid, ins(f(2, 2, 3)), with(size(3, 4))}, {op.GridSample, ins(f(1, 2, 3, 4), f(1, 2, 2, 2)), nil}, {op.GridSample, ins(f(1, 2, 3, 4), f(1, 2, 2, 2)), with(op.Str("mode", "cubic"), op.Str("padding", "reflection"))},
		{op.RoiAlign, ins(f(2, 2, 4, 4), i(3), f(3, 4)), with(size(2, 2), op.Int("samples", 2))}, {op.RoiAlign, ins(f(2, 2, 4, 4), i(3), f(3, 4)), with(size(2, 2), op.Int("samples", 1), op.Str("reduce", "max"), op.Flag("half_pixel", false))},
		{op.DeformConv, ins(f(1, 2, 3, 3), f(2, 2, 2, 2), f(1, 8, 2, 2), f(1, 4, 2, 2)), deform(0, 1, 1)}, {op.DeformConv, ins(f(1, 2, 3, 3), f(2, 1, 2, 2), f(1, 16, 4, 4)), deform(1, 2, 2)},
		{op.Im2Col, ins(f(2, 2, 4, 3)), slide(1, []int{2, 2})}, {op.Col2Im, ins(f(2, 4, 5)), slide(1, []int{2}, size(4))},
		{op.DepthToSpace, ins(f(2, 8, 3, 2)), with(op.Ints("block", 2, 2))}, {op.DepthToSpace, ins(f(2, 6, 3)), with(op.Ints("block", 3), op.Str("mode", "crd"))},
		{op.SpaceToDepth, ins(f(2, 2, 4, 6)), with(op.Ints("block", 2, 3))}, {op.SpaceToDepth, ins(f(2, 2, 6)), with(op.Ints("block", 3), op.Str("mode", "crd"))}, {op.ChannelShuffle, ins(f(2, 6, 3)), with(op.Int("groups", 2))},
		{op.ConvTranspose, ins(f(2, 4, 3), f(4, 2, 2)), upward(1, 2, 1, 1, 2)}, {op.ConvTranspose, ins(f(1, 2, 1, 1, 1, 2, 1, 2), f(2, 2, 1, 1, 2, 1, 1, 1)), upward(6, 1, 0, 0, 1)},
	}...)
	inferences = append(inferences, []inference{
		{op.MaxPool, ins(f(6)), with(op.Ints("window", 3), op.Ints("strides", 2), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0), op.Ints("overhang", 1), op.Ints("dilation", 1), op.Flag("indices", true)), ins(f(3), i(3))},
		{op.AdaptiveAvgPool, ins(f(2, 7, 5)), with(size(3, 2)), ins(f(2, 3, 2))}, {op.MaxUnpool, ins(op.DescOf(dtype.U8, 2, 3), i(2, 3)), with(size(9)), ins(op.DescOf(dtype.U8, 2, 9))},
		{op.Interpolate, ins(f(2, 5, 4)), with(size(3, 9)), ins(f(2, 3, 9))}, {op.AffineGrid, ins(f(5, 3, 4)), with(size(2, 3, 4)), ins(f(5, 2, 3, 4, 3))}, {op.GridSample, ins(f(2, 3, 4, 5), f(2, 6, 7, 2)), nil, ins(f(2, 3, 6, 7))},
		{op.RoiAlign, ins(f(2, 3, 4, 4), i(5), f(5, 4)), with(size(2, 6), op.Int("samples", 2)), ins(f(5, 3, 2, 6))}, {op.DeformConv, ins(f(1, 4, 5, 5), f(6, 2, 3, 3), f(1, 36, 3, 3)), deform(0, 2, 2), ins(f(1, 6, 3, 3))},
		{op.Im2Col, ins(f(2, 3, 5, 4)), slide(0, []int{2, 2}), ins(f(2, 12, 12))}, {op.Col2Im, ins(f(2, 12, 12)), slide(0, []int{2, 2}, size(5, 4)), ins(f(2, 3, 5, 4))}, {op.DepthToSpace, ins(f(2, 12, 3, 2)), with(op.Ints("block", 2, 3)), ins(f(2, 2, 6, 6))},
		{op.SpaceToDepth, ins(f(2, 2, 6, 6)), with(op.Ints("block", 2, 3)), ins(f(2, 12, 3, 2))}, {op.ConvTranspose, ins(f(2, 4, 3), f(4, 2, 2)), upward(1, 2, 1, 1, 2), ins(f(2, 4, 5))}, // (3-1)·2+1+1-1-1+1
	}...)
}
