package op_test

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// aligned returns the operands of ctc_loss.
func aligned(steps, batch, classes, labels int) []op.Desc {
	return ins(f(steps, batch, classes), i(batch, labels), i(batch), i(batch))
}

func init() {
	pairs := []op.Code{op.MSELoss, op.L1Loss, op.HuberLoss, op.SmoothL1Loss, op.BCELoss, op.BCEWithLogitsLoss, op.KLDivLoss, op.PoissonNLLLoss, op.HingeLoss, op.HingeEmbeddingLoss}
	none, sum := op.Str("reduction", "none"), op.Str("reduction", "sum")
	for _, c := range pairs {
		violations = append(violations, violation{c, "C1", ins(f(3), f(4)), nil, op.ErrShape})
		samples = append(samples, sample{c, ins(f(3, 4), f(3, 4)), nil}, sample{c, ins(f(5), f(5)), with(none)}, sample{c, ins(f(), f()), with(sum)})
	}
	labels := op.DescOf(dtype.I64, 4, 3)
	for _, c := range []op.Code{op.NLLLoss, op.CrossEntropyLoss} {
		violations = append(violations, violation{c, "C1", ins(f(3), i()), nil, op.ErrShape}, violation{c, "C2", ins(f(3, 5), i(5)), nil, op.ErrShape}, violation{c, "C3", ins(f(3, 5), i(3), f(3)), nil, op.ErrShape})
		samples = append(samples, sample{c, ins(f(4, 5, 3), labels), nil}, sample{c, ins(f(4, 5, 3), labels, f(5)), with(op.Int("ignore_index", 1))}, sample{c, ins(f(4, 5), i(4), f(5)), with(none)})
	}
	samples = append(samples, sample{op.CrossEntropyLoss, ins(f(4, 5), i(4), f(5)), with(op.Float("label_smoothing", 0.2))})
	for _, c := range []op.Code{op.HuberLoss, op.SmoothL1Loss} {
		violations = append(violations, violation{c, "C2", ins(f(3), f(3)), with(op.Float(map[op.Code]string{op.HuberLoss: "delta", op.SmoothL1Loss: "beta"}[c], 0)), op.ErrAttr})
	}
	violations = append(violations, []violation{
		{op.BCEWithLogitsLoss, "C2", ins(f(3), f(3), f(2)), nil, op.ErrShape}, {op.CosineEmbeddingLoss, "C1", ins(f(), f(), f()), nil, op.ErrShape}, {op.CosineEmbeddingLoss, "C1", ins(f(2, 3), f(3), f(2)), nil, op.ErrShape},
		{op.CosineEmbeddingLoss, "C2", ins(f(2, 3), f(2, 3), f(3)), nil, op.ErrShape}, {op.MarginRankingLoss, "C1", ins(f(2), f(2), f()), nil, op.ErrShape},
		{op.TripletMarginLoss, "C1", ins(f(2, 3), f(2, 3), f(3)), nil, op.ErrShape}, {op.TripletMarginLoss, "C2", ins(f(2, 3), f(2, 3), f(2, 3)), with(op.Float("p", 0)), op.ErrAttr},
		{op.CTCLoss, "C1", ins(f(3, 2), i(2, 2), i(2), i(2)), nil, op.ErrShape}, {op.CTCLoss, "C2", ins(f(3, 2, 4), i(3, 2), i(2), i(2)), nil, op.ErrShape}, {op.CTCLoss, "C2", ins(f(3, 2, 4), i(2, 2), i(), i(2)), nil, op.ErrShape},
		{op.CTCLoss, "C3", aligned(3, 2, 4, 2), with(op.Int("blank", 4)), op.ErrAttr},

		{op.GLU, "C1", ins(f(4)), axis(1), op.ErrShape}, {op.GLU, "C2", ins(f(3)), axis(0), op.ErrShape}, {op.SwiGLU, "C1", ins(f(4)), axis(1), op.ErrShape}, {op.SwiGLU, "C2", ins(f(3)), axis(0), op.ErrShape},
		{op.GeGLU, "C1", ins(f()), axis(0), op.ErrShape}, {op.GeGLU, "C2", ins(f(2, 1)), axis(1), op.ErrShape}, {op.Softmin, "C1", ins(f(2)), axis(1), op.ErrShape}, {op.Hardmax, "C1", ins(f(2)), axis(-1), op.ErrShape},

		{op.Roll, "C1", ins(f(3)), with(axes(1), op.Ints("shifts", 1)), op.ErrShape}, {op.Roll, "C1", ins(f(3, 3)), with(axes(1, 1), op.Ints("shifts", 1, 1)), op.ErrShape}, {op.Roll, "C2", ins(f(3)), with(axes(0), op.Ints("shifts")), op.ErrAttr},
		{op.Tile, "C1", ins(f(3)), with(op.Ints("repeats", 1, 1)), op.ErrAttr}, {op.Tile, "C1", ins(f(3)), with(op.Ints("repeats", -1)), op.ErrAttr}, {op.Tile, "C2", ins(f(3)), with(op.Ints("repeats", 1<<62)), op.ErrShape},
		{op.RepeatInterleave, "C1", ins(f(3)), with(op.Int("repeats", 2), op.Int("axis", 1)), op.ErrShape}, {op.RepeatInterleave, "C2", ins(f(3)), with(op.Int("repeats", -2), op.Int("axis", 0)), op.ErrAttr},
		{op.RepeatInterleave, "C2", ins(f(3)), with(op.Int("repeats", 1<<62), op.Int("axis", 0)), op.ErrAttr},
		{op.Stack, "C1", ins(f(3), f(3)), axis(2), op.ErrShape}, {op.Stack, "C2", ins(f(3), f(1)), axis(0), op.ErrShape},
		{op.Extend, "C1", ins(f(3)), with(op.Ints("lo"), op.Ints("hi", 1)), op.ErrShape}, {op.Extend, "C2", ins(f(3)), with(op.Ints("lo", -2), op.Ints("hi", -2)), op.ErrShape}, {op.Extend, "C3", ins(f(0)), with(op.Ints("lo", 1), op.Ints("hi", 0)), op.ErrShape},
		{op.MeshGrid, "C1", ins(f(3), f(1, 2)), nil, op.ErrShape}, {op.MeshGrid, "C2", ins(f(1), f(1), f(1), f(1), f(1), f(1), f(1), f(1), f(1)), nil, op.ErrShape},
		{op.Eye, "C1", nil, with(op.Int("rows", -1), op.Int("columns", 2), op.Type("dtype", dtype.F32)), op.ErrShape}, {op.Eye, "C1", nil, with(op.Int("rows", 1), op.Int("columns", 2), op.Int("diagonal", 1<<60), op.Type("dtype", dtype.F32)), op.ErrAttr},
		{op.LinSpace, "C1", nil, with(op.Float("start", 0), op.Float("stop", 1), op.Int("count", -1), op.Type("dtype", dtype.F32)), op.ErrShape},
		{op.LinSpace, "C2", nil, with(op.Float("start", 0), op.Float("stop", 1), op.Int("count", 2), op.Type("dtype", dtype.I32)), op.ErrDType},
		{op.LinSpace, "C3", nil, with(op.Float("start", 0), op.Float("stop", math.Inf(1)), op.Int("count", 2), op.Type("dtype", dtype.F32)), op.ErrAttr},
		{op.LpNormalize, "C1", ins(f(3)), axis(1), op.ErrShape}, {op.LpNormalize, "C2", ins(f(3)), with(op.Int("axis", 0), op.Float("p", -1)), op.ErrAttr},
		{op.LocalResponseNorm, "C1", ins(f(3)), with(op.Int("size", 1)), op.ErrShape}, {op.LocalResponseNorm, "C2", ins(f(3, 3)), with(op.Int("size", 0)), op.ErrAttr}, {op.Dropout, "C1", ins(f(3)), with(op.Int("seed", 1), op.Float("p", 1.5)), op.ErrAttr},
	}...)
	lo := func(n ...int) op.Attr { return op.Ints("lo", n...) }
	hi := func(n ...int) op.Attr { return op.Ints("hi", n...) }
	samples = append(samples, []sample{
		{op.BCEWithLogitsLoss, ins(f(3, 4), f(3, 4), f(4)), nil}, {op.CosineEmbeddingLoss, ins(f(3, 4), f(3, 4), f(3)), with(op.Float("margin", 0.2))}, {op.MarginRankingLoss, ins(f(3), f(3), f(3)), with(none)},
		{op.TripletMarginLoss, ins(f(3, 4), f(3, 4), f(3, 4)), with(op.Flag("swap", true))}, {op.TripletMarginLoss, ins(f(4), f(4), f(4)), with(op.Float("p", 1))}, {op.KLDivLoss, ins(f(4), f(4)), with(op.Flag("log_target", true))},
		{op.PoissonNLLLoss, ins(f(4), f(4)), with(op.Flag("full", true))}, {op.CTCLoss, aligned(4, 2, 3, 2), nil}, {op.CTCLoss, aligned(3, 2, 3, 1), with(none, op.Int("blank", 2))}, {op.CTCLoss, aligned(2, 2, 3, 0), with(sum)},
		{op.GLU, ins(f(3, 4)), axis(1)}, {op.SwiGLU, ins(f(4, 2)), axis(0)}, {op.GeGLU, ins(f(0, 4)), axis(1)}, {op.Softmin, ins(f(3, 4)), axis(1)}, {op.Hardmax, ins(f(3, 4)), axis(0)}, {op.Hardmax, ins(f(3, 0)), axis(1)},
		{op.Roll, ins(f(3, 5)), with(axes(1, 0), op.Ints("shifts", -2, 7))}, {op.Roll, ins(f(3, 0)), with(axes(1), op.Ints("shifts", 1))}, {op.Tile, ins(f(2, 3)), with(op.Ints("repeats", 2, 3))}, {op.Tile, ins(f(2, 3)), with(op.Ints("repeats", 0, 3))},
		{op.RepeatInterleave, ins(f(2, 3)), with(op.Int("repeats", 2), op.Int("axis", 0))}, {op.Stack, ins(f(2, 3), f(2, 3)), axis(1)},
		{op.Extend, ins(f(3, 4)), with(lo(4, 0), hi(1, 2))}, {op.Extend, ins(f(3, 4)), with(lo(4, -1), hi(1, 9), op.Str("mode", "symmetric"))}, {op.Extend, ins(f(1, 4)), with(lo(4, -1), hi(1, 9), op.Str("mode", "wrap"))},
		{op.Extend, ins(f(1, 4)), with(lo(4, 1), hi(1, 9))}, {op.Extend, ins(f(0, 4)), with(lo(0, 1), hi(0, 9), op.Str("mode", "edge"))}, {op.Extend, ins(f()), with(lo(), hi())}, {op.MeshGrid, ins(f(3), f(2), f(4)), nil}, {op.MeshGrid, ins(f(3)), nil},
		{op.Eye, nil, with(op.Int("rows", 3), op.Int("columns", 4), op.Int("diagonal", -1))}, {op.LinSpace, nil, with(op.Float("start", -1), op.Float("stop", 2), op.Int("count", 7))},
		{op.LpNormalize, ins(f(3, 4)), axis(1)}, {op.LpNormalize, ins(f(3, 4)), with(op.Int("axis", 0), op.Float("p", 1))}, {op.LocalResponseNorm, ins(f(2, 5, 3)), with(op.Int("size", 4), op.Float("alpha", 0.5))},
		{op.LocalResponseNorm, ins(f(2, 3)), with(op.Int("size", 40))}, {op.Dropout, ins(f(3, 4)), with(op.Int("seed", 5))}, {op.Dropout, ins(f(3, 4)), with(op.Int("seed", 5), op.Float("p", 1))},
	}...)
	inferences = append(inferences, []inference{
		{op.NLLLoss, ins(f(4, 5, 3), labels), nil, ins(f())}, {op.CrossEntropyLoss, ins(f(4, 5, 3), labels), with(none), ins(f(4, 3))}, {op.CosineEmbeddingLoss, ins(f(2, 3), f(2, 3), f(2)), with(none), ins(f(2))},
		{op.CTCLoss, aligned(5, 3, 4, 2), with(none), ins(f(3))}, {op.GLU, ins(f(3, 8)), axis(1), ins(f(3, 4))}, {op.Tile, ins(f(2, 3)), with(op.Ints("repeats", 2, 0)), ins(f(4, 0))},
		{op.RepeatInterleave, ins(f(2, 3)), with(op.Int("repeats", 4), op.Int("axis", 1)), ins(f(2, 12))}, {op.Stack, ins(f(2, 3), f(2, 3)), axis(2), ins(f(2, 3, 2))}, {op.Extend, ins(f(3, 4)), with(lo(4, -1), hi(1, 0)), ins(f(8, 3))},
		{op.MeshGrid, ins(f(3), f(2)), nil, ins(f(3, 2), f(3, 2))}, {op.Dropout, ins(f(3)), with(op.Int("seed", 1)), ins(f(3), b(3))},
	}...)
}
