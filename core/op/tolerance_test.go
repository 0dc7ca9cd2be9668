package op

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// Terms counts the loop iterations of the textbook's definition, and some more for a bias, a mean or a scale.
func TestTermsOfOps(t *testing.T) {
	d := func(dims ...int) Desc { return DescOf(dtype.F32, dims...) }
	i := func(dims ...int) Desc { return DescOf(dtype.I64, dims...) }
	axis := func(n int) []Attr { return []Attr{Int("axis", n)} }
	window := func(name string, size ...int) []Attr {
		ones, zeros := make([]int, len(size)), make([]int, len(size))
		for k := range ones {
			ones[k] = 1
		}
		a := []Attr{Ints("window", size...), Ints("strides", ones...), Ints("pad_lo", zeros...), Ints("pad_hi", zeros...), Ints("dilation", ones...)}
		if name == "overhang" {
			return append(a, Ints("overhang", zeros...))
		}
		return append(a, Str("reduce", name))
	}
	for _, c := range []struct {
		op    Code
		in    []Desc
		attrs []Attr
		want  int
	}{
		{Prod, []Desc{d(3, 5)}, []Attr{Ints("axes", 1)}, 5}, {Mean, []Desc{d(3, 5)}, []Attr{Ints("axes", 0)}, 3}, {Variance, []Desc{d(3, 5)}, []Attr{Ints("axes", 0, 1)}, 15}, {LogSumExp, []Desc{d(3, 0)}, []Attr{Ints("axes", 1)}, 0},
		{CumSum, []Desc{d(3, 5)}, axis(0), 3}, {CumProd, []Desc{d(3, 5)}, axis(1), 5}, {Softmax, []Desc{d(3, 5)}, axis(1), 5}, {Softmin, []Desc{d(3, 5)}, axis(0), 3}, {LogCumSumExp, []Desc{d(7)}, axis(0), 7},
		{WindowReduce, []Desc{d(9, 9)}, window("sum", 2, 3), 6}, {AvgPool, []Desc{d(9, 9)}, window("overhang", 4, 1), 4}, {LpPool, []Desc{d(9)}, window("overhang", 5), 5}, {MaxPool, []Desc{d(9)}, window("overhang", 3), 3},
		{MatMul, []Desc{d(7, 3, 5), d(7, 5, 2)}, nil, 5}, {MatMul, []Desc{d(7, 5, 3), d(7, 2, 5)}, []Attr{Flag("transpose_a", true), Flag("transpose_b", true)}, 5}, {Linear, []Desc{d(7, 3, 5), d(5, 2)}, nil, 6},
		{Scatter, []Desc{d(5, 3), i(4), d(4, 3)}, axis(0), 5}, {ScatterElements, []Desc{d(5, 3), i(2, 2), d(2, 2)}, axis(0), 5}, {ScatterND, []Desc{d(5, 3), i(4, 2), d(4)}, nil, 5}, {ScatterND, []Desc{d(5), i(2, 3, 0), d(2, 3, 5)}, nil, 7},
		{BatchNorm, []Desc{d(9, 3), d(3), d(3), d(3), d(3)}, nil, 4}, {LayerNorm, []Desc{d(2, 3, 4)}, axis(1), 16}, {RMSNorm, []Desc{d(2, 3, 4)}, axis(2), 8}, {GroupNorm, []Desc{d(2, 4, 3), d(4), d(4)}, []Attr{Int("groups", 2)}, 10},
		{LSTM, []Desc{d(3, 1, 5), d(1, 16, 5), d(1, 16, 4), d(1, 16), d(1, 1, 4), d(1, 1, 4)}, nil, 33}, {LSTM, []Desc{d(0, 1, 5), d(1, 16, 5), d(1, 16, 4), d(1, 16), d(1, 1, 4), d(1, 1, 4)}, nil, 11},
		{LpNormalize, []Desc{d(2, 5)}, axis(1), 9}, {LocalResponseNorm, []Desc{d(2, 5)}, []Attr{Int("size", 3)}, 7}, {Covariance, []Desc{d(3, 5)}, nil, 5}, {Covariance, []Desc{d(3, 0)}, nil, 1}, {Det, []Desc{d(2, 3, 3)}, nil, 3}, {QR, []Desc{d(2, 4, 3)}, nil, 7},
		{MatrixPower, []Desc{d(3, 3)}, []Attr{Int("n", -3)}, 12}, {MatrixPower, []Desc{d(3, 3)}, []Attr{Int("n", 3)}, 12}, {MatrixPower, []Desc{d(3, 3)}, []Attr{Int("n", 0)}, 3},
		{MSELoss, []Desc{d(4, 5), d(4, 5)}, nil, 28}, {Attention, []Desc{d(1, 2, 3, 4), d(1, 2, 5, 4), d(1, 2, 5, 7)}, nil, 13}, {FFT, []Desc{d(6, 2)}, axis(0), 6}, {RFFT, []Desc{d(6, 2)}, []Attr{Int("axis", 0), Int("n", 9)}, 9},
		{STFT, []Desc{d(32), d(8)}, []Attr{Int("n_fft", 8), Int("hop", 2)}, 8}, {KaiserWindow, nil, []Attr{Int("size", 5), Float("beta", 12.5)}, 14}, {CosineSimilarity, []Desc{d(2, 1, 3), d(9, 3)}, axis(2), 9},
		{Einsum, []Desc{d(3, 5), d(5, 4)}, []Attr{Str("equation", "ij,jk->")}, 60}, {Einsum, []Desc{d(2, 3, 5)}, []Attr{Str("equation", "...j->...")}, 5}, {Exp, []Desc{d(9)}, nil, 2},
	} {
		n, err := New(c.op, c.in, c.attrs...)
		require.NoError(t, err, "%v", c.op)
		require.Equal(t, c.want, Terms(&n, c.in), "%v of %v", c.op, c.in)
	}
}

// Bounds are units in the last place of the type, plus the accumulation of terms, which happens in f32 at least.
func TestBounds(t *testing.T) {
	for _, d := range []struct {
		t        dtype.DType
		eps, min float64
	}{{dtype.F64, math.Nextafter(1, 2) - 1, 0x1p-1022}, {dtype.F32, float64(math.Nextafter32(1, 2)) - 1, 0x1p-126}, {dtype.F16, 0x1p-10, 0x1p-14}, {dtype.BF16, 0x1p-7, 0x1p-126}} {
		rel, abs := Tolerance{Units: 3}.Bounds(d.t, 1000)
		require.Equal(t, []float64{3 * d.eps, d.min}, []float64{rel, abs}, "without terms: %v", d.t)
		one, least := Tolerance{Units: 3, PerTerm: true}.Bounds(d.t, 1)
		require.Equal(t, []float64{rel, abs}, []float64{one, least}, "one term adds nothing: %v", d.t)
		acc := min(d.eps, 0x1p-23)
		rel, abs = Tolerance{Units: 3, PerTerm: true}.Bounds(d.t, 100)
		require.InEpsilon(t, 3*d.eps+300*acc, rel, 1e-12)
		require.InEpsilon(t, d.min+300*acc, abs, 1e-12)
	}
	for _, c := range []struct {
		t Tolerance
		d dtype.DType
	}{{Tolerance{Exact: true, Units: 5, PerTerm: true}, dtype.F32}, {Tolerance{Units: 5, PerTerm: true}, dtype.I32}, {Tolerance{Units: 5}, dtype.Bool}} {
		rel, abs := c.t.Bounds(c.d, 9)
		require.Zero(t, rel+abs)
	}
}

func TestFlopsOfOps(t *testing.T) {
	f := func(dims ...int) Desc { return DescOf(dtype.F32, dims...) }
	u8 := func(dims ...int) Desc { return DescOf(dtype.U8, dims...) }
	conv := func(groups int) []Attr {
		return []Attr{Ints("strides", 1), Ints("pad_lo", 0), Ints("pad_hi", 0), Ints("kernel_dilation", 1), Ints("input_dilation", 1), Int("groups", groups)}
	}
	for _, c := range []struct {
		op    Code
		in    []Desc
		attrs []Attr
		want  int64
	}{
		{Linear, []Desc{f(5, 2, 3), f(3, 4), f(4)}, nil, 2 * 5 * 2 * 4 * 3}, {Linear, []Desc{f(3), f(4, 3)}, []Attr{Flag("transpose_w", true)}, 2 * 4 * 3}, {Linear, []Desc{f(2, 0), f(0, 4)}, nil, 0},
		{Conv, []Desc{f(2, 4, 9), f(6, 4, 3)}, conv(1), 2 * 2 * 6 * 7 * 4 * 3}, {Conv, []Desc{f(2, 4, 9), f(6, 2, 3)}, conv(2), 2 * 2 * 6 * 7 * 2 * 3}, {Conv, []Desc{f(2, 0, 9), f(0, 0, 3)}, conv(1), 0},
		{ConvInteger, []Desc{u8(1, 4, 9), u8(6, 4, 3)}, conv(1), 2 * 6 * 7 * 4 * 3}, {MatMulInteger, []Desc{u8(2, 3), u8(3, 5)}, nil, 2 * 2 * 5 * 3},
		{Attention, []Desc{f(1, 4, 3, 8), f(1, 2, 5, 8), f(1, 2, 5, 6)}, nil, 2 * 4 * 3 * 5 * (8 + 6)}, {Attention, []Desc{f(1, 1, 2, 0), f(1, 1, 3, 0), f(1, 1, 3, 2)}, nil, 0}, {Sum, []Desc{f(9)}, []Attr{Ints("axes", 0)}, 0},
	} {
		n, err := New(c.op, c.in, c.attrs...)
		require.NoError(t, err, "%v", c.op)
		require.Equal(t, c.want, Flops(&n, c.in), "%v of %v", c.op, c.in)
	}
}
