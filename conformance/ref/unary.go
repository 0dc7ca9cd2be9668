package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// both returns the kernel of an elementwise function of one operand: f for float types, i for integer types.
func both(f func(x float64) float64, i func(x int64) int64) kernel {
	return elementwise(scalarRule{
		f: func(_ element, x []float64) float64 { return f(x[0]) },
		i: func(_ element, x []int64) int64 { return i(x[0]) },
	})
}

var unaryKernels = map[op.Code]kernel{
	op.Neg: both(func(x float64) float64 { return -x }, func(x int64) int64 { return -x }),
	op.Abs: elementwise(scalarRule{
		f: func(_ element, x []float64) float64 { return math.Abs(x[0]) },
		i: func(e element, x []int64) int64 {
			if e.dtype.Class() == dtype.Signed && x[0] < 0 {
				return -x[0]
			}
			return x[0]
		},
	}),
	op.Exp: floats(math.Exp), op.Log: floats(log), op.Log1p: floats(math.Log1p), op.Expm1: floats(math.Expm1),
	op.Sqrt: floats(math.Sqrt), op.Sin: floats(sin), op.Cos: floats(cos), op.Tan: floats(tan),
	op.Asin: floats(asin), op.Acos: floats(acos), op.Atan: floats(math.Atan), op.Sinh: floats(sinh),
	op.Cosh: floats(cosh), op.Tanh: floats(math.Tanh), op.Erf: floats(math.Erf), op.Floor: floats(math.Floor),
	op.Ceil: floats(math.Ceil), op.Round: floats(math.RoundToEven), op.Trunc: floats(math.Trunc),
	op.Asinh: floats(math.Asinh), op.Acosh: floats(math.Acosh), op.Atanh: floats(math.Atanh),
	op.Not: elementwise(scalarRule{i: func(e element, x []int64) int64 {
		if e.dtype == dtype.Bool {
			return 1 - x[0]
		}
		return ^x[0]
	}}),
	op.IsNaN: floats(func(x float64) float64 { return bool01(math.IsNaN(x)) }),
	op.IsInf: elementwise(scalarRule{f: func(e element, x []float64) float64 {
		return bool01(math.IsInf(x[0], 1) && e.attrs.Bool("positive") || math.IsInf(x[0], -1) && e.attrs.Bool("negative"))
	}}),
	op.Reciprocal: floats(func(x float64) float64 { return 1 / x }),
	op.Rsqrt:      floats(func(x float64) float64 { return 1 / math.Sqrt(x) }),
	op.Square:     both(func(x float64) float64 { return x * x }, func(x int64) int64 { return x * x }),
	op.Sign: elementwise(scalarRule{
		f: func(_ element, x []float64) float64 {
			if math.IsNaN(x[0]) || x[0] == 0 {
				return x[0]
			}
			return math.Copysign(1, x[0])
		},
		i: func(e element, x []int64) int64 {
			return truth(lessInt(e.dtype, 0, x[0])) - truth(lessInt(e.dtype, x[0], 0))
		},
	}),
	op.Clamp: elementwise(scalarRule{
		f: func(e element, x []float64) float64 {
			lo, hi := scalar(e.attrs.Value("min"), e.dtype).F[0], scalar(e.attrs.Value("max"), e.dtype).F[0]
			return min(max(x[0], lo), hi)
		},
		i: func(e element, x []int64) int64 {
			y := x[0]
			if lo := scalar(e.attrs.Value("min"), e.dtype).I[0]; lessInt(e.dtype, y, lo) {
				y = lo
			}
			if hi := scalar(e.attrs.Value("max"), e.dtype).I[0]; lessInt(e.dtype, hi, y) {
				y = hi
			}
			return y
		},
	}),
}
