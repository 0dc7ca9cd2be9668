package contraction_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, contraction.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

func random(r *rand.Rand, d dtype.DType, dims ...int) kerneltest.Operand {
	if d.Class() == dtype.Unsigned {
		return kerneltest.Random(r, d, 0, 100, dims...)
	}
	return kerneltest.Random(r, d, -2, 2, dims...)
}

func TestMatMul(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {1, 7, 5}, {7, 1, 5}, {5, 7, 1}, {3, 5, 17}, {17, 33, 9}, {15, 31, 40}, {65, 49, 13}, {2, 130, 100}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}} {
		m, n, k := s[0], s[1], s[2]
		for flags := range 4 {
			da, db := []int{m, k}, []int{k, n}
			if flags&1 != 0 {
				da = []int{k, m}
			}
			if flags&2 != 0 {
				db = []int{n, k}
			}
			b.Check(op.MatMul, list{random(r, dtype.F32, da...), random(r, dtype.F32, db...)}, op.Flag("transpose_a", flags&1 != 0), op.Flag("transpose_b", flags&2 != 0))
		}
	}
	for _, d := range dtype.Numbers.List() {
		b.Check(op.MatMul, list{random(r, d, 9, 21), random(r, d, 21, 17)})
		b.Check(op.MatMul, list{random(r, d, 1, 40), random(r, d, 40, 1)})
		b.Check(op.MatMul, list{random(r, d, 3, 2, 5), random(r, d, 3, 5, 7)}, op.Flag("transpose_a", false))
	}
	for _, dims := range [][2][]int{{{2, 1, 3, 4}, {5, 4, 6}}, {{4, 3}, {7, 3, 2}}, {{3, 2, 4}, {4, 5}}, {{0, 2, 3}, {3, 4}}, {{2, 3, 1, 4}, {2, 1, 4, 1}}} {
		b.Check(op.MatMul, list{random(r, dtype.F32, dims[0]...), random(r, dtype.F32, dims[1]...)})
	}
}

func TestLinear(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.BF16} {
		for _, s := range [][]int{{1, 1, 1}, {3, 5, 7}, {17, 9, 33}, {1, 70, 40}, {0, 3, 2}, {3, 0, 2}} { // rows, inputs, outputs
			for _, across := range []bool{false, true} {
				w := []int{s[1], s[2]}
				if across {
					w = []int{s[2], s[1]}
				}
				in := list{random(r, d, s[0], s[1]), random(r, d, w...), random(r, d, s[2])}
				b.Check(op.Linear, in, op.Flag("transpose_w", across))
				b.Check(op.Linear, in[:2], op.Flag("transpose_w", across))
			}
		}
		b.Check(op.Linear, list{random(r, d, 2, 3, 5), random(r, d, 5, 4), random(r, d, 4)})
	}
}

// Zero times NaN or infinity is NaN in either operand, and such an element affects only its row or column.
func TestProductSpecialValues(t *testing.T) {
	b := newBench(t)
	for _, s := range [][3]int{{1, 1, 3}, {1, 33, 9}, {9, 1, 20}, {7, 19, 5}, {20, 50, 33}} {
		m, n, k := s[0], s[1], s[2]
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.BF16} {
				x, w := kerneltest.Floats(d, []int{m, k}, 1, 0, -1), kerneltest.Floats(d, []int{k, n}, 0, 2)
				x.SetFloat(m*k-1, v)
				b.Check(op.MatMul, list{x, w})
				x.SetFloat(m*k-1, 0)
				w.SetFloat(k*n/2, v)
				b.Check(op.MatMul, list{x, w})
			}
		}
	}
}

// TestLongProducts compares sums of many terms with sums in float64.
func TestLongProducts(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(5, 6))
	for _, s := range [][3]int{{1, 1, 20_000}, {3, 5, 10_000}, {1, 40, 3000}, {33, 1, 3000}} {
		m, n, k := s[0], s[1], s[2]
		x, w := kerneltest.Random(r, dtype.F32, 0, 1, m, k), kerneltest.Random(r, dtype.F32, 0, 1, k, n)
		want := kerneltest.Floats(dtype.F32, []int{m, n}, 0)
		for i := range m * n {
			var sum float64
			for p := range k {
				sum += x.Float(i/n*k+p) * w.Float(p*n+i%n)
			}
			want.SetFloat(i, sum)
		}
		b.Expect(op.MatMul, list{x, w}, list{want}, 2e-5, 0)
	}
}

// conv is the geometry of a convolution. Lists have one entry per spatial dimension; nil is the default of each.
type conv struct {
	x, w                                     []int
	strides, lo, hi, dilation, inputDilation []int
	groups                                   int
}

func or(values []int, n, v int) []int {
	for len(values) < n {
		values = append(values, v)
	}
	return values
}

func (c conv) attrs() []op.Attr {
	n := len(c.x) - 2
	return []op.Attr{op.Ints("strides", or(c.strides, n, 1)...), op.Ints("pad_lo", or(c.lo, n, 0)...), op.Ints("pad_hi", or(c.hi, n, 0)...),
		op.Ints("kernel_dilation", or(c.dilation, n, 1)...), op.Ints("input_dilation", or(c.inputDilation, n, 1)...), op.Int("groups", max(1, c.groups))}
}

// convs are convolutions that select each strategy: matrix products for 1x1, patches, planes, depthwise, grouped and Winograd for 3x3.
// They have strides, dilations, asymmetric padding, cropping, one to three dimensions, and empty operands.
var convs = []conv{
	{x: []int{1, 1, 1, 1}, w: []int{1, 1, 1, 1}},
	{x: []int{2, 3, 5, 7}, w: []int{4, 3, 1, 1}},
	{x: []int{1, 17, 9, 9}, w: []int{33, 17, 1, 1}, strides: []int{2, 2}},
	{x: []int{1, 3, 9, 11}, w: []int{5, 3, 3, 3}, lo: []int{1, 1}, hi: []int{1, 1}},
	{x: []int{2, 16, 14, 15}, w: []int{16, 16, 3, 3}, lo: []int{1, 1}, hi: []int{1, 1}},
	{x: []int{1, 20, 17, 19}, w: []int{24, 20, 3, 3}},
	{x: []int{1, 4, 13, 13}, w: []int{6, 4, 5, 5}, lo: []int{2, 2}, hi: []int{2, 2}, strides: []int{2, 2}},
	{x: []int{1, 3, 21, 21}, w: []int{8, 3, 7, 7}, lo: []int{3, 3}, hi: []int{3, 3}, strides: []int{2, 2}},
	{x: []int{1, 4, 12, 9}, w: []int{5, 4, 3, 2}, dilation: []int{2, 3}, lo: []int{2, 0}, hi: []int{1, 3}},
	{x: []int{1, 4, 6, 5}, w: []int{5, 4, 3, 3}, inputDilation: []int{2, 2}, lo: []int{1, 1}, hi: []int{2, 2}},
	{x: []int{1, 3, 9, 9}, w: []int{4, 3, 3, 3}, lo: []int{-2, 1}, hi: []int{1, -3}},
	{x: []int{2, 7, 11, 13}, w: []int{7, 1, 3, 3}, lo: []int{1, 1}, hi: []int{1, 1}, groups: 7},
	{x: []int{1, 19, 12, 17}, w: []int{19, 1, 5, 5}, lo: []int{2, 2}, hi: []int{2, 2}, groups: 19},
	{x: []int{1, 5, 15, 15}, w: []int{5, 1, 3, 3}, strides: []int{2, 2}, lo: []int{1, 1}, hi: []int{1, 1}, groups: 5},
	{x: []int{1, 4, 9, 9}, w: []int{12, 1, 3, 3}, groups: 4},
	{x: []int{1, 6, 8, 8}, w: []int{9, 2, 3, 3}, lo: []int{1, 1}, hi: []int{1, 1}, groups: 3},
	{x: []int{2, 3, 17}, w: []int{4, 3, 5}, lo: []int{2}, hi: []int{2}},
	{x: []int{1, 2, 40}, w: []int{3, 2, 9}, strides: []int{3}, dilation: []int{2}},
	{x: []int{1, 2, 5, 6, 7}, w: []int{3, 2, 2, 3, 3}, lo: []int{1, 1, 1}, hi: []int{0, 1, 1}},
	{x: []int{0, 3, 5, 5}, w: []int{2, 3, 3, 3}},
	{x: []int{1, 0, 5, 5}, w: []int{2, 0, 3, 3}},
	{x: []int{1, 3, 5, 5}, w: []int{0, 3, 3, 3}},
	{x: []int{1, 3, 2, 5}, w: []int{2, 3, 3, 3}}, // no result
	{x: []int{1, 2, 1, 200}, w: []int{3, 2, 1, 3}, lo: []int{0, 1}, hi: []int{0, 1}},
}

func TestConv(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(7, 8))
	for _, c := range convs {
		b.Check(op.Conv, list{random(r, dtype.F32, c.x...), random(r, dtype.F32, c.w...)}, c.attrs()...)
	}
	for _, d := range dtype.Numbers.List() {
		for _, c := range []conv{convs[3], convs[11], convs[16]} {
			b.Check(op.Conv, list{random(r, d, c.x...), random(r, d, c.w...)}, c.attrs()...)
		}
	}
}

// One element of the input or of the weights is NaN or infinite; padding times an infinite weight is NaN.
func TestConvSpecialValues(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(9, 10))
	for _, k := range []int{1, 3, 4, 7, 11, 15} {
		c := convs[k]
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			for operand := range 2 {
				in := list{random(r, dtype.F32, c.x...), random(r, dtype.F32, c.w...)}
				in[operand].SetFloat(in[operand].Desc.Shape.Size()/2, v)
				b.Check(op.Conv, in, c.attrs()...)
			}
		}
	}
}

func zeroPoint(d dtype.DType) kerneltest.Operand {
	if d == dtype.I8 {
		return kerneltest.Ints(d, nil, -7)
	}
	return kerneltest.Ints(d, nil, 131)
}

// bytes returns random bytes of the whole range, many of them extremes, for which saturating instructions would overflow.
func bytes(r *rand.Rand, d dtype.DType, dims ...int) kerneltest.Operand {
	o := kerneltest.Ints(d, dims, 0)
	for i := range o.Data {
		o.Data[i] = byte(r.Uint32())
		if r.IntN(3) == 0 {
			o.Data[i] = [...]byte{0, 127, 128, 255}[r.IntN(4)]
		}
	}
	return o
}

func TestIntegerProducts(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(11, 12))
	for _, left := range []dtype.DType{dtype.U8, dtype.I8} {
		for _, right := range []dtype.DType{dtype.U8, dtype.I8} {
			for _, s := range [][3]int{{1, 1, 1}, {1, 40, 17}, {17, 1, 33}, {5, 7, 3}, {9, 33, 70}, {33, 17, 300}, {0, 3, 4}, {3, 4, 0}} {
				m, n, k := s[0], s[1], s[2]
				in := list{bytes(r, left, m, k), bytes(r, right, k, n), zeroPoint(left), zeroPoint(right)}
				for count := 2; count <= 4; count++ {
					b.Check(op.MatMulInteger, in[:count])
				}
			}
			for k, c := range convs {
				if k%2 == 0 || k < 4 {
					b.Check(op.ConvInteger, list{bytes(r, left, c.x...), bytes(r, right, c.w...), zeroPoint(left), zeroPoint(right)}, c.attrs()...)
				}
			}
		}
	}
	// Sums that need i32: the greatest products, all of one sign.
	for _, k := range []int{255, 256, 257, 1000} {
		x, w := kerneltest.Ints(dtype.U8, []int{2, k}, 255), kerneltest.Ints(dtype.U8, []int{k, 17}, 255)
		b.Expect(op.MatMulInteger, list{x, w}, list{kerneltest.Ints(dtype.I32, []int{2, 17}, int64(255*255*k))}, 0, 0)
		x, w = kerneltest.Ints(dtype.I8, []int{2, k}, -128), kerneltest.Ints(dtype.I8, []int{k, 17}, -128)
		b.Expect(op.MatMulInteger, list{x, w}, list{kerneltest.Ints(dtype.I32, []int{2, 17}, int64(128*128*k))}, 0, 0)
	}
}

// windows have rows of results longer and shorter than a vector, and windows that contain only padding.
var windows = []struct{ x, window, strides, lo, hi, dilation []int }{
	{x: []int{7}, window: []int{3}},
	{x: []int{2, 3, 9, 17}, window: []int{2, 2}, strides: []int{2, 2}},
	{x: []int{1, 2, 11, 19}, window: []int{3, 3}, strides: []int{2, 2}, lo: []int{1, 1}, hi: []int{1, 1}},
	{x: []int{2, 13, 33}, window: []int{3, 3}, lo: []int{1, 1}, hi: []int{1, 1}},
	{x: []int{5, 8, 8}, window: []int{8, 8}},
	{x: []int{1, 20, 20}, window: []int{5, 4}, strides: []int{3, 1}, dilation: []int{2, 3}},
	{x: []int{3, 6, 7}, window: []int{2, 2}, lo: []int{-1, 2}, hi: []int{1, -2}},
	{x: []int{2, 5}, window: []int{3}, lo: []int{4}, hi: []int{4}},
	{x: []int{2, 3, 4, 5}, window: []int{2, 2, 2}},
	{x: []int{0, 5, 5}, window: []int{2, 2}},
	{x: []int{2, 40}, window: []int{40}},
	{x: []int{3, 30}, window: []int{1}, strides: []int{3}},
}

func TestWindowReduce(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(13, 14))
	for _, w := range windows {
		n := len(w.window)
		attrs := []op.Attr{op.Ints("window", w.window...), op.Ints("strides", or(w.strides, n, 1)...), op.Ints("pad_lo", or(w.lo, n, 0)...),
			op.Ints("pad_hi", or(w.hi, n, 0)...), op.Ints("dilation", or(w.dilation, n, 1)...)}
		for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.I32, dtype.U8} {
			in := list{random(r, d, w.x...)}
			b.Check(op.WindowReduce, in, append(attrs, op.Str("reduce", "sum"))...)
			b.Check(op.WindowReduce, in, append(attrs, op.Str("reduce", "max"))...)
			b.Check(op.WindowReduce, in, append(attrs, op.Str("reduce", "max"), op.Flag("indices", true))...)
		}
		special := kerneltest.Random(r, dtype.F32, -1, 1, w.x...).Sprinkle(r, 9, math.NaN(), math.Inf(-1), math.Inf(1))
		b.Check(op.WindowReduce, list{special}, append(attrs, op.Str("reduce", "max"), op.Flag("indices", true))...)
		equal := kerneltest.Floats(dtype.F32, w.x, 0, math.Copysign(0, -1))
		b.Check(op.WindowReduce, list{equal}, append(attrs, op.Str("reduce", "max"), op.Flag("indices", true))...)
	}
}

func TestAvgPool(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct{ x, window, strides, lo, hi, overhang []int }{
		{x: []int{1, 1, 5}, window: []int{2}},
		{x: []int{2, 3, 9, 17}, window: []int{2, 2}, strides: []int{2, 2}},
		{x: []int{1, 2, 11, 19}, window: []int{3, 3}, strides: []int{2, 2}, lo: []int{1, 1}, hi: []int{1, 1}},
		{x: []int{1, 3, 8, 7}, window: []int{3, 2}, strides: []int{2, 2}, lo: []int{1, 0}, hi: []int{0, 1}, overhang: []int{1, 1}},
		{x: []int{2, 4, 7, 7}, window: []int{7, 7}},
	} {
		n := len(c.window)
		for _, counted := range []bool{false, true} {
			for _, d := range dtype.Floats.List() {
				b.Check(op.AvgPool, list{random(r, d, c.x...)}, op.Ints("window", c.window...), op.Ints("strides", or(c.strides, n, 1)...), op.Ints("pad_lo", or(c.lo, n, 0)...),
					op.Ints("pad_hi", or(c.hi, n, 0)...), op.Ints("overhang", or(c.overhang, n, 0)...), op.Ints("dilation", or(nil, n, 1)...), op.Flag("count_pad", counted))
			}
		}
	}
}
