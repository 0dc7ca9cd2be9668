package op_test

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// These composites have dimensions of length zero and one, also for means and norms over no elements. Their decompositions must be legal
// and compute what the reference computes. The tests of samples and inferences run them.
func init() {
	unit := window(0, []int{1}, op.Ints("overhang", 0))
	size := func(n ...int) op.Attr { return op.Ints("size", n...) }
	pools := window(1, []int{2}, op.Ints("overhang", 0))
	transpose := with(op.Ints("strides", 2), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0), op.Ints("output_padding", 0), op.Ints("dilation", 1), op.Int("groups", 1))
	samples = append(samples, []sample{
		{op.Softmax, ins(f(3, 0)), axis(1)}, {op.LogSoftmax, ins(f(0, 3)), axis(0)}, {op.Softmin, ins(f(2, 0)), axis(0)}, {op.Hardmax, ins(f(0, 3)), axis(1)}, {op.Softmax, ins(f(1)), axis(0)},
		{op.LayerNorm, ins(f(2, 0), f(0), f(0)), axis(1)}, {op.LayerNorm, ins(f(0, 3), f(3)), axis(1)}, {op.LayerNorm, ins(f(1), f(), f()), axis(0)}, {op.RMSNorm, ins(f(2, 0)), axis(1)}, {op.RMSNorm, ins(f(3, 1), f(1)), axis(1)},
		{op.GroupNorm, ins(f(2, 4, 0), f(4), f(4)), with(op.Int("groups", 2))}, {op.GroupNorm, ins(f(1, 1), f(1), f(1)), with(op.Int("groups", 1))}, {op.BatchNorm, ins(f(2, 0, 3), f(0), f(0), f(0), f(0)), nil},
		{op.Linear, ins(f(0, 3), f(3, 2), f(2)), nil}, {op.Linear, ins(f(2, 3), f(3, 0), f(0)), nil}, {op.Linear, ins(f(1), f(1, 1)), nil},
		{op.AvgPool, ins(f(0, 4)), pools}, {op.AvgPool, ins(f(1)), unit}, {op.MaxPool, ins(f(0, 4)), pools}, {op.MaxPool, ins(f(2, 1)), pools}, {op.LpPool, ins(f(0, 4)), pools}, {op.LpPool, ins(f(1, 1)), unit},
		{op.AdaptiveAvgPool, ins(f(0, 5)), with(size(2))}, {op.AdaptiveAvgPool, ins(f(2, 1)), with(size(3))}, {op.AdaptiveMaxPool, ins(f(0, 5)), with(size(2))}, {op.AdaptiveMaxPool, ins(f(1, 1)), with(size(1))},
		{op.ConvTranspose, ins(f(0, 2, 3), f(2, 1, 2)), transpose}, {op.ConvTranspose, ins(f(1, 1, 1), f(1, 1, 1)), transpose}, {op.ConvTranspose, ins(f(2, 0, 3), f(0, 1, 2)), transpose},
		{op.Interpolate, ins(f(0, 3)), with(size(5))}, {op.Interpolate, ins(f(2, 1)), with(size(4), op.Str("mode", "linear"))}, {op.Interpolate, ins(f(2, 3)), with(size(0))}, {op.Interpolate, ins(f(1, 1, 1)), with(size(1, 1), op.Str("mode", "cubic"))},
		{op.GridSample, ins(f(0, 1, 3, 3), f(0, 2, 2, 2)), nil}, {op.GridSample, ins(f(1, 1, 1, 1), f(1, 1, 1, 2)), nil}, {op.GridSample, ins(f(1, 2, 3), f(1, 0, 1)), nil}, {op.AffineGrid, ins(f(0, 2, 3)), with(size(2, 2))}, {op.AffineGrid, ins(f(1, 1, 2)), with(size(1))},
		{op.Embedding, ins(f(3, 0), i(2)), nil}, {op.Embedding, ins(f(3, 2), i(0, 2)), nil}, {op.OneHot, ins(i(0)), with(op.Int("depth", 3), op.Int("axis", 1), op.Type("dtype", dtype.F32))},
		{op.GatherElements, ins(f(3, 2), i(0, 2)), axis(0)}, {op.ScatterElements, ins(f(3, 2), i(0, 2), f(0, 2)), axis(0)}, {op.GatherND, ins(f(3, 2), i(0, 1)), nil}, {op.ScatterND, ins(f(3, 2), i(0, 2), f(0)), nil},
		{op.TopK, ins(f(0, 3)), with(op.Int("k", 1), op.Int("axis", 1))}, {op.TopK, ins(f(1)), with(op.Int("k", 1), op.Int("axis", 0))}, {op.ArgSort, ins(f(2, 0)), axis(1)},
		{op.Einsum, ins(f(2, 0), f(0, 3)), eq("ij,jk->ik")}, {op.Einsum, ins(f(0, 2), f(2, 3)), eq("ij,jk->ki")}, {op.Einsum, ins(f(0), f(0)), eq("i,i->")}, {op.Einsum, ins(f(1, 1), f(1, 1)), eq("ij,jk->")},
		{op.Kron, ins(f(0, 2), f(1, 3)), nil}, {op.Outer, ins(f(0), f(3)), nil}, {op.Tril, ins(f(0, 3)), nil}, {op.Diag, ins(f(0)), nil}, {op.Diag, ins(f(2, 0)), with(op.Int("offset", 2))}, {op.Diagonal, ins(f(0, 3)), nil}, {op.Trace, ins(f(2, 0, 3)), nil},
		{op.Cross, ins(f(0, 3), f(0, 3)), axis(1)}, {op.Roll, ins(f(0, 2)), with(axes(0), op.Ints("shifts", 3))}, {op.Tile, ins(f(2)), with(op.Ints("repeats", 0))}, {op.Tile, ins(f()), with(op.Ints("repeats"))}, {op.Stack, ins(f(0), f(0)), axis(1)}, {op.Stack, ins(f()), axis(0)},
		{op.RepeatInterleave, ins(f(2, 3)), with(op.Int("repeats", 0), op.Int("axis", 1))}, {op.MeshGrid, ins(f(0), f(2)), nil},
		{op.Variance, ins(f(0, 3)), with(axes(1))}, {op.Std, ins(f(2, 1)), with(axes(1))}, {op.LogSumExp, ins(f(0)), with(axes(0))}, {op.VectorNorm, ins(f(0)), with(axes(0))}, {op.Median, ins(f(0, 1)), with(axes(1))}, {op.LogCumSumExp, ins(f(0)), axis(0)}, {op.LogCumSumExp, ins(f(1)), axis(0)},
		{op.Covariance, ins(f(0, 3)), nil}, {op.CosineSimilarity, ins(f(0, 2), f(0, 2)), axis(1)}, {op.Histogram, ins(f(0), f(3)), nil}, {op.SearchSorted, ins(f(0), f(3)), nil}, {op.SearchSorted, ins(f(3), f(0)), nil},
		{op.MSELoss, ins(f(0), f(0)), with(op.Str("reduction", "none"))}, {op.MSELoss, ins(f(0), f(0)), with(op.Str("reduction", "sum"))}, {op.CrossEntropyLoss, ins(f(0, 3), i(0)), with(op.Str("reduction", "sum"))},
		{op.LpNormalize, ins(f(0, 2)), axis(1)}, {op.LocalResponseNorm, ins(f(1, 1)), with(op.Int("size", 5))}, {op.GLU, ins(f(0, 4)), axis(1)}, {op.SwiGLU, ins(f(3, 0)), axis(1)},
		{op.Quantize, ins(f(0, 3), f(3), op.DescOf(dtype.I8, 3)), axis(1)}, {op.Dequantize, ins(op.DescOf(dtype.U8, 2, 0), f(), op.DescOf(dtype.U8)), nil}, {op.MatMulInteger, ins(u8(2, 0), i8(0, 3)), nil},
		{op.Attention, ins(f(0, 2, 3, 4), f(0, 2, 3, 4), f(0, 2, 3, 4)), nil}, {op.Attention, ins(f(1, 1, 0, 2), f(1, 1, 3, 2), f(1, 1, 3, 2)), nil}, {op.Attention, ins(f(1, 1, 1, 1), f(1, 1, 1, 1), f(1, 1, 1, 1)), with(op.Flag("causal", true))},
		{op.FFT, ins(f(0, 4, 2)), axis(1)}, {op.FFT, ins(f(1, 2)), axis(0)}, {op.RFFT, ins(f(0, 3)), axis(1)}, {op.FFTShift, ins(f(0, 3)), with(axes(1))}, {op.DepthToSpace, ins(f(0, 4, 1, 1)), with(op.Ints("block", 2, 2))}, {op.SpaceToDepth, ins(f(1, 0, 2, 2)), with(op.Ints("block", 2, 2))},
	}...)
	inferences = append(inferences, []inference{
		{op.MatMul, ins(f(0, 2, 3), f(3, 4)), nil, ins(f(0, 2, 4))}, {op.MatMul, ins(f(1, 0, 3), f(7, 3, 0)), nil, ins(f(7, 0, 0))}, {op.Softmax, ins(f(0, 3)), axis(0), ins(f(0, 3))},
		{op.Mean, ins(f(2, 0, 3)), with(axes(1)), ins(f(2, 3))}, {op.ReduceMax, ins(f(0)), with(axes(0), op.Flag("keep_dims", true)), ins(f(1))}, {op.Sum, ins(f()), with(axes()), ins(f())}, {op.Sum, ins(f(0, 2)), with(axes()), ins(f(0, 2))},
		{op.Concat, ins(f(0, 2), f(0, 2)), axis(0), ins(f(0, 2))}, {op.Concat, ins(f(0, 2), f(0, 3)), axis(1), ins(f(0, 5))}, {op.Tile, ins(f(2, 3)), with(op.Ints("repeats", 0, 2)), ins(f(0, 6))}, {op.Stack, ins(f(), f(), f()), axis(0), ins(f(3))},
		{op.Gather, ins(f(3, 0), i(2)), axis(0), ins(f(2, 0))}, {op.Gather, ins(f(0, 2), i(0)), axis(0), ins(f(0, 2))}, {op.Gather, ins(f(2, 3), i(2, 0)), with(op.Int("axis", 1), op.Int("batch", 1)), ins(f(2, 0))}, {op.OneHot, ins(i()), with(op.Int("depth", 4), op.Int("axis", 0), op.Type("dtype", dtype.Bool)), ins(b(4))},
		{op.Outer, ins(f(0), f(2)), nil, ins(f(0, 2))}, {op.Kron, ins(f(0, 2), f(3, 4)), nil, ins(f(0, 8))}, {op.Diagonal, ins(f(3, 4)), with(op.Int("offset", 9)), ins(f(0))}, {op.Diagonal, ins(f(3, 4)), with(op.Int("offset", -2)), ins(f(1))}, {op.Diag, ins(f(0)), with(op.Int("offset", -3)), ins(f(3, 3))},
		{op.AdaptiveAvgPool, ins(f(2, 3, 5, 7)), with(size(4, 9)), ins(f(2, 3, 4, 9))}, {op.Interpolate, ins(f(2, 0, 3)), with(size(0, 5)), ins(f(2, 0, 5))}, {op.AffineGrid, ins(f(2, 3, 4)), with(size(5, 6, 7)), ins(f(2, 5, 6, 7, 3))},
		{op.GridSample, ins(f(2, 3, 4, 5), f(2, 7, 8, 2)), nil, ins(f(2, 3, 7, 8))}, {op.GridSample, ins(f(2, 3, 4), f(2, 6, 1)), nil, ins(f(2, 3, 6))}, {op.Eye, nil, with(op.Int("rows", 0), op.Int("columns", 3), op.Type("dtype", dtype.F32)), ins(f(0, 3))},
		{op.LinSpace, nil, with(op.Float("start", 0), op.Float("stop", 1), op.Int("count", 0), op.Type("dtype", dtype.F64)), ins(op.DescOf(dtype.F64, 0))}, {op.MeshGrid, ins(f(2), f(1), f(0)), nil, ins(f(2, 1, 0), f(2, 1, 0), f(2, 1, 0))},
	}...)
}
