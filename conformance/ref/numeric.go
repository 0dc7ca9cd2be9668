package ref

import (
	"math"
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var numericKernels = map[op.Code]kernel{
	op.Lerp: elementwise(scalarRule{f: func(_ element, x []float64) float64 { return x[0] + x[2]*(x[1]-x[0]) }}),
	op.Frac: floats(func(x float64) float64 { return x - math.Trunc(x) }), op.RoundAway: floats(math.Round),
	op.Exp2: floats(math.Exp2), op.Log2: floats(func(x float64) float64 { return log(x) / math.Ln2 }), op.Log10: floats(func(x float64) float64 { return log(x) / math.Ln10 }),
	op.LogAddExp: pairwise(logAdd, nil),
	op.FloorDiv: elementwise(scalarRule{
		f: func(e element, x []float64) float64 { return math.Floor(Round(e.dtype, x[0]/x[1])) },
		i: func(e element, x []int64) int64 {
			q := divInt(e.dtype, x[0], x[1])
			if e.dtype.Class() == dtype.Signed && x[1] != 0 && remInt(e.dtype, x[0], x[1]) != 0 && x[0] < 0 != (x[1] < 0) {
				q--
			}
			return q
		},
	}),
	op.IsFinite: floats(func(x float64) float64 { return bool01(!math.IsInf(x, 0) && !math.IsNaN(x)) }),
	op.BitCount: elementwise(scalarRule{i: func(e element, x []int64) int64 {
		return int64(bits.OnesCount64(uint64(x[0]) << (64 - 8*e.dtype.Size())))
	}}),
}
