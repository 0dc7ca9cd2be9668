package reduction_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/reduction"
)

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, reduction.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

var (
	nan, inf = math.NaN(), math.Inf(1)
	negative = math.Copysign(0, -1)

	reduced  = []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin}
	averages = []op.Code{op.Mean, op.Variance, op.LogSumExp}
	scans    = []op.Code{op.CumSum, op.CumProd, op.CumMax, op.CumMin}
)

// subsets returns all sets of axes of a tensor of the given rank, except the empty set.
func subsets(rank int) (all [][]int) {
	for mask := 1; mask < 1<<rank; mask++ {
		var axes []int
		for d := range rank {
			if mask>>d&1 != 0 {
				axes = append(axes, d)
			}
		}
		all = append(all, axes)
	}
	return all
}

// attrs returns the attributes of a reduction over axes. Variance divides by count-1 if count is more than one.
func attrs(c op.Code, count int, axes []int) []op.Attr {
	a := []op.Attr{op.Ints("axes", axes...), op.Flag("keep_dims", len(axes)%2 == 0)}
	if c == op.Variance && count > 1 {
		a = append(a, op.Float("correction", 1))
	}
	return a
}

func counted(dims, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= dims[a]
	}
	return n
}

// shapes lists shapes with lines whose length is no multiple of 8 or 16, lines longer than a block, and rows that are summed in
// strips.
var shapes = [][]int{{1}, {7}, {17}, {1031}, {1, 1}, {3, 5}, {5, 33}, {33, 5}, {2, 515}, {130, 3}, {3, 4, 5}, {2, 17, 9}, {2, 1, 19}, {2, 3, 4, 5}}

func TestReductions(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, dims := range shapes {
		for _, axes := range subsets(len(dims)) {
			x := kerneltest.Random(r, dtype.F32, 0.5, 1.5, dims...)
			for _, c := range reduced {
				b.Check(c, []kerneltest.Operand{x}, attrs(c, 0, axes)...)
			}
			signed := kerneltest.Random(r, dtype.F32, -3, 3, dims...)
			for _, c := range averages {
				if n := counted(dims, axes); c != op.Variance || n > 1 {
					b.Check(c, []kerneltest.Operand{signed}, attrs(c, n, axes)...)
				}
			}
		}
	}
}

func TestReductionTypes(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, d := range dtype.Numbers.List() {
		for _, dims := range [][]int{{19}, {5, 33}, {33, 18}, {3, 4, 5}} {
			lo, hi := 1.0, 3.0 // integers wrap soon
			if d.IsFloat() {
				lo, hi = 0.75, 1.25
			}
			x := kerneltest.Random(r, d, lo, hi, dims...)
			for _, axes := range subsets(len(dims)) {
				for _, c := range reduced {
					b.Check(c, []kerneltest.Operand{x}, attrs(c, 0, axes)...)
				}
			}
			for axis := range dims {
				for _, c := range scans {
					b.Check(c, []kerneltest.Operand{x}, op.Int("axis", axis))
				}
				for _, c := range []op.Code{op.ArgMax, op.ArgMin} {
					b.Check(c, []kerneltest.Operand{x}, op.Int("axis", axis))
				}
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	b := newBench(t)
	for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.I32, dtype.U8, dtype.I64} {
		for _, dims := range [][]int{{0}, {0, 3}, {3, 0}, {2, 0, 4}, {0, 0}} {
			x := kerneltest.Floats(d, dims)
			for _, axes := range subsets(len(dims)) {
				for _, c := range reduced {
					b.Check(c, []kerneltest.Operand{x}, attrs(c, 0, axes)...)
				}
			}
			for axis := range dims {
				for _, c := range scans {
					b.Check(c, []kerneltest.Operand{x}, op.Int("axis", axis))
				}
				if dims[axis] > 0 {
					b.Check(op.ArgMax, []kerneltest.Operand{x}, op.Int("axis", axis))
				}
			}
		}
	}
	none := kerneltest.Floats(dtype.F32, []int{2, 0})
	b.Expect(op.LogSumExp, []kerneltest.Operand{none}, []kerneltest.Operand{kerneltest.Floats(dtype.F32, []int{2}, -inf)}, 0, 0, op.Ints("axes", 1))
	b.Expect(op.Mean, []kerneltest.Operand{none}, []kerneltest.Operand{kerneltest.Floats(dtype.F32, []int{2}, nan)}, 0, 0, op.Ints("axes", 1))
}

func TestNoAxes(t *testing.T) {
	b := newBench(t)
	for _, dims := range [][]int{nil, {5}, {3, 7}} {
		x := kerneltest.Floats(dtype.F32, dims, 1.5, -2, nan, negative)
		for _, c := range reduced {
			b.Expect(c, []kerneltest.Operand{x}, []kerneltest.Operand{x}, 0, 1e-300, op.Ints("axes")) // a sum has no sign of zero
		}
		b.Expect(op.Mean, []kerneltest.Operand{x}, []kerneltest.Operand{x}, 0, 1e-300, op.Ints("axes"))
	}
}

// TestSpecialValues puts values of each kind at random positions of matrices, and reduces rows and columns, whose lengths are
// around the lengths of vectors.
func TestSpecialValues(t *testing.T) {
	b := newBench(t)
	kinds := [][]float64{{nan}, {inf}, {-inf}, {inf, -inf}, {negative}, {0, negative}, {nan, inf}}
	for _, dims := range [][]int{{9, 19}, {19, 9}, {33, 17}, {2, 67}} {
		r := rand.New(rand.NewPCG(5, 6))
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			for _, values := range kinds {
				x := kerneltest.Random(r, d, -2, 2, dims...).Sprinkle(r, 12, values...)
				for axis := range dims {
					for _, c := range []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin, op.Mean, op.LogSumExp} {
						b.Check(c, []kerneltest.Operand{x}, op.Ints("axes", axis))
					}
					for _, c := range []op.Code{op.ArgMax, op.ArgMin, op.CumMax, op.CumMin, op.CumSum} {
						b.Check(c, []kerneltest.Operand{x}, op.Int("axis", axis))
					}
				}
			}
		}
	}
}

// Lines of equal elements except one, the extreme or NaN, which must be found at its position.
func TestOneExtreme(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{1, 2, 8, 16, 17, 63, 512, 513, 1030} {
		for at := 0; at < n; at += 1 + n/7 {
			x := kerneltest.Floats(dtype.F32, []int{n}, 1)
			for _, v := range []float64{2, inf, nan} {
				x.SetFloat(at, v)
				want := kerneltest.Ints(dtype.I64, nil, int64(at))
				b.Expect(op.ArgMax, []kerneltest.Operand{x}, []kerneltest.Operand{want}, 0, 0, op.Int("axis", 0))
				b.Expect(op.ReduceMax, []kerneltest.Operand{x}, []kerneltest.Operand{kerneltest.Floats(dtype.F32, nil, v)}, 0, 0, op.Ints("axes", 0))
			}
			for _, v := range []float64{-2, -inf, nan} {
				x.SetFloat(at, v)
				want := kerneltest.Ints(dtype.I64, nil, int64(at))
				b.Expect(op.ArgMin, []kerneltest.Operand{x}, []kerneltest.Operand{want}, 0, 0, op.Int("axis", 0))
				b.Expect(op.ReduceMin, []kerneltest.Operand{x}, []kerneltest.Operand{kerneltest.Floats(dtype.F32, nil, v)}, 0, 0, op.Ints("axes", 0))
			}
		}
	}
}

// Of equal elements the first is found; zeros of both signs are equal.
func TestFirstOfEquals(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{3, 16, 40, 600} {
		for _, v := range [][]float64{{5}, {0, negative}, {negative, 0}, {-inf}, {inf}} {
			x := kerneltest.Floats(dtype.F32, []int{n, 20}, v...)
			for _, c := range []op.Code{op.ArgMax, op.ArgMin} {
				for axis, size := range []int{20, n} { // the other axis remains
					want := kerneltest.Ints(dtype.I64, []int{size}, 0)
					b.Expect(c, []kerneltest.Operand{x}, []kerneltest.Operand{want}, 0, 0, op.Int("axis", axis))
				}
			}
		}
	}
}

func TestScans(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(7, 8))
	for _, dims := range [][]int{{1}, {19}, {5, 33}, {33, 17}, {4, 3, 21}, {3, 40, 2}, {9, 64}} {
		x := kerneltest.Random(r, dtype.F32, 0.5, 1.5, dims...)
		for axis := range dims {
			for _, c := range scans {
				for _, exclusive := range []bool{false, true} {
					for _, reverse := range []bool{false, true} {
						b.Check(c, []kerneltest.Operand{x}, op.Int("axis", axis), op.Flag("exclusive", exclusive), op.Flag("reverse", reverse))
					}
				}
			}
		}
	}
}

// A running sum or product of f32 that leaves the range of the type and returns to it is right again, as if computed in float64.
func TestScanOverflow(t *testing.T) {
	b := newBench(t)
	x := kerneltest.Floats(dtype.F32, []int{5}, 3e38, 3e38, -3e38, -3e38, 1)
	want := kerneltest.Floats(dtype.F32, []int{5}, 3e38, inf, 3e38, 0, 1)
	b.Expect(op.CumSum, []kerneltest.Operand{x}, []kerneltest.Operand{want}, 1e-6, 0, op.Int("axis", 0))
	x = kerneltest.Floats(dtype.F32, []int{4}, 1e30, 1e30, 1e-30, 1e-20)
	want = kerneltest.Floats(dtype.F32, []int{4}, 1e30, inf, 1e30, 1e10)
	b.Expect(op.CumProd, []kerneltest.Operand{x}, []kerneltest.Operand{want}, 1e-6, 0, op.Int("axis", 0))
}

// Sums of many elements stay near the sum in float64: errors grow with the logarithm of the count or less, in lines, in
// columns, and where several threads share one line.
func TestLargeSums(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(9, 10))
	for _, dims := range [][]int{{200_001}, {2, 131_075}, {10_007, 3}, {1031, 65}} {
		for _, axis := range []int{0, len(dims) - 1} {
			x := kerneltest.Random(r, dtype.F32, 0, 1, dims...)
			inner, length := 1, dims[axis]
			for _, d := range dims[axis+1:] {
				inner *= d
			}
			n := x.Desc.Shape.Size() / length
			sums, squares := make([]float64, n), make([]float64, n)
			place := func(i int) int { return i/(length*inner)*inner + i%inner }
			for i := range x.Desc.Shape.Size() {
				sums[place(i)] += x.Float(i)
			}
			for i := range x.Desc.Shape.Size() {
				d := x.Float(i) - sums[place(i)]/float64(length)
				squares[place(i)] += d * d
			}
			mean, variance := make([]float64, n), make([]float64, n)
			for i := range n {
				mean[i], variance[i] = sums[i]/float64(length), squares[i]/float64(length-1)
			}
			shape := append(append([]int(nil), dims[:axis]...), dims[axis+1:]...)
			name := fmt.Sprintf("%v over %d", dims, axis)
			t.Run(name, func(t *testing.T) {
				b := *b
				b.TB = t
				in, axes := []kerneltest.Operand{x}, op.Ints("axes", axis)
				const near = 4e-6 // adding one after the other in float32 errs by about 1e-4 here
				b.Expect(op.Sum, in, []kerneltest.Operand{kerneltest.Floats(dtype.F32, shape, sums...)}, near, 0, axes)
				b.Expect(op.Mean, in, []kerneltest.Operand{kerneltest.Floats(dtype.F32, shape, mean...)}, near, 0, axes)
				b.Expect(op.Variance, in, []kerneltest.Operand{kerneltest.Floats(dtype.F32, shape, variance...)}, near, 0, axes, op.Float("correction", 1))
			})
		}
	}
}

// The variance of numbers that are far from zero and near each other is accurate: the mean is subtracted first.
func TestVarianceFarFromZero(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{4, 30, 1000} {
		for _, far := range []float64{0, 1e6, -1e7} { // float32 has no 1e7 + 0.5, which is the mean
			x := kerneltest.Floats(dtype.F32, []int{n}, far, far+1)
			want := kerneltest.Floats(dtype.F32, nil, 0.25)
			b.Expect(op.Variance, []kerneltest.Operand{x}, []kerneltest.Operand{want}, 1e-6, 0, op.Ints("axes", 0))
		}
	}
}

// The variance of equal numbers is zero in f32 and never negative, though their mean need not be exact.
func TestVarianceOfEquals(t *testing.T) {
	b := newBench(t)
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		for _, n := range []int{2, 3, 7, 49, 1000, 5001} {
			for _, v := range []float64{float64(float32(0.1)), float64(float32(1e-3)), float64(float32(7e5))} {
				x, zero := kerneltest.Floats(d, []int{n}, v), kerneltest.Floats(d, nil, 0)
				attrs := []op.Attr{op.Ints("axes", 0), op.Float("correction", 1)}
				if d == dtype.F32 {
					b.Expect(op.Variance, []kerneltest.Operand{x}, []kerneltest.Operand{zero}, 0, 0, attrs...)
				}
				if y := b.Run(op.Variance, []kerneltest.Operand{x}, attrs...)[0].Float(0); !(y >= 0) {
					t.Errorf("%v %d times %v: variance %g", d, n, v, y)
				}
			}
		}
	}
}

// The logarithm of a sum of exponentials does not overflow, and ignores operands of minus infinity.
func TestLogSumExpRange(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1000, 1000}, 1000 + math.Log(2)},
		{[]float64{-1000, -1000, -1000, -1000}, -1000 + math.Log(4)},
		{[]float64{-inf, 3}, 3},
		{[]float64{-inf, -inf}, -inf},
		{[]float64{inf, 3}, inf},
		{[]float64{nan, 3}, nan},
		{[]float64{88, -88, 0}, 88},
	} {
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			x := kerneltest.Floats(d, []int{len(c.x)}, c.x...)
			b.Expect(op.LogSumExp, []kerneltest.Operand{x}, []kerneltest.Operand{kerneltest.Floats(d, nil, c.want)}, 1e-6, 0, op.Ints("axes", 0))
		}
	}
}
