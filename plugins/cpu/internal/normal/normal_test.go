package normal_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/normal"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, normal.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

var (
	nan, inf  = math.NaN(), math.Inf(1)
	softmaxes = []op.Code{op.Softmax, op.LogSoftmax}
)

// shapes lists shapes with lines whose length is no multiple of a vector, lines longer than a part, and axes followed by at
// least 32 columns, which are computed in strips.
var shapes = [][]int{{1}, {7}, {17}, {1031}, {5, 33}, {33, 5}, {3, 515}, {5, 32}, {9, 47}, {130, 3}, {3, 4, 5}, {2, 7, 37}, {2, 1, 300}}

func TestSoftmax(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, dims := range shapes {
		for axis := range dims {
			x := kerneltest.Random(r, dtype.F32, -9, 9, dims...)
			for _, c := range softmaxes {
				b.Check(c, list{x}, op.Int("axis", axis))
			}
		}
	}
	for _, d := range dtype.Floats.List() {
		x := kerneltest.Random(r, d, -4, 4, 3, 5, 37)
		for axis := range 3 {
			for _, c := range softmaxes {
				b.Check(c, list{x}, op.Int("axis", axis))
			}
		}
	}
}

func TestSoftmaxEmpty(t *testing.T) {
	b := newBench(t)
	for _, dims := range [][]int{{0}, {0, 3}, {3, 0}, {2, 0, 40}, {0, 2, 40}} {
		for axis := range dims {
			for _, c := range softmaxes {
				b.Check(c, list{kerneltest.Floats(dtype.F32, dims)}, op.Int("axis", axis))
			}
		}
	}
}

// Numbers of any magnitude do not overflow, a NaN affects only its line, and minus infinity has weight zero.
func TestSoftmaxSpecialValues(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ x, want []float64 }{
		{[]float64{1e30, 1e30}, []float64{0.5, 0.5}},
		{[]float64{-1e30, -1e30, -1e30, -1e30}, []float64{0.25, 0.25, 0.25, 0.25}},
		{[]float64{3e38, -3e38}, []float64{1, 0}},
		{[]float64{-inf, 0, -inf, 0}, []float64{0, 0.5, 0, 0.5}},
		{[]float64{nan, 0, 1}, []float64{nan, nan, nan}},
		{[]float64{inf, 0}, []float64{nan, nan}}, // inf-inf
		{[]float64{-inf, -inf}, []float64{nan, nan}},
	} {
		n := len(c.x)
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			b.Expect(op.Softmax, list{kerneltest.Floats(d, []int{3, n}, c.x...)}, list{kerneltest.Floats(d, []int{3, n}, c.want...)}, 1e-6, 0, op.Int("axis", 1))
			var columns, wanted []float64 // the same along columns, beside a column of zeros
			for i := range n {
				for k := range 34 {
					if k == 33 {
						columns, wanted = append(columns, 0), append(wanted, 1/float64(n))
					} else {
						columns, wanted = append(columns, c.x[i]), append(wanted, c.want[i])
					}
				}
			}
			b.Expect(op.Softmax, list{kerneltest.Floats(d, []int{n, 34}, columns...)}, list{kerneltest.Floats(d, []int{n, 34}, wanted...)}, 1e-6, 0, op.Int("axis", 0))
			logs := make([]float64, len(wanted))
			for i, v := range wanted {
				logs[i] = math.Log(v)
			}
			if c.want[1] == 0 && c.x[1] > -inf {
				continue // the logarithm is a difference of the operands, not of the rounded weights
			}
			b.Expect(op.LogSoftmax, list{kerneltest.Floats(d, []int{n, 34}, columns...)}, list{kerneltest.Floats(d, []int{n, 34}, logs...)}, 1e-6, 0, op.Int("axis", 0))
		}
	}
}

// The weights of long lines sum to one.
func TestSoftmaxSums(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, dims := range [][]int{{2, 30_000}, {30_000, 2}, {20_000, 40}} {
		for axis := range dims {
			x := kerneltest.Random(r, dtype.F32, -1, 1, dims...)
			y := b.Run(op.Softmax, list{x}, op.Int("axis", axis))[0]
			sums := make([]float64, dims[1-axis])
			for i := range y.Desc.Shape.Size() {
				sums[[2]int{i / dims[1], i % dims[1]}[1-axis]] += y.Float(i)
			}
			for i, s := range sums {
				if math.Abs(s-1) > 1e-6 {
					t.Fatalf("%v along %d: the weights of line %d add up to %v", dims, axis, i, s)
				}
			}
		}
	}
}

func TestBatchNorm(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(5, 6))
	for _, d := range dtype.Floats.List() {
		for _, dims := range [][]int{{1, 1}, {3, 5}, {2, 3, 7}, {2, 17, 3, 5}, {3, 2, 33}, {0, 3, 4}, {2, 3, 0}, {1, 40, 1, 1}} {
			c := dims[1]
			in := list{kerneltest.Random(r, d, -3, 3, dims...), kerneltest.Random(r, d, 0.5, 2, c), kerneltest.Random(r, d, -1, 1, c),
				kerneltest.Random(r, d, -1, 1, c), kerneltest.Random(r, d, 0.5, 2, c)}
			b.Check(op.BatchNorm, in, op.Float("epsilon", 1e-3))
		}
	}
}

func TestLayerAndRMSNorm(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(7, 8))
	for _, d := range dtype.Floats.List() {
		for _, dims := range [][]int{{1}, {9}, {515}, {3, 17}, {17, 3}, {2, 3, 33}, {0, 4}, {4, 0}} {
			x := kerneltest.Random(r, d, -3, 3, dims...)
			for axis := range dims {
				tail := dims[axis:]
				scale, bias := kerneltest.Random(r, d, 0.5, 2, tail...), kerneltest.Random(r, d, -1, 1, tail...)
				attrs := []op.Attr{op.Int("axis", axis), op.Float("epsilon", 1e-3)}
				for _, in := range []list{{x}, {x, scale}, {x, scale, bias}} {
					b.Check(op.LayerNorm, in, attrs...)
					if len(in) < 3 {
						b.Check(op.RMSNorm, in, attrs...)
					}
				}
				one := make([]int, len(tail)) // parameters that broadcast
				for i := range one {
					one[i] = 1
				}
				b.Check(op.LayerNorm, list{x, kerneltest.Random(r, d, 1, 2, one...), kerneltest.Random(r, d, 1, 2, tail[len(tail)-1])}, attrs...)
			}
		}
	}
}

func TestGroupNorm(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(9, 10))
	for _, d := range dtype.Floats.List() {
		for _, dims := range [][]int{{2, 6}, {2, 6, 5}, {1, 12, 3, 7}, {3, 4, 33}, {0, 4, 3}, {1, 6, 1}} {
			for _, groups := range []int{1, 2, dims[1]} {
				in := list{kerneltest.Random(r, d, -3, 3, dims...), kerneltest.Random(r, d, 0.5, 2, dims[1]), kerneltest.Random(r, d, -1, 1, dims[1])}
				b.Check(op.GroupNorm, in, op.Int("groups", groups), op.Float("epsilon", 1e-3))
			}
		}
	}
}

// The variance of a line of equal elements is zero, so that only epsilon is under the root. A NaN or an infinity affects only its line.
func TestNormSpecialValues(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{1, 5, 16, 37} {
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			same := kerneltest.Floats(d, []int{2, n}, 3)
			b.Expect(op.LayerNorm, list{same}, list{kerneltest.Floats(d, []int{2, n}, 0)}, 0, 1e-5, op.Int("axis", 1), op.Float("epsilon", 1e-5))
			b.Expect(op.RMSNorm, list{same}, list{kerneltest.Floats(d, []int{2, n}, 1)}, 1e-6, 0, op.Int("axis", 1), op.Float("epsilon", 0))
			for _, v := range []float64{nan, inf, -inf} {
				x, want := kerneltest.Floats(d, []int{2, n}, 1), kerneltest.Floats(d, []int{2, n}, 0)
				x.SetFloat(n-1, v)
				for i := range n {
					want.SetFloat(i, nan)
				}
				b.Expect(op.LayerNorm, list{x}, list{want}, 0, 1e-5, op.Int("axis", 1), op.Float("epsilon", 1e-5))
			}
		}
	}
}

// Lines far from zero are normalised as accurately as the rounding of their elements permits.
func TestLayerNormFarFromZero(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{4, 30, 514} {
		x := kerneltest.Floats(dtype.F32, []int{n}, 1e5, 1e5+1)
		want := kerneltest.Floats(dtype.F32, []int{n}, -1, 1)
		b.Expect(op.LayerNorm, list{x}, list{want}, 1e-5, 0, op.Int("axis", 0), op.Float("epsilon", 0))
	}
}

// TestStreamedNorm checks results of 16 MiB and more, which are written with non-temporal stores.
func TestStreamedNorm(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this takes operands of 16 MiB")
	}
	b, r := newBench(t), rand.New(rand.NewPCG(11, 12))
	const rows, n = 5*1024 + 3, 1000 // times 4 bytes
	x := kerneltest.Random(r, dtype.F32, -1, 1, rows, n)
	for _, c := range []op.Code{op.LayerNorm, op.RMSNorm} {
		y := b.Run(c, list{x}, op.Int("axis", 1), op.Float("epsilon", 1e-5))[0]
		for _, row := range []int{0, 1, 2559, rows - 1} {
			var mean, squares float64
			for i := range n {
				mean += x.Float(row*n+i) / n
			}
			if c == op.RMSNorm {
				mean = 0
			}
			for i := range n {
				d := x.Float(row*n+i) - mean
				squares += d * d / n
			}
			for i := range n {
				want := (x.Float(row*n+i) - mean) / math.Sqrt(squares+1e-5)
				if got := y.Float(row*n + i); math.Abs(got-want) > 2e-6*(1+math.Abs(want)) {
					t.Fatalf("%v: element %d of row %d is %v, want %v", c, i, row, got, want)
				}
			}
		}
	}
}
