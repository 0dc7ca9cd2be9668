package op_test

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func axes(n ...int) op.Attr { return op.Ints("axes", n...) }

func init() {
	violations = append(violations, []violation{
		{op.Median, "C2", ins(f(2, 0)), with(axes(1)), op.ErrShape}, {op.Quantile, "C2", ins(f(0)), with(axes(0), op.Floats("q", 0.5)), op.ErrShape},
		{op.Quantile, "C3", ins(f(3)), with(axes(0), op.Floats("q", 0.5, 1.5)), op.ErrAttr}, {op.Quantile, "C3", ins(f(3)), with(axes(0), op.Floats("q", math.NaN())), op.ErrAttr},
		{op.Quantile, "C1", ins(f(2, 3)), with(axes(0, 0), op.Floats("q")), op.ErrShape},
		{op.Covariance, "C1", ins(f(3)), nil, op.ErrShape}, {op.CorrCoef, "C1", ins(f()), nil, op.ErrShape},
		{op.Histogram, "C1", ins(f(3), f(1)), nil, op.ErrShape}, {op.Histogram, "C1", ins(f(3), f(2, 2)), nil, op.ErrShape},
		{op.SearchSorted, "C1", ins(f(), f(2)), nil, op.ErrShape}, {op.SearchSorted, "C2", ins(f(2, 3), f(2)), nil, op.ErrShape}, {op.SearchSorted, "C2", ins(f(2, 3), f(3, 4)), nil, op.ErrShape},
		{op.VectorNorm, "C2", ins(f(3)), with(axes(0), op.Float("p", math.NaN())), op.ErrAttr},
		{op.CosineSimilarity, "C1", ins(f(2), f(3)), axis(0), op.ErrShape}, {op.CosineSimilarity, "C2", ins(f(2, 3), f(3)), axis(2), op.ErrShape},
	}...)
	samples = append(samples, []sample{
		{op.Std, ins(f(3, 4)), with(axes(1), op.Float("correction", 1))}, {op.Median, ins(f(3, 4)), with(axes(0))}, {op.Median, ins(f(2, 3, 4)), with(axes(2, 0), op.Flag("keep_dims", true))},
		{op.Quantile, ins(f(3, 4)), with(axes(1), op.Floats("q", 0.1, 0.5, 1))}, {op.Quantile, ins(f(3, 4)), with(axes(0, 1), op.Floats("q"), op.Flag("keep_dims", true))},
		{op.Quantile, ins(f(5, 2)), with(axes(0), op.Floats("q", 0.3), op.Str("interpolation", "midpoint"))}, {op.Quantile, ins(f(5, 2)), with(axes(0), op.Floats("q", 0.375), op.Str("interpolation", "nearest"))},
		{op.Covariance, ins(f(2, 3, 5)), nil}, {op.CorrCoef, ins(f(3, 5)), nil}, {op.Histogram, ins(f(3, 4), f(4)), nil}, {op.Histogram, ins(f(), f(2)), nil},
		{op.SearchSorted, ins(f(5), f(2, 3)), nil}, {op.SearchSorted, ins(f(2, 5), f(2, 3)), with(op.Flag("right", true))}, {op.ArgSort, ins(f(3, 4)), axis(0)},
		{op.LogCumSumExp, ins(f(2, 6)), axis(1)}, {op.LogCumSumExp, ins(f(2, 5)), with(op.Int("axis", 1), op.Flag("exclusive", true), op.Flag("reverse", true))}, {op.LogCumSumExp, ins(f(2, 0)), axis(1)},
		{op.CumArgMax, ins(f(2, 6)), axis(1)}, {op.CumArgMin, ins(f(6, 2)), axis(0)},
		{op.VectorNorm, ins(f(3, 4)), with(axes(1))}, {op.VectorNorm, ins(f(3, 4)), with(axes(0, 1), op.Float("p", 3))}, {op.VectorNorm, ins(f(3, 0)), with(axes(1), op.Float("p", math.Inf(1)))},
		{op.CosineSimilarity, ins(f(2, 1, 3), f(4, 3)), axis(2)}, {op.CosineSimilarity, ins(f(3, 1), f(4)), axis(1)},
	}...)
	inferences = append(inferences, []inference{
		{op.Quantile, ins(f(2, 3, 4)), with(axes(1), op.Floats("q", 0, 1), op.Flag("keep_dims", true)), ins(f(2, 2, 1, 4))}, {op.Covariance, ins(f(5, 3, 9)), nil, ins(f(5, 3, 3))},
		{op.Histogram, ins(f(2, 3), f(6)), nil, ins(i(5))}, {op.SearchSorted, ins(op.DescOf(dtype.U8, 2, 5), op.DescOf(dtype.U8, 2, 7)), nil, ins(i(2, 7))},
		{op.CosineSimilarity, ins(f(2, 1, 3), f(4, 3)), axis(2), ins(f(2, 4))},
	}...)
}
