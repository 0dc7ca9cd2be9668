package order_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/order"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, order.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// line returns numbers of which many are equal. Floats include NaN, infinities and zeros of both signs.
func line(r *rand.Rand, d dtype.DType, dims ...int) kerneltest.Operand {
	hi := 100.0
	if r.IntN(2) == 0 {
		hi = 3
	}
	x := kerneltest.Random(r, d, 0, hi, dims...)
	if d.IsFloat() {
		x = x.Sprinkle(r, 5, math.NaN(), 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), -1)
	}
	return x
}

// Sorting is stable along every axis, with NaN as the greatest, in both directions.
func TestSort(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, d := range dtype.Numbers.List() {
		for _, dims := range [][]int{{1}, {0}, {0, 3}, {3, 0}, {7}, {300}, {3, 40}, {40, 3}, {2, 9, 5}} {
			for axis := range dims {
				for _, descending := range []bool{false, true} {
					b.Check(op.Sort, list{line(r, d, dims...)}, op.Int("axis", axis), op.Flag("descending", descending))
				}
			}
		}
	}
	b.Check(op.Sort, list{line(r, dtype.F32, 30001)}, op.Int("axis", 0))
	for _, d := range []dtype.DType{dtype.F64, dtype.I64, dtype.BF16} {
		b.Check(op.Sort, list{line(r, d, 3011, 3)}, op.Int("axis", 0), op.Flag("descending", true))
	}
}

// The first k elements of the sorted line are the result, whether k is one, few, most or all of them.
func TestTopK(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, d := range dtype.Numbers.List() {
		for _, dims := range [][]int{{1}, {40}, {3, 33}, {33, 3}, {1000}} {
			for axis, n := range dims {
				for _, k := range []int{0, 1, 2, n / 17, n / 2, n - 1, n} {
					if k > n {
						continue
					}
					for _, largest := range []bool{false, true} {
						b.Check(op.TopK, list{line(r, d, dims...)}, op.Int("axis", axis), op.Int("k", k), op.Flag("largest", largest))
					}
				}
			}
		}
	}
	for _, k := range []int{1, 100, 3000} {
		b.Check(op.TopK, list{line(r, dtype.F32, 2, 30001)}, op.Int("axis", 1), op.Int("k", k))
	}
}

// Lines of one value, lines of NaN alone, and lines that are already sorted, ascending and descending.
func TestOrderedLines(t *testing.T) {
	b := newBench(t)
	rising, falling := make([]float64, 5000), make([]float64, 5000)
	for i := range rising {
		rising[i], falling[i] = float64(i), -float64(i)
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.I32, dtype.I64} {
		for _, v := range [][]float64{{7}, rising, falling} {
			x := kerneltest.Floats(d, []int{5000}, v...)
			for _, flag := range []bool{false, true} {
				b.Check(op.Sort, list{x}, op.Int("axis", 0), op.Flag("descending", flag))
				b.Check(op.TopK, list{x}, op.Int("axis", 0), op.Int("k", 40), op.Flag("largest", flag))
			}
		}
		if d.IsFloat() {
			b.Check(op.TopK, list{kerneltest.Floats(d, []int{500}, math.NaN())}, op.Int("axis", 0), op.Int("k", 3))
			b.Check(op.Sort, list{kerneltest.Floats(d, []int{500}, math.NaN())}, op.Int("axis", 0))
		}
	}
}
