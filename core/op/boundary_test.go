package op_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// boundary describes a number in the attributes or operands of a node: its last legal values, and the first illegal ones with the
// constraint that they break, or "" if they break several.
type boundary struct {
	op         op.Code
	what       string
	legal      []int
	illegal    []int
	constraint string
	at         func(v int) ([]op.Desc, []op.Attr)
}

// fixed returns a function from v to the operands in and the attributes for v.
func fixed(in []op.Desc, attrs func(v int) []op.Attr) func(v int) ([]op.Desc, []op.Attr) {
	return func(v int) ([]op.Desc, []op.Attr) { return in, attrs(v) }
}

// shaped returns a function from v to the operands for v and the attributes attrs.
func shaped(attrs []op.Attr, in func(v int) []op.Desc) func(v int) ([]op.Desc, []op.Attr) {
	return func(v int) ([]op.Desc, []op.Attr) { return in(v), attrs }
}

// named returns the attributes with an integer called name.
func named(name string, more ...op.Attr) func(v int) []op.Attr {
	return func(v int) []op.Attr { return append(more[:len(more):len(more)], op.Int(name, v)) }
}

// listed returns the attributes with a list of one integer called name.
func listed(name string, more ...op.Attr) func(v int) []op.Attr {
	return func(v int) []op.Attr { return append(more[:len(more):len(more)], op.Ints(name, v)) }
}

func slice(start, size, step int) []op.Attr {
	return with(op.Ints("start", start), op.Ints("size", size), op.Ints("step", step))
}

var boundaries = []boundary{
	{op.Slice, "size from 2 of 5", []int{0, 3}, []int{-1, 4}, "", fixed(ins(f(5)), func(v int) []op.Attr { return slice(2, v, 1) })},
	{op.Slice, "start of 2 of 5", []int{0, 3}, []int{-1, 4}, "C3", fixed(ins(f(5)), func(v int) []op.Attr { return slice(v, 2, 1) })},
	{op.Slice, "start of nothing", []int{0, 5, 9}, nil, "", fixed(ins(f(5)), func(v int) []op.Attr { return slice(v, 0, 1) })},
	{op.Slice, "step over 5", []int{1, 2, -1}, []int{3, -3}, "C3", fixed(ins(f(5)), func(v int) []op.Attr { return slice(map[bool]int{true: 0, false: 2}[v > 0], 3, v) })},
	{op.Slice, "step back to the first", []int{2, 4}, []int{1, 5}, "C3", fixed(ins(f(5)), func(v int) []op.Attr { return slice(v, 2, -2) })},
	{op.Pad, "removes from 5", []int{-5, 0, 3}, []int{-6}, "", fixed(ins(f(5)), func(v int) []op.Attr { return with(op.Ints("lo", v), op.Ints("hi", 0)) })},
	{op.Pad, "removes on both sides", []int{-3}, []int{-4}, "", fixed(ins(f(5)), func(v int) []op.Attr { return with(op.Ints("lo", v), op.Ints("hi", -2)) })},
	{op.Flip, "axis", []int{0, 2}, []int{-1, 3}, "C1", fixed(ins(f(2, 3, 4)), listed("axes"))},
	{op.Concat, "axis", []int{0, 1}, []int{-1, 2}, "C1", fixed(ins(f(2, 2), f(2, 2)), named("axis"))},
	{op.Gather, "axis", []int{0, 1}, []int{-1, 2}, "C1", fixed(ins(f(2, 3), i(2)), named("axis"))},
	{op.Gather, "batch", []int{0, 1}, []int{-1, 2}, "", fixed(ins(f(2, 3), i(2, 2)), named("batch", op.Int("axis", 1)))},
	{op.Iota, "axis", []int{0, 1}, []int{-1, 2}, "C2", fixed(nil, named("axis", op.Type("dtype", dtype.I32), op.Ints("shape", 2, 3)))},
	{op.Full, "length", []int{0, 1 << 40}, []int{-1}, "C1", fixed(nil, func(v int) []op.Attr {
		return with(op.ScalarInt("value", 0), op.Type("dtype", dtype.U8), op.Ints("shape", v))
	})},
	{op.Reshape, "elements", []int{6}, []int{5, 7, -1}, "", fixed(ins(f(2, 3)), listed("shape"))},
	{op.Expand, "length", []int{3}, []int{2, 4, 1, 0}, "", fixed(ins(f(3)), listed("shape"))},
	{op.Expand, "length of one", []int{0, 1, 9}, []int{-1}, "", fixed(ins(f(1)), listed("shape"))},
	{op.Sum, "axis", []int{0, 1}, []int{-1, 2}, "C1", fixed(ins(f(2, 3)), listed("axes"))},
	{op.Sort, "axis", []int{0, 1}, []int{-1, 2}, "C1", fixed(ins(f(2, 3)), named("axis"))},
	{op.CumSum, "axis", []int{0, 1}, []int{-1, 2}, "C1", fixed(ins(f(2, 3)), named("axis"))},
	{op.MatMul, "inner length", []int{3}, []int{2, 4, 1, 0}, "", shaped(nil, func(v int) []op.Desc { return ins(f(2, 3), f(v, 4)) })},
	{op.MatMul, "batch", []int{1, 5}, []int{0, 2, 6}, "", shaped(nil, func(v int) []op.Desc { return ins(f(5, 2, 3), f(v, 3, 4)) })},
	{op.Conv, "groups of 6 to 4", []int{1, 2}, []int{-1, 0, 3, 4}, "", func(v int) ([]op.Desc, []op.Attr) {
		return ins(f(1, 6, 5), f(4, 6/max(1, v), 2)), conv(1, v, 0)
	}},
	{op.Conv, "kernel over 3", []int{1, 3, 4}, []int{0}, "C5", shaped(conv(1, 1, 0), func(v int) []op.Desc { return ins(f(1, 1, 3), f(1, 1, v)) })},
	{op.Conv, "padding", []int{-1, 7}, []int{-2}, "C5", fixed(ins(f(1, 1, 3), f(1, 1, 1)), func(v int) []op.Attr { return conv(1, 1, v) })},
	{op.Softmax, "axis", []int{0, 1}, []int{-1, 2}, "C1", fixed(ins(f(2, 3)), named("axis"))},
	{op.LayerNorm, "axis", []int{0, 1}, []int{-1, 2}, "", fixed(ins(f(2, 3)), named("axis"))},
	{op.GroupNorm, "groups of 6", []int{1, 2, 3, 6}, []int{-1, 0, 4, 5, 7, 12}, "", fixed(ins(f(2, 6), f(6), f(6)), named("groups"))},
	{op.OneHot, "axis", []int{0, 1, 2}, []int{-1, 3}, "C1", fixed(ins(i(2, 3)), named("axis", op.Int("depth", 2), op.Type("dtype", dtype.F32)))},
	{op.OneHot, "depth", []int{0, 9}, []int{-1}, "C2", fixed(ins(i(2)), named("depth", op.Int("axis", 0), op.Type("dtype", dtype.F32)))},
	{op.TopK, "k of 3", []int{0, 3}, []int{-1, 4}, "C2", fixed(ins(f(2, 3)), named("k", op.Int("axis", 1)))},
	{op.GatherND, "tuple of rank 2", []int{0, 1, 2}, []int{3}, "C2", shaped(nil, func(v int) []op.Desc { return ins(f(2, 3), i(4, v)) })},
	{op.Quantize, "axis", []int{0, 1}, []int{-2, 2}, "C1", func(v int) ([]op.Desc, []op.Attr) {
		return ins(f(3, 3), f(3), op.DescOf(dtype.U8, 3)), axis(v)
	}},
	{op.AdaptiveAvgPool, "size", []int{1, 3, 99}, []int{0, -1}, "C1", fixed(ins(f(2, 3)), listed("size"))},
	{op.Interpolate, "size", []int{0, 1, 1 << 30}, []int{-1, 1<<30 + 1}, "C1", fixed(ins(f(3)), listed("size"))},
	{op.Interpolate, "lanczos", []int{1, 16}, []int{0, 17, -1}, "C4", fixed(ins(f(3)), named("lanczos_a", size(2)))},
	{op.LocalResponseNorm, "size", []int{1, 1 << 32}, []int{0, -1, 1<<32 + 1}, "C2", fixed(ins(f(2, 3)), named("size"))},
	{op.RoiAlign, "samples", []int{1, 4096}, []int{0, -1, 4097}, "C3", fixed(ins(f(1, 1, 2, 2), i(1), f(1, 4)), named("samples", size(1, 1)))},
	{op.NMS, "outputs of 4", []int{0, 4}, []int{-1, 5}, "C3", fixed(ins(f(4, 4), f(4)), named("max_output"))},
	{op.MatrixPower, "n", []int{-1 << 16, 0, 1 << 16}, []int{-1<<16 - 1, 1<<16 + 1}, "C3", fixed(ins(f(2, 2)), named("n"))},
	{op.RFFT, "length", []int{1, 5, 1 << 20}, []int{-1}, "C2", fixed(ins(f(5)), named("n", op.Int("axis", 0)))},
	{op.IRFFT, "length", []int{1, 1 << 20}, []int{0, -1}, "C3", fixed(ins(f(5, 2)), named("n", op.Int("axis", 0)))},
	{op.FFT, "axis", []int{0, 1}, []int{-1, 2}, "C2", fixed(ins(f(3, 4, 2)), named("axis"))},
	{op.STFT, "transform of 8", []int{4, 8}, []int{3, 0, -1}, "", fixed(ins(f(8), f(4)), named("n_fft", op.Int("hop", 1), op.Flag("center", false)))},
	{op.STFT, "transform longer than 8", []int{8}, []int{9}, "C4", fixed(ins(f(8), f(4)), named("n_fft", op.Int("hop", 1), op.Flag("center", false)))},
	{op.STFT, "centred transform of 8", []int{15}, []int{16, 17}, "C4", fixed(ins(f(8), f(4)), named("n_fft", op.Int("hop", 1)))},
	{op.STFT, "hop", []int{1, 99}, []int{0, -1}, "C2", fixed(ins(f(8), f(4)), named("hop", op.Int("n_fft", 4)))},
	{op.HannWindow, "size", []int{0, 1, 99}, []int{-1}, "C1", fixed(nil, named("size"))},
	{op.Compress, "condition of 3", []int{3}, []int{2, 4, 0}, "C2", shaped(axis(1), func(v int) []op.Desc { return ins(f(2, 3), b(v)) })},
	{op.CacheWrite, "update of 5", []int{0, 1, 5}, []int{6}, "C2", shaped(axis(1), func(v int) []op.Desc { return ins(f(2, 5), i(), f(2, v)) })},
	{op.Attention, "heads of 6", []int{1, 2, 3, 6}, []int{0, 4, 5, 12}, "", shaped(nil, func(v int) []op.Desc { return ins(f(1, 6, 2, 3), f(1, v, 4, 3), f(1, v, 4, 3)) })},
	{op.Attention, "window", []int{0, 1, 9}, []int{-1}, "C5", fixed(ins(f(1, 1, 2, 3), f(1, 1, 4, 3), f(1, 1, 4, 3)), named("window"))},
	{op.RotaryEmbedding, "pairs of 5", []int{0, 1, 2}, []int{3}, "C3", shaped(nil, func(v int) []op.Desc { return ins(f(2, 5), f(v), f(v)) })},
	{op.CTCLoss, "blank of 4", []int{0, 3}, []int{-1, 4}, "C3", fixed(ins(f(5, 2, 4), i(2, 3), i(2), i(2)), named("blank"))},
	{op.Histogram, "edges", []int{2, 3}, []int{0, 1}, "C1", shaped(nil, func(v int) []op.Desc { return ins(f(5), f(v)) })},
	{op.Cross, "length", []int{3}, []int{0, 1, 2, 4}, "", shaped(axis(0), func(v int) []op.Desc { return ins(f(v), f(v)) })},
	{op.DepthToSpace, "block of 12 channels", []int{1, 2, 3, 4, 6, 12}, []int{0, -1, 5, 24}, "", fixed(ins(f(1, 12, 2)), listed("block"))},
	{op.SpaceToDepth, "block of 12", []int{1, 2, 3, 4, 6, 12}, []int{0, -1, 5, 24}, "", fixed(ins(f(1, 2, 12)), listed("block"))},
	{op.ChannelShuffle, "groups of 6", []int{1, 2, 3, 6}, []int{0, -1, 4, 5, 12}, "C2", fixed(ins(f(1, 6)), named("groups"))},
	{op.GLU, "halves", []int{0, 2, 6}, []int{1, 3}, "", shaped(axis(1), func(v int) []op.Desc { return ins(f(2, v)) })},
	{op.RepeatInterleave, "repeats", []int{0, 1, 9}, []int{-1}, "", fixed(ins(f(2, 3)), named("repeats", op.Int("axis", 0)))},
	{op.Stack, "axis", []int{0, 1, 2}, []int{-1, 3}, "", fixed(ins(f(2, 3), f(2, 3)), named("axis"))},
	{op.MaxUnpool, "size", []int{0, 1, 99}, []int{-1}, "C1", fixed(ins(f(2, 3), i(2, 3)), listed("size"))},
	{op.ConvTranspose, "padding of what reaches 4", []int{0, 2}, []int{3, 99}, "C4", func(v int) ([]op.Desc, []op.Attr) {
		return ins(f(1, 1, 3), f(1, 1, 2)), upward(1, 1, v, 0, 1)
	}},
}

// New accepts the last legal numbers, with results of legal shapes, and refuses the first illegal ones with the constraint that they
// break.
func TestBoundaries(t *testing.T) {
	for _, c := range boundaries {
		t.Run(c.op.String()+" "+c.what, func(t *testing.T) {
			for _, v := range c.legal {
				in, attrs := c.at(v)
				n, err := op.New(c.op, in, attrs...)
				require.NoError(t, err, "%d", v)
				for _, d := range n.Outputs {
					require.NoError(t, d.Shape.Check())
				}
			}
			for _, v := range c.illegal {
				in, attrs := c.at(v)
				_, err := op.New(c.op, in, attrs...)
				var e *op.Error
				require.ErrorAs(t, err, &e, "%d", v)
				require.NotEmpty(t, e.Constraint, "%d: %v", v, err)
				if c.constraint != "" {
					require.Equal(t, c.constraint, e.Constraint, "%d: %v", v, err)
				}
			}
		})
	}
}

// New accepts the last legal float attributes and refuses the first illegal ones: infinities, NaN and numbers beyond a range.
func TestRealBoundaries(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		op             op.Code
		name           string
		in             []op.Desc
		attrs          []op.Attr
		legal, illegal []float64
	}{
		{op.VectorNorm, "p", ins(f(3)), with(axes(0)), []float64{0, 2, -1, inf, -inf}, []float64{nan}},
		{op.LpPool, "p", ins(f(3)), window(0, []int{1}, op.Ints("overhang", 0)), []float64{0.1, 1, 9}, []float64{0, -1, inf, nan}},
		{op.PInv, "rcond", ins(f(2, 2)), nil, []float64{0, 0.5, 2}, []float64{-0.1, inf, nan}},
		{op.LstSq, "rcond", ins(f(2, 2), f(2, 1)), nil, []float64{0, 0.5, 2}, []float64{-0.1, inf, nan}},
		{op.Interpolate, "cubic_a", ins(f(3)), with(size(2)), []float64{-0.75, 0, 5}, []float64{inf, nan}},
		{op.GridSample, "cubic_a", ins(f(2, 3, 4), f(2, 5, 1)), nil, []float64{-0.5, 0}, []float64{inf, -inf, nan}},
		{op.RoiAlign, "scale", ins(f(1, 1, 2, 2), i(1), f(1, 4)), with(size(1, 1), op.Int("samples", 1)), []float64{0, -1, 0.25}, []float64{inf, nan}},
		{op.KaiserWindow, "beta", nil, with(op.Int("size", 3)), []float64{0, 12}, []float64{inf, nan}},
		{op.HammingWindow, "alpha", nil, with(op.Int("size", 3)), []float64{0, 0.54, 1}, []float64{inf, nan}},
	} {
		for _, v := range c.legal {
			_, err := op.New(c.op, c.in, append(c.attrs[:len(c.attrs):len(c.attrs)], op.Float(c.name, v))...)
			require.NoError(t, err, "%v: %s is %v", c.op, c.name, v)
		}
		for _, v := range c.illegal {
			_, err := op.New(c.op, c.in, append(c.attrs[:len(c.attrs):len(c.attrs)], op.Float(c.name, v))...)
			require.ErrorIs(t, err, op.ErrAttr, "%v: %s is %v", c.op, c.name, v)
		}
	}
	for _, q := range [][]float64{{}, {0}, {1}, {0, 0.5, 1}} {
		_, err := op.New(op.Quantile, ins(f(3)), op.Floats("q", q...), axes(0))
		require.NoError(t, err, "%v", q)
	}
	for _, q := range [][]float64{{-1e-9}, {1 + 1e-9}, {0.5, nan}, {inf}} {
		_, err := op.New(op.Quantile, ins(f(3)), op.Floats("q", q...), axes(0))
		require.ErrorIs(t, err, op.ErrAttr, "%v", q)
		require.ErrorContains(t, err, "[C3]")
	}
}
