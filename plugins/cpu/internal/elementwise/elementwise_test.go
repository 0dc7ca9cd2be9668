package elementwise_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, elementwise.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// others lists the ops of this package that have separate tests.
var others = map[op.Code]bool{op.Where: true, op.Cast: true, op.Quantize: true, op.Dequantize: true}

// operand returns numbers from the domain of operand i of a row. Integers of an unrestricted domain have any bits; half of these operands
// also contain 0, 1 and 2.
func operand(r *rand.Rand, row *op.Row, i int, d dtype.DType, dims ...int) kerneltest.Operand {
	dom := op.Domain{}
	if i < len(row.Domain) {
		dom = row.Domain[i]
	}
	if dom == (op.Domain{}) && !d.IsFloat() && d != dtype.Bool {
		x := kerneltest.Random(r, d, 0, 1, dims...)
		for k := range x.Data {
			x.Data[k] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 {
			x = x.Sprinkle(r, 3, 0, 1, 2)
		}
		return x
	}
	lo, hi := -6.0, 6.0
	if dom.Lo < dom.Hi {
		lo, hi = max(dom.Lo, -100), min(dom.Hi, 100)
	}
	if d == dtype.Bool || d.Class() == dtype.Unsigned {
		lo = max(lo, 0)
	}
	if d == dtype.Bool {
		hi = 1
	}
	return kerneltest.Random(r, d, lo, hi, dims...)
}

// shared lists the ops that are also tested with the last of lengths.
var shared = []op.Code{op.Add, op.Exp, op.Relu, op.Equal, op.IsNaN}

// lengths lists shapes with about the lengths of vectors and blocks, and one that several threads share.
var lengths = [][]int{{}, {0}, {1}, {7}, {16}, {33}, {3, 5, 37}, {1031}, {70000}}

// Every op with one or two operands, on every type, equals the reference.
func TestRules(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for c, rule := range elementwise.Rules() {
		row := op.Lookup(c)
		if others[c] {
			continue
		}
		for _, d := range rule.Types.List() {
			for k, dims := range lengths {
				if k == len(lengths)-1 && (d != dtype.F32 || !slices.Contains(shared, c)) {
					continue
				}
				var in list
				for i := range row.Operands {
					in = append(in, operand(r, row, i, d, dims...))
				}
				b.Check(c, in)
			}
		}
	}
}

// Two operands of other shapes than the result: rows, columns, single elements, and both repeated.
func TestBroadcast(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for c, rule := range elementwise.Rules() {
		row := op.Lookup(c)
		if others[c] || len(row.Operands) != 2 {
			continue
		}
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.U8} {
			if !rule.Types.Has(d) {
				continue
			}
			for _, s := range [][2][]int{{{5, 33}, {33}}, {{33}, {5, 33}}, {{5, 33}, {5, 1}}, {{5, 33}, {}}, {{}, {40}}, {{7, 1}, {1, 19}}, {{2, 3, 4, 5}, {3, 1, 5}}, {{2, 1, 6}, {4, 1}}, {{0, 3}, {1, 3}}} {
				b.Check(c, list{operand(r, row, 0, d, s[0]...), operand(r, row, 1, d, s[1]...)})
			}
		}
	}
}

var special = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
	math.MaxFloat32, -math.MaxFloat32, 0.5, -0.5, 1.5, 2.5, 1 << 24, -(1 << 31)}

// exact lists the ops that have exactly one correct result for all operands.
var exact = []op.Code{op.Neg, op.Abs, op.Floor, op.Ceil, op.Round, op.Trunc, op.Sqrt, op.Sign, op.Relu, op.Clamp, op.LeakyRelu, op.ThresholdedRelu, op.IsNaN, op.IsInf,
	op.Add, op.Sub, op.Mul, op.Div, op.Max, op.Min, op.Equal, op.Less, op.NotEqual, op.Greater, op.GreaterEqual, op.LessEqual, op.PRelu}

// Every pair of special values, in each place of a vector.
func TestSpecialValues(t *testing.T) {
	b := newBench(t)
	for _, c := range exact {
		for _, d := range dtype.Floats.List() {
			n := len(special) * len(special)
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = special[i%len(special)], special[i/len(special)]
			}
			in := list{kerneltest.Floats(d, []int{n}, x...), kerneltest.Floats(d, []int{n}, y...)}
			b.Check(c, in[:len(op.Lookup(c).Operands)])
		}
	}
}

// Functions of special values, and of each special value in a vector of ordinary ones: overflow, poles, the sign of zero, and arguments
// that are outside the range of polynomials and tables.
func TestSpecialArguments(t *testing.T) {
	b := newBench(t)
	x := append([]float64{1e-30, -1e-30, 1e-8, -1e-8, 1e-3, 0.999, -0.999, 1.001, 20, -20, 87, 88.5, 89, -87, -88, -104, 127.5, 709, -745, 1e4, -1e4, 65504, 1e9, 3.4e38}, special...)
	for c, rule := range elementwise.Rules() {
		row := op.Lookup(c)
		if others[c] || slices.Contains(exact, c) || len(row.Operands) != 1 {
			continue
		}
		for _, d := range dtype.Floats.List() {
			if !rule.Types.Has(d) {
				continue
			}
			b.Check(c, list{kerneltest.Floats(d, []int{len(x)}, x...)})
			for _, v := range x {
				ones := kerneltest.Floats(d, []int{19}, 0.5)
				ones.SetFloat(18, v)
				ones.SetFloat(3, v)
				b.Check(c, list{ones})
			}
		}
	}
}

// Integers at the ends of their range: division by zero, the quotient that does not fit, shifts beyond the width, powers.
func TestIntegerExtremes(t *testing.T) {
	b := newBench(t)
	for _, c := range []op.Code{op.Div, op.Rem, op.FloorMod, op.Shl, op.Shr, op.Pow, op.Mul, op.Max, op.Min, op.And, op.Or, op.Xor, op.Less, op.PRelu} {
		for _, d := range dtype.Ints.List() {
			if !elementwise.Rules()[c].Types.Has(d) {
				continue
			}
			low, high := int64(0), int64(-1)
			if d.Class() == dtype.Signed {
				low = -1 << (8*d.Size() - 1)
				high = -(low + 1)
			}
			v := []int64{low, low + 1, -1, 0, 1, 2, 3, 7, 8, 15, 31, 63, 64, high - 1, high}
			var x, y []int64
			for _, a := range v {
				for _, e := range v {
					x, y = append(x, a), append(y, e)
				}
			}
			b.Check(c, list{kerneltest.Ints(d, []int{len(x)}, x...), kerneltest.Ints(d, []int{len(y)}, y...)})
		}
	}
}

// The bounds of clamp are converted to the type as by cast. There are fractions, infinities, bounds beyond the range of the type, and a
// lower bound above the upper one.
func TestClamp(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(5, 6))
	row := op.Lookup(op.Clamp)
	for _, d := range row.Operands[0].Types.List() {
		x := operand(r, row, 0, d, 3, 37)
		for _, bounds := range [][2]float64{{-1, 2}, {0, 0}, {3, 1}, {math.Inf(-1), 1}, {1, math.Inf(1)}, {1e30, 1e30}, {-1e30, 200}, {0.5, 2.5}} {
			b.Check(op.Clamp, list{x}, op.ScalarFloat("min", bounds[0]), op.ScalarFloat("max", bounds[1]))
		}
	}
}

func TestWhere(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(7, 8))
	for _, d := range dtype.Any.List() {
		for _, s := range [][3][]int{{{}, {}, {}}, {{33}, {33}, {33}}, {{5, 33}, {33}, {5, 1}}, {{5, 1}, {5, 33}, {}}, {{1}, {40}, {40}}, {{0}, {1}, {1}}, {{2, 3, 1}, {3, 17}, {2, 1, 17}}, {{1031}, {1031}, {}}} {
			b.Check(op.Where, list{kerneltest.Random(r, dtype.Bool, 0, 1, s[0]...), operand(r, op.Lookup(op.Add), 0, d, s[1]...), operand(r, op.Lookup(op.Add), 0, d, s[2]...)})
		}
	}
}

// Every conversion, of random values and of values at which rounding, truncation and saturation begin.
func TestCast(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(9, 10))
	row := op.Lookup(op.Cast)
	ends := append([]float64{127, 128, 127.5, -128, -129, 255, 256, 255.5, 65504, 65520, 32768, 2147483520, 4294967296, -0.9, 9.3e18, 1e19, -1e19, 6e-8, 448, 464, 57344, 61440}, special...)
	for _, from := range row.Operands[0].Types.List() {
		if from.Size() == 0 || !elementwise.Rules()[op.Cast].Types.Has(from) || dtype.Smalls.Has(from) {
			continue
		}
		for _, to := range row.Operands[0].Types.List() {
			if dtype.Smalls.Has(to) {
				continue
			}
			for _, dims := range [][]int{{}, {0}, {7}, {33}, {5, 70}} {
				b.Check(op.Cast, list{operand(r, op.Lookup(op.Add), 0, from, dims...)}, op.Type("dtype", to))
			}
			if from.IsFloat() {
				b.Check(op.Cast, list{kerneltest.Floats(from, []int{len(ends)}, ends...)}, op.Type("dtype", to))
			}
		}
	}
}

// One scale and zero point for all elements, per index of an axis, and per block, also if blocks do not divide the axis. Quotients are
// halfway between two integers, and beyond the range.
func TestQuantize(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(11, 12))
	shapes := []struct {
		dims, scale []int
		axis, block int
	}{
		{[]int{}, nil, -1, 0}, {[]int{0, 3}, nil, -1, 0}, {[]int{1031}, nil, -1, 0}, {[]int{3, 5, 7}, []int{5}, 1, 0}, {[]int{4, 33}, []int{33}, 1, 0},
		{[]int{33, 4}, []int{33}, 0, 0}, {[]int{3, 70}, []int{3, 3}, 1, 32}, {[]int{7, 5}, []int{3, 5}, 0, 3}, {[]int{2, 6}, []int{2, 6}, 1, 1}, {[]int{2, 6}, []int{2, 1}, 1, 100},
	}
	for _, z := range []dtype.DType{dtype.U8, dtype.I8, dtype.U16, dtype.I16, dtype.I32} {
		for _, d := range dtype.Floats.List() {
			for _, s := range shapes {
				attrs := []op.Attr{op.Int("axis", s.axis), op.Int("block", s.block)}
				scale, zero := kerneltest.Random(r, d, 0.02, 0.5, s.scale...), kerneltest.Random(r, z, 0, 100, s.scale...)
				halves := kerneltest.Floats(d, s.scale, 0.5)
				if op.Lookup(op.Quantize).Operands[2].Types.Has(z) {
					x := kerneltest.Random(r, d, -30, 30, s.dims...).Sprinkle(r, 9, math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, 0)
					b.Check(op.Quantize, list{x, scale, zero}, attrs...)
					x = kerneltest.Random(r, dtype.I32, -600, 600, s.dims...)
					quarters := kerneltest.Floats(d, s.dims, 0)
					for i := range quarters.Desc.Shape.Size() {
						quarters.SetFloat(i, float64(x.Int(i))/4) // half of the quotients are ties
					}
					b.Check(op.Quantize, list{quarters, halves, zero}, attrs...)
				}
				if op.Lookup(op.Dequantize).Operands[0].Types.Has(z) {
					b.Check(op.Dequantize, list{operand(r, op.Lookup(op.Add), 0, z, s.dims...), scale, zero}, attrs...)
				}
			}
		}
	}
}
