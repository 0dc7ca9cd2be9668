package ref_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func tensor(d dtype.DType, dims []int, f ...float64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(d, dims...), F: f}
}

func itensor(d dtype.DType, dims []int, i ...int64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(d, dims...), I: i}
}

// counting returns a tensor with the elements 1, 2, 3 and so on.
func counting(d dtype.DType, dims ...int) ref.Tensor {
	x := ref.Zeros(op.DescOf(d, dims...))
	for i := range x.Desc.Shape.Size() {
		if x.F != nil {
			x.F[i] = float64(i + 1)
		} else {
			x.I[i] = int64(i + 1)
		}
	}
	return x
}

// Each op that takes indices accepts the first and the last legal index, and fails with core.ErrIndex at the first index behind the
// end, at -1 and at 2^40.
func TestIndexBounds(t *testing.T) {
	type call struct {
		op    op.Code
		in    func(i int64) []ref.Tensor
		attrs []op.Attr
		size  int64 // the first index that is outside
	}
	one := func(i int64) ref.Tensor { return ivec(dtype.I64, i) }
	for _, c := range []call{
		{op.Embedding, func(i int64) []ref.Tensor { return []ref.Tensor{counting(dtype.F32, 4, 2), one(i)} }, nil, 4},
		{op.CacheWrite, func(i int64) []ref.Tensor {
			return []ref.Tensor{counting(dtype.F32, 1, 5), one(i), counting(dtype.F32, 1, 2)}
		}, []op.Attr{op.Int("axis", 1)}, 4}, // two elements from i on in five
		{op.MaxUnpool, func(i int64) []ref.Tensor {
			return []ref.Tensor{counting(dtype.F32, 1, 1, 1), itensor(dtype.I64, []int{1, 1, 1}, i)}
		},
			[]op.Attr{op.Ints("size", 6)}, 6},
		{op.RoiAlign, func(i int64) []ref.Tensor {
			return []ref.Tensor{counting(dtype.F32, 3, 1, 2, 2), one(i), tensor(dtype.F32, []int{1, 4}, 0, 0, 1, 1)}
		}, []op.Attr{op.Ints("size", 1, 1), op.Int("samples", 1)}, 3},
		{op.NLLLoss, func(i int64) []ref.Tensor { return []ref.Tensor{counting(dtype.F32, 1, 3), one(i)} }, nil, 3},
		{op.CrossEntropyLoss, func(i int64) []ref.Tensor { return []ref.Tensor{counting(dtype.F32, 1, 3), one(i)} }, nil, 3},
		{op.Gather, func(i int64) []ref.Tensor { return []ref.Tensor{counting(dtype.F32, 2, 7), one(i)} }, []op.Attr{op.Int("axis", 1)}, 7},
		{op.GatherND, func(i int64) []ref.Tensor { return []ref.Tensor{counting(dtype.F32, 2, 7), ivec(dtype.I64, 1, i)} }, nil, 7},
		{op.GatherElements, func(i int64) []ref.Tensor {
			return []ref.Tensor{counting(dtype.F32, 2, 7), itensor(dtype.I64, []int{1, 1}, i)}
		},
			[]op.Attr{op.Int("axis", 1)}, 7},
	} {
		_, err := eval(t, c.op, c.in(0), c.attrs...)
		require.NoError(t, err, c.op)
		_, err = eval(t, c.op, c.in(c.size-1), c.attrs...)
		require.NoError(t, err, c.op)
		for _, i := range []int64{c.size, -1, 1 << 40} {
			_, err = eval(t, c.op, c.in(i), c.attrs...)
			require.ErrorIs(t, err, core.ErrIndex, "%v at %d", c.op, i)
			require.Regexp(t, "^"+c.op.String()+`: index -?\d+, want one in \[0,\d+\)`, err.Error())
		}
	}
}

// Ops on integers, which golden files made with floating-point libraries lack, return results computed by hand.
func TestIntegerOperands(t *testing.T) {
	for _, c := range []struct {
		name  string
		op    op.Code
		in    []ref.Tensor
		attrs []op.Attr
		want  []int64
	}{
		{"linear adds the bias of each column", op.Linear,
			[]ref.Tensor{itensor(dtype.I32, []int{2, 2}, 1, 2, 3, 4), itensor(dtype.I32, []int{2, 3}, 1, 0, 2, 0, 1, 3), ivec(dtype.I32, 10, 20, 30)}, nil,
			[]int64{11, 22, 38, 13, 24, 48}},
		{"matmul wraps", op.MatMul, []ref.Tensor{itensor(dtype.U8, []int{1, 2}, 200, 2), itensor(dtype.U8, []int{2, 1}, 2, 100)}, nil, []int64{88}},
		{"trace wraps", op.Trace, []ref.Tensor{itensor(dtype.I8, []int{2, 2}, 100, 1, 2, 100)}, nil, []int64{-56}},
		{"outer", op.Outer, []ref.Tensor{ivec(dtype.I16, 300, -2), ivec(dtype.I16, 200, 3, 1)}, nil, []int64{-5536, 900, 300, -400, -6, -2}},
		{"kron", op.Kron, []ref.Tensor{itensor(dtype.U8, []int{1, 2}, 2, 100), itensor(dtype.U8, []int{2, 1}, 3, 5)}, nil, []int64{6, 44, 10, 244}},
		{"cross", op.Cross, []ref.Tensor{ivec(dtype.I8, 100, 0, 0), ivec(dtype.I8, 0, 2, 3)}, []op.Attr{op.Int("axis", 0)}, []int64{0, -44, -56}},
		{"window sum", op.WindowReduce, []ref.Tensor{itensor(dtype.I8, []int{1, 3}, 100, 100, -3)},
			[]op.Attr{op.Str("reduce", "sum"), op.Ints("window", 2), op.Ints("strides", 1), op.Ints("pad_lo", 0), op.Ints("pad_hi", 1), op.Ints("dilation", 1)},
			[]int64{-56, 97, -3}},
		{"window maximum of u64", op.WindowReduce, []ref.Tensor{itensor(dtype.U64, []int{1, 2}, 5, -1)},
			[]op.Attr{op.Str("reduce", "max"), op.Ints("window", 1), op.Ints("strides", 1), op.Ints("pad_lo", 1), op.Ints("pad_hi", 0), op.Ints("dilation", 1)},
			[]int64{0, 5, -1}},
		{"one hot before the axis", op.OneHot, []ref.Tensor{itensor(dtype.I64, []int{2, 3}, 0, 1, 2, 2, -1, 3)}, []op.Attr{op.Int("axis", 1), op.Int("depth", 3), op.Type("dtype", dtype.I32)},
			[]int64{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0}},
		{"hard maximum", op.Hardmax, []ref.Tensor{itensor(dtype.U64, []int{2, 3}, 1, -1, -1, 4, 4, 2)}, []op.Attr{op.Int("axis", 1)}, []int64{0, 1, 0, 1, 0, 0}},
		{"nonzero", op.NonZero, []ref.Tensor{itensor(dtype.U8, []int{2, 2}, 0, 7, 9, 0)}, nil, []int64{0, 1, 1, 0, 0, 0, 0, 0}},
		{"unique of u64", op.Unique, []ref.Tensor{ivec(dtype.U64, -1, 3, -1, 0)}, []op.Attr{op.Flag("sorted", true)}, []int64{0, 3, -1, 0}},
		{"unique in order", op.Unique, []ref.Tensor{ivec(dtype.I8, 5, -3, 5, 0)}, []op.Attr{op.Flag("sorted", false)}, []int64{5, -3, 0, 0}},
		{"running argument", op.CumArgMax, []ref.Tensor{ivec(dtype.U64, 3, 3, -1, 7, -1)}, []op.Attr{op.Int("axis", 0)}, []int64{0, 0, 2, 2, 2}},
		{"places of values", op.SearchSorted, []ref.Tensor{ivec(dtype.U64, 2, 4, 4, -1), ivec(dtype.U64, 0, 4, -2, -1)}, []op.Attr{op.Flag("right", false)}, []int64{0, 1, 3, 3}},
		{"places behind values", op.SearchSorted, []ref.Tensor{ivec(dtype.U64, 2, 4, 4, -1), ivec(dtype.U64, 0, 4, -2, -1)}, []op.Attr{op.Flag("right", true)}, []int64{0, 3, 3, 4}},
	} {
		t.Run(c.op.String()+" "+c.name, func(t *testing.T) {
			got, err := eval(t, c.op, c.in, c.attrs...)
			require.NoError(t, err)
			require.Equal(t, c.want, got[0].I)
		})
	}
}

// The sign of a determinant counts the row swaps, in matrices of even and odd size, with and without swaps.
func TestDeterminantSigns(t *testing.T) {
	for _, c := range []struct {
		rows []float64
		want float64
	}{
		{[]float64{3}, 3}, {[]float64{-3}, -3}, {[]float64{2, 1, 1, 2}, 3}, {[]float64{1, 2, 2, 1}, -3}, {[]float64{0, 1, 1, 0}, -1},
		{[]float64{2, 0, 0, 0, 3, 0, 0, 0, 5}, 30}, {[]float64{0, 0, 5, 0, 3, 0, 2, 0, 0}, -30}, {[]float64{0, 3, 0, 0, 0, 5, 2, 0, 0}, 30},
		{[]float64{-2, 0, 0, 0, -3, 0, 0, 0, -5}, -30}, {[]float64{1, 2, 3, 2, 4, 6, 1, 1, 1}, 0}, {[]float64{0, 0, 0, 0}, 0},
	} {
		n := map[int]int{1: 1, 4: 2, 9: 3}[len(c.rows)]
		x := tensor(dtype.F64, []int{n, n}, c.rows...)
		det, err := eval(t, op.Det, []ref.Tensor{x})
		require.NoError(t, err)
		require.InDelta(t, c.want, det[0].F[0], 1e-13, c.rows)
		split, err := eval(t, op.SlogDet, []ref.Tensor{x})
		require.NoError(t, err)
		switch sign := split[0].F[0]; {
		case c.want == 0:
			require.Zero(t, sign)
			require.Equal(t, -inf, split[1].F[0])
		case c.want < 0:
			require.Equal(t, -1.0, sign)
		default:
			require.Equal(t, 1.0, sign)
		}
	}
}

// The factors of each factorisation multiply to the matrix, also for matrices that need row swaps and for wide, tall and singular ones.
func TestFactorsMultiply(t *testing.T) {
	for _, c := range []struct {
		m, n int
		rows []float64
	}{
		{2, 2, []float64{0, 1, 2, 3}}, {3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 10}}, {3, 3, []float64{1, 2, 3, 2, 4, 6, 3, 6, 9}},
		{2, 4, []float64{0, 0, 3, 1, 5, -2, 7, 0}}, {4, 2, []float64{0, 0, 3, 1, 5, -2, 7, 0}}, {1, 1, []float64{-2}},
	} {
		x := tensor(dtype.F64, []int{c.m, c.n}, c.rows...)
		k := min(c.m, c.n)
		times := func(a, b []float64, inner int) []float64 {
			out := make([]float64, c.m*c.n)
			for i := range c.m {
				for j := range c.n {
					for l := range inner {
						out[i*c.n+j] += a[i*inner+l] * b[l*c.n+j]
					}
				}
			}
			return out
		}
		for _, complete := range []bool{false, true} {
			qr, err := eval(t, op.QR, []ref.Tensor{x}, op.Flag("complete", complete))
			require.NoError(t, err)
			inner := k
			if complete {
				inner = c.m
			}
			require.InDeltaSlice(t, c.rows, times(qr[0].F, qr[1].F, inner), 1e-12, "qr of %v", c.rows)
			for i := range inner {
				for j := range c.n {
					if j < i {
						require.Zero(t, qr[1].F[i*c.n+j], "r is upper triangular")
					}
				}
				if i < c.n {
					require.GreaterOrEqual(t, qr[1].F[i*c.n+i], 0.0, "the diagonal of r is not negative")
				}
				for j := range inner {
					dot := 0.0
					for l := range c.m {
						dot += qr[0].F[l*inner+i] * qr[0].F[l*inner+j]
					}
					require.InDelta(t, map[bool]float64{true: 1}[i == j], dot, 1e-12, "columns of q")
				}
			}
		}
		svd, err := eval(t, op.SVD, []ref.Tensor{x})
		require.NoError(t, err)
		scaled := make([]float64, c.m*k)
		for i := range c.m {
			for j := range k {
				scaled[i*k+j] = svd[0].F[i*k+j] * svd[1].F[j]
				if j > 0 {
					require.GreaterOrEqual(t, svd[1].F[j-1], svd[1].F[j])
				}
			}
		}
		require.InDeltaSlice(t, c.rows, times(scaled, svd[2].F, k), 1e-12, "svd of %v", c.rows)
		lu, err := eval(t, op.LU, []ref.Tensor{x})
		require.NoError(t, err)
		lower, upper := make([]float64, c.m*k), make([]float64, k*c.n)
		for i := range c.m {
			for j := range c.n {
				switch f := lu[0].F[i*c.n+j]; {
				case j < i && j < k:
					lower[i*k+j] = f
					require.LessOrEqual(t, max(f, -f), 1.0, "pivots are the greatest of their column")
				case i < k:
					upper[i*c.n+j] = f
				}
			}
			if i < k {
				lower[i*k+i] = 1
			}
		}
		back := make([]float64, c.m*c.n)
		for i, from := range lu[2].I {
			copy(back[int(from)*c.n:][:c.n], times(lower, upper, k)[i*c.n:])
		}
		require.InDeltaSlice(t, c.rows, back, 1e-12, "lu of %v", c.rows)
	}
}
