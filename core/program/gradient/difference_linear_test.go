package gradient_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func TestMovementDifferences(t *testing.T) {
	slice := func(start, size, step []int) []op.Attr {
		return with(op.Ints("start", start...), op.Ints("size", size...), op.Ints("step", step...))
	}
	pad := func(lo, hi []int) []op.Attr { return with(op.Ints("lo", lo...), op.Ints("hi", hi...)) }
	differAll(t, []example{
		{op.Reshape, tensors(real(1, 2, 6)), with(op.Ints("shape", 3, 4))}, {op.Permute, tensors(real(2, 2, 3, 4)), with(axes(1, 2, 0))},
		{op.Permute, tensors(real(2, 2, 3, 4)), with(axes(2, 0, 1))}, {op.Expand, tensors(real(3, 3, 1)), with(op.Ints("shape", 2, 3, 4))},
		{op.Expand, tensors(real(3, 1)), with(op.Ints("shape", 1, 1))}, {op.Flip, tensors(real(4, 2, 3)), with(axes(1))},
		{op.Slice, tensors(real(5, 7)), slice([]int{1}, []int{3}, []int{2})}, {op.Slice, tensors(real(6, 7)), slice([]int{6}, []int{3}, []int{-3})},
		{op.Slice, tensors(real(7, 7)), slice([]int{5}, []int{1}, []int{-4})}, {op.Slice, tensors(real(8, 7)), slice([]int{4}, []int{0}, []int{9})},
		{op.Slice, tensors(real(9, 4, 5)), slice([]int{3, 0}, []int{2, 3}, []int{-2, 2})}, {op.Slice, tensors(real(10, 4, 5)), slice([]int{0, 4}, []int{4, 5}, []int{1, -1})},
		{op.Pad, tensors(real(11, 3, 4)), pad([]int{1, 0}, []int{0, 2})}, {op.Pad, tensors(real(12, 3, 4)), pad([]int{-1, 2}, []int{1, -3})},
		{op.Concat, tensors(real(13, 2, 1), real(14, 2, 3), real(15, 2, 2)), with(axis(1))}, {op.Concat, tensors(real(16, 1, 3), real(17, 0, 3), real(18, 2, 3)), with(axis(0))},
		{op.Cast, tensors(real(19, 4)), with(op.Type("dtype", dtype.F64))},
	})
}

func TestIndexingDifferences(t *testing.T) {
	repeated := indices([]int64{2, 0, 2, 1}, 4)
	rows := indices([]int64{1, 0, 2, 2}, 2, 2)
	mode := func(m string, more ...op.Attr) []op.Attr { return append(more, op.Str("mode", m)) }
	batch := func(axis, n int) []op.Attr { return with(op.Int("axis", axis), op.Int("batch", n)) }
	table := []example{
		{op.Gather, tensors(real(1, 3, 2), repeated), batch(0, 0)}, {op.Gather, tensors(real(2, 2, 3), repeated), batch(1, 0)},
		{op.Gather, tensors(real(3, 2, 3, 2), rows), batch(1, 1)}, {op.Gather, tensors(real(4, 2, 2, 3), rows), batch(2, 1)}, {op.Gather, tensors(real(5, 3, 2), indices([]int64{1})), batch(0, 0)},
		// With one element per line, the rule compares indices instead of scattering.
		{op.Gather, tensors(real(6, 2, 3), indices([]int64{2, 0}, 2)), batch(1, 1)}, {op.Gather, tensors(real(7, 2, 3, 2), indices([]int64{1, 1}, 2, 1)), batch(1, 1)},
		{op.Gather, tensors(real(8, 2, 2, 3), indices([]int64{0, 1, 2, 0}, 2, 2)), batch(2, 2)},
		{op.GatherElements, tensors(real(9, 3, 2), indices([]int64{2, 2, 0, 1}, 2, 2)), with(axis(0))}, {op.GatherElements, tensors(real(10, 2, 3), indices([]int64{2, 2, 0, 1}, 2, 2)), with(axis(1))},
		{op.Embedding, tensors(real(11, 3, 2), rows), nil}, {op.Embedding, tensors(real(12, 3, 2), rows), with(op.Int("padding", 2))}, {op.Embedding, tensors(real(13, 3, 2), rows), with(op.Int("padding", 0))},
		{op.TopK, tensors(real(14, 3, 4)), with(op.Int("k", 2), axis(1))}, {op.TopK, tensors(real(15, 3, 4)), with(op.Int("k", 2), axis(0), op.Flag("largest", false))},
		{op.Sort, tensors(real(16, 3, 4)), with(axis(1))}, {op.Sort, tensors(real(17, 3, 4)), with(axis(0), op.Flag("descending", true))},
	}
	for _, m := range []string{"assign", "add", "mul", "min", "max"} {
		table = append(table,
			example{op.Scatter, tensors(real(20, 3, 2), repeated, real(21, 4, 2)), mode(m, axis(0))},
			example{op.Scatter, tensors(real(22, 2, 3), repeated, real(23, 2, 4)), mode(m, axis(1))},
			example{op.Scatter, tensors(real(24, 2, 3), rows, real(25, 2, 2)), mode(m, batch(1, 1)...)},
			example{op.Scatter, tensors(real(26, 2, 2, 3), rows, real(27, 2, 2, 2)), mode(m, batch(2, 1)...)},
		)
	}
	differAll(t, table)
}

func TestReductionDifferences(t *testing.T) {
	keep, correction := op.Flag("keep_dims", true), op.Float("correction", 1)
	var all []example
	for _, c := range []op.Code{op.Sum, op.Mean, op.Prod, op.ReduceMax, op.ReduceMin, op.Variance, op.Std, op.LogSumExp} {
		x := real(uint64(c), 2, 3, 4)
		all = append(all, example{c, tensors(x), with(axes(1))}, example{c, tensors(x), with(axes(2, 0))}, example{c, tensors(x), with(axes(0, 2), keep)}, example{c, tensors(x), with(axes(0, 1, 2))})
		if c != op.Variance && c != op.Std {
			all = append(all, example{c, tensors(x), with(axes())})
		}
	}
	all = append(all, example{op.Variance, tensors(real(1, 3, 4)), with(axes(1), correction)}, example{op.Std, tensors(real(2, 3, 4)), with(axes(0), correction, keep)})
	for _, c := range []op.Code{op.CumSum, op.CumProd, op.CumMax, op.CumMin} {
		for _, exclusive := range []bool{false, true} {
			for _, reverse := range []bool{false, true} {
				more := with(op.Flag("exclusive", exclusive), op.Flag("reverse", reverse))
				all = append(all, example{c, tensors(real(uint64(c), 3, 4)), append(more, axis(1))}, example{c, tensors(real(uint64(c)+1, 2, 3, 2)), append(more, axis(1))})
				if c == op.CumProd { // quotients by x would be NaN
					all = append(all, example{c, tensors(numbers([]float64{2, 0, 3, 0, 5, 1.5, 0, -2}, 2, 4)), append(more, axis(1))})
				}
			}
		}
	}
	all = append(all, example{op.Prod, tensors(numbers([]float64{2, 0, 3, 0, 5, 0}, 2, 3)), with(axes(1))}, example{op.Prod, tensors(numbers([]float64{0, 4, 3}, 3)), with(axes(0))})
	differAll(t, all)
}
