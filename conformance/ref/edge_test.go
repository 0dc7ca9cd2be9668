package ref_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func vec(d dtype.DType, f ...float64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(d, len(f)), F: f}
}

func ivec(d dtype.DType, i ...int64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(d, len(i)), I: i}
}

// eval returns the results of the reference for a legal node.
func eval(t *testing.T, c op.Code, in []ref.Tensor, attrs ...op.Attr) ([]ref.Tensor, error) {
	var descs []op.Desc
	for _, x := range in {
		descs = append(descs, x.Desc)
	}
	n, err := op.New(c, descs, attrs...)
	require.NoError(t, err)
	return ref.Eval(&n, in)
}

// Ops follow the edge rules in the doc lines of the op table. The expected values are computed by hand.
func TestEdges(t *testing.T) {
	negZero := math.Copysign(0, -1)
	pair := func(a, b ref.Tensor) []ref.Tensor { return []ref.Tensor{a, b} }
	for _, c := range []struct {
		name  string
		op    op.Code
		in    []ref.Tensor
		attrs []op.Attr
		want  ref.Tensor
	}{
		{"least integer", op.Neg, []ref.Tensor{ivec(dtype.I8, -128, 5)}, nil, ivec(dtype.I8, -128, -5)},
		{"least integer", op.Abs, []ref.Tensor{ivec(dtype.I32, math.MinInt32, -5)}, nil, ivec(dtype.I32, math.MinInt32, 5)},
		{"wraps", op.Add, pair(ivec(dtype.U8, 200, 1), ivec(dtype.U8, 100, 1)), nil, ivec(dtype.U8, 44, 2)},
		{"toward zero", op.Div, pair(ivec(dtype.I32, -7, 7, -7, 7, math.MinInt32), ivec(dtype.I32, 2, -2, 0, 0, -1)), nil,
			ivec(dtype.I32, -3, -3, -1, -1, math.MinInt32)},
		{"by zero", op.Div, pair(ivec(dtype.U16, 9), ivec(dtype.U16, 0)), nil, ivec(dtype.U16, 65535)},
		{"large unsigned", op.Div, pair(ivec(dtype.U64, -1), ivec(dtype.U64, 2)), nil, ivec(dtype.U64, math.MaxInt64)},
		{"sign of a", op.Rem, pair(ivec(dtype.I64, -7, 7, 7, math.MinInt64), ivec(dtype.I64, 2, -2, 0, -1)), nil, ivec(dtype.I64, -1, 1, 7, 0)},
		{"sign of b", op.FloorMod, pair(ivec(dtype.I64, -7, 7, 7), ivec(dtype.I64, 2, -2, 0)), nil, ivec(dtype.I64, 1, -1, 7)},
		{"sign of b", op.FloorMod, pair(vec(dtype.F32, -7, 7), vec(dtype.F32, 2, -2)), nil, vec(dtype.F32, 1, -1)},
		{"negative exponent", op.Pow, pair(ivec(dtype.I32, 2, 1, -1, -1, 0), ivec(dtype.I32, -1, -5, -2, -3, -1)), nil, ivec(dtype.I32, 0, 1, 1, -1, 0)},
		{"wraps", op.Pow, pair(ivec(dtype.I8, 3, 2), ivec(dtype.I8, 5, 7)), nil, ivec(dtype.I8, -13, -128)},
		{"C pow", op.Pow, pair(vec(dtype.F64, 1, nan, -1, -8), vec(dtype.F64, nan, 0, inf, 1.0/3)), nil, vec(dtype.F64, 1, 1, 1, nan)},
		{"NaN and zeros", op.Max, pair(vec(dtype.F32, inf, nan, negZero, 0), vec(dtype.F32, nan, 1, 0, negZero)), nil, vec(dtype.F32, nan, nan, 0, 0)},
		{"NaN and zeros", op.Min, pair(vec(dtype.F32, -inf, nan, negZero, 0), vec(dtype.F32, nan, 1, 0, negZero)), nil,
			vec(dtype.F32, nan, nan, negZero, negZero)},
		{"ties to even", op.Round, []ref.Tensor{vec(dtype.F32, 0.5, 1.5, 2.5, -0.5)}, nil, vec(dtype.F32, 0, 2, 2, negZero)},
		{"zeros stay", op.Sign, []ref.Tensor{vec(dtype.F32, negZero, nan, -3, inf)}, nil, vec(dtype.F32, negZero, nan, -1, 1)},
		{"width or more", op.Shl, pair(ivec(dtype.I8, 1, 1, 1, 1), ivec(dtype.I8, 7, 8, -1, 0)), nil, ivec(dtype.I8, -128, 0, 0, 1)},
		{"keeps the sign", op.Shr, pair(ivec(dtype.I8, -128, -128, 127), ivec(dtype.I8, 7, -1, 100)), nil, ivec(dtype.I8, -1, -1, 0)},
		{"unsigned", op.Shr, pair(ivec(dtype.U64, -1, -1), ivec(dtype.U64, 63, 64)), nil, ivec(dtype.U64, 1, 0)},
		{"bool", op.Not, []ref.Tensor{ivec(dtype.Bool, 0, 1)}, nil, ivec(dtype.Bool, 1, 0)},
		{"NaN bound", op.Clamp, []ref.Tensor{vec(dtype.F32, nan, 5, -5)}, []op.Attr{op.ScalarFloat("min", 3), op.ScalarFloat("max", 1)}, vec(dtype.F32, nan, 1, 1)},
		{"infinite bounds", op.Clamp, []ref.Tensor{ivec(dtype.I8, -128, 127)}, nil, ivec(dtype.I8, -128, 127)},
		{"of none", op.ReduceMax, []ref.Tensor{ivec(dtype.I16)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{I: []int64{-32768}}},
		{"of none", op.ReduceMin, []ref.Tensor{ivec(dtype.U8)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{I: []int64{255}}},
		{"of none", op.ReduceMin, []ref.Tensor{vec(dtype.F32)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{F: []float64{inf}}},
		{"of none", op.Prod, []ref.Tensor{vec(dtype.F32)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{F: []float64{1}}},
		{"of none", op.Mean, []ref.Tensor{vec(dtype.F32)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{F: []float64{nan}}},
		{"first NaN", op.ArgMin, []ref.Tensor{vec(dtype.F32, 1, nan, 0, nan)}, []op.Attr{op.Int("axis", 0)}, ref.Tensor{I: []int64{1}}},
		{"first of equals", op.ArgMax, []ref.Tensor{vec(dtype.F32, 1, 3, 3, 2)}, []op.Attr{op.Int("axis", 0)}, ref.Tensor{I: []int64{1}}},
		{"exclusive from the end", op.CumMax, []ref.Tensor{vec(dtype.F32, 1, 3, nan, 2)},
			[]op.Attr{op.Int("axis", 0), op.Flag("exclusive", true), op.Flag("reverse", true)}, vec(dtype.F32, nan, nan, 2, -inf)},
		{"one rounding", op.Sum, []ref.Tensor{vec(dtype.F16, 2048, 1, 1)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{F: []float64{2050}}},
		{"cancelling", op.Sum, []ref.Tensor{vec(dtype.F64, 1e100, 1, -1e100)}, []op.Attr{op.Ints("axes", 0)}, ref.Tensor{F: []float64{1}}},
		{"saturates", op.Cast, []ref.Tensor{vec(dtype.F32, nan, inf, -inf, -1.9, 300)}, []op.Attr{op.Type("dtype", dtype.I8)}, ivec(dtype.I8, 0, 127, -128, -1, 127)},
		{"saturates", op.Cast, []ref.Tensor{vec(dtype.F64, 1e30, -3, 0x1p63)}, []op.Attr{op.Type("dtype", dtype.U64)}, ivec(dtype.U64, -1, 0, math.MinInt64)},
		{"low bits", op.Cast, []ref.Tensor{ivec(dtype.I32, 0x1ff, -1)}, []op.Attr{op.Type("dtype", dtype.U8)}, ivec(dtype.U8, 255, 255)},
		{"rounds once", op.Cast, []ref.Tensor{ivec(dtype.I64, 1<<53+1, 0x40000040_00000001)}, []op.Attr{op.Type("dtype", dtype.F32)},
			vec(dtype.F32, 0x1p53, 0x1.000002p62)},
		{"overflows", op.Cast, []ref.Tensor{vec(dtype.F32, 65519, 65520)}, []op.Attr{op.Type("dtype", dtype.F16)}, vec(dtype.F16, 65504, inf)},
		{"not zero", op.Cast, []ref.Tensor{vec(dtype.F32, nan, 0.1, negZero)}, []op.Attr{op.Type("dtype", dtype.Bool)}, ivec(dtype.Bool, 1, 1, 0)},
		{"last wins", op.Scatter, []ref.Tensor{vec(dtype.F32, 0, 0), ivec(dtype.I64, 1, 1), vec(dtype.F32, 5, 6)}, []op.Attr{op.Int("axis", 0)},
			vec(dtype.F32, 0, 6)},
		{"half of u8", op.Quantize, []ref.Tensor{vec(dtype.F32, 2.5, 3.5, nan, inf, -inf), {F: []float64{1}, Desc: op.DescOf(dtype.F32)},
			{I: []int64{10}, Desc: op.DescOf(dtype.U8)}}, nil, ivec(dtype.U8, 12, 14, 10, 255, 0)},
	} {
		t.Run(c.op.String()+" "+c.name, func(t *testing.T) {
			got, err := eval(t, c.op, c.in, c.attrs...)
			require.NoError(t, err)
			require.Equal(t, c.want.I, got[0].I)
			require.Len(t, got[0].F, len(c.want.F))
			for i, w := range c.want.F {
				g := got[0].F[i]
				require.True(t, math.IsNaN(w) && math.IsNaN(g) || math.Float64bits(w) == math.Float64bits(g), "element %d: %v, want %v", i, g, w)
			}
		})
	}
}

// MatMul does not skip zero times infinity, and WindowReduce does not take padding for elements.
func TestContractionEdges(t *testing.T) {
	a := ref.Tensor{Desc: op.DescOf(dtype.F32, 1, 2), F: []float64{0, 1}}
	b := ref.Tensor{Desc: op.DescOf(dtype.F32, 2, 1), F: []float64{inf, 1}}
	got, err := eval(t, op.MatMul, []ref.Tensor{a, b})
	require.NoError(t, err)
	require.True(t, math.IsNaN(got[0].F[0]))

	x := ref.Tensor{Desc: op.DescOf(dtype.F32, 1, 3), F: []float64{-1, -2, nan}}
	got, err = eval(t, op.WindowReduce, []ref.Tensor{x}, op.Str("reduce", "max"), op.Ints("window", 2), op.Ints("strides", 2), op.Ints("pad_lo", 2),
		op.Ints("pad_hi", 1), op.Ints("dilation", 1), op.Flag("indices", true))
	require.NoError(t, err)
	require.Equal(t, []int64{-1, 0, 2}, got[1].I)
	require.Equal(t, []float64{-inf, -1}, got[0].F[:2])
	require.True(t, math.IsNaN(got[0].F[2]))
}

func TestIndexOutside(t *testing.T) {
	x := vec(dtype.F32, 1, 2, 3)
	for _, i := range []int64{-1, 3} {
		for _, c := range []struct {
			op    op.Code
			in    []ref.Tensor
			attrs []op.Attr
		}{
			{op.Gather, []ref.Tensor{x, ivec(dtype.I64, 0, i, 1)}, []op.Attr{op.Int("axis", 0)}},
			{op.Scatter, []ref.Tensor{x, ivec(dtype.I32, i), vec(dtype.F32, 9)}, []op.Attr{op.Int("axis", 0)}},
			{op.GatherElements, []ref.Tensor{x, ivec(dtype.I64, i)}, []op.Attr{op.Int("axis", 0)}},
			{op.ScatterElements, []ref.Tensor{x, ivec(dtype.I64, i), vec(dtype.F32, 9)}, []op.Attr{op.Int("axis", 0)}},
			{op.GatherND, []ref.Tensor{x, ivec(dtype.I64, i)}, nil},
			{op.ScatterND, []ref.Tensor{x, ivec(dtype.I64, i), {Desc: op.DescOf(dtype.F32), F: []float64{9}}}, nil},
		} {
			_, err := eval(t, c.op, c.in, c.attrs...)
			require.ErrorIs(t, err, core.ErrIndex, "%v at %d", c.op, i)
		}
	}
}

func TestBytesRoundTrip(t *testing.T) {
	for _, d := range dtype.All() {
		in := ref.Zeros(op.DescOf(d, 3))
		for i, v := range []float64{0, 1, 2} {
			if in.F != nil {
				in.F[i] = v - 1.5
			} else {
				in.I[i] = ref.Wrap(d, int64(v)-1)
			}
		}
		b := in.Bytes()
		require.Len(t, b, in.Desc.Bytes())
		out, err := ref.FromBytes(in.Desc, b)
		require.NoError(t, err)
		require.Equal(t, in, out, d)
		_, err = ref.FromBytes(in.Desc, b[1:])
		require.ErrorIs(t, err, core.ErrShape)
	}
}

func TestEveryOpHasAReference(t *testing.T) {
	for _, c := range op.All() {
		require.True(t, ref.Has(c), "%v", c)
	}
}
