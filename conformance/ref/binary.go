package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func pairwise(f func(a, b float64) float64, i func(d dtype.DType, a, b int64) int64) kernel {
	return elementwise(scalarRule{
		f: func(_ element, x []float64) float64 { return f(x[0], x[1]) },
		i: func(e element, x []int64) int64 { return i(e.dtype, x[0], x[1]) },
	})
}

// compare returns a kernel of a predicate on whether a is less than, equal to, or greater than b; all are false with NaN.
func compare(holds func(less, equal, greater bool) bool) kernel {
	return pairwise(
		func(a, b float64) float64 { return bool01(holds(a < b, a == b, a > b)) },
		func(d dtype.DType, a, b int64) int64 { return truth(holds(lessInt(d, a, b), a == b, lessInt(d, b, a))) })
}

var binaryKernels = map[op.Code]kernel{
	op.Add: pairwise(func(a, b float64) float64 { return a + b }, func(_ dtype.DType, a, b int64) int64 { return a + b }),
	op.Sub: pairwise(func(a, b float64) float64 { return a - b }, func(_ dtype.DType, a, b int64) int64 { return a - b }),
	op.Mul: pairwise(func(a, b float64) float64 { return a * b }, func(_ dtype.DType, a, b int64) int64 { return a * b }),
	op.Div: pairwise(func(a, b float64) float64 { return a / b }, divInt),
	op.Rem: pairwise(math.Mod, remInt),
	op.FloorMod: pairwise(
		func(a, b float64) float64 {
			r := math.Mod(a, b)
			if r != 0 && r < 0 != (b < 0) {
				r += b
			}
			return r
		},
		func(d dtype.DType, a, b int64) int64 {
			r := remInt(d, a, b)
			if d.Class() == dtype.Signed && r != 0 && b != 0 && r < 0 != (b < 0) {
				r += b
			}
			return r
		}),
	op.Pow:   pairwise(math.Pow, powInt),
	op.Max:   pairwise(func(a, b float64) float64 { return max(a, b) }, func(d dtype.DType, a, b int64) int64 { return pickInt(lessInt(d, a, b), b, a) }),
	op.Min:   pairwise(func(a, b float64) float64 { return min(a, b) }, func(d dtype.DType, a, b int64) int64 { return pickInt(lessInt(d, b, a), b, a) }),
	op.Atan2: pairwise(math.Atan2, nil), // floats only

	op.Equal:        compare(func(_, equal, _ bool) bool { return equal }),
	op.NotEqual:     compare(func(_, equal, _ bool) bool { return !equal }),
	op.Less:         compare(func(less, _, _ bool) bool { return less }),
	op.LessEqual:    compare(func(less, equal, _ bool) bool { return less || equal }),
	op.Greater:      compare(func(_, _, greater bool) bool { return greater }),
	op.GreaterEqual: compare(func(_, equal, greater bool) bool { return greater || equal }),

	op.And: pairwise(nil, func(_ dtype.DType, a, b int64) int64 { return a & b }),
	op.Or:  pairwise(nil, func(_ dtype.DType, a, b int64) int64 { return a | b }),
	op.Xor: pairwise(nil, func(_ dtype.DType, a, b int64) int64 { return a ^ b }),
	op.Shl: pairwise(nil, func(d dtype.DType, a, b int64) int64 {
		if count := unsigned(d, b); count < uint64(8*d.Size()) {
			return a << count
		}
		return 0
	}),
	op.Shr: pairwise(nil, func(d dtype.DType, a, b int64) int64 {
		count := min(unsigned(d, b), uint64(8*d.Size()))
		if d.Class() == dtype.Signed {
			return a >> count
		}
		return int64(uint64(a) >> count)
	}),
}

// unsigned returns the bits of a value of type d as a number.
func unsigned(d dtype.DType, a int64) uint64 {
	return uint64(a) & (^uint64(0) >> (64 - 8*d.Size()))
}

func pickInt(c bool, a, b int64) int64 {
	if c {
		return a
	}
	return b
}

func divInt(d dtype.DType, a, b int64) int64 {
	switch {
	case b == 0:
		return -1
	case d.Class() == dtype.Unsigned:
		return int64(uint64(a) / uint64(b))
	}
	return a / b
}

func remInt(d dtype.DType, a, b int64) int64 {
	switch {
	case b == 0:
		return a
	case d.Class() == dtype.Unsigned:
		return int64(uint64(a) % uint64(b))
	}
	return a % b
}

func powInt(d dtype.DType, a, b int64) int64 {
	if d.Class() == dtype.Signed && b < 0 {
		switch {
		case a == 1 || a == -1 && b%2 == 0:
			return 1
		case a == -1:
			return -1
		}
		return 0
	}
	y := int64(1)
	for e := uint64(b); e > 0; e >>= 1 {
		if e&1 == 1 {
			y *= a
		}
		a *= a
	}
	return y
}
