package template_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/template"
)

// scanModel computes a scan of one line as its definition says, in f64.
func scanModel(l template.Lines, x []float64, join func(a, b float64) float64, start float64) []float64 {
	y := make([]float64, len(x))
	acc := start
	for k := range x {
		at := k
		if l.Reverse {
			at = len(x) - 1 - k
		}
		next := join(acc, x[at])
		if y[at] = next; l.Exclusive {
			y[at] = acc
		}
		acc = next
	}
	return y
}

// lineOf returns the elements of a line of a tensor [Outer, N, Inner].
func lineOf(x tensor, line int) []float64 {
	dims := dimsOf(x)
	all := make([]float64, dims[1])
	for k := range all {
		all[k] = x.get([]int{line / dims[2], k, line % dims[2]})
	}
	return all
}

// extreme returns a function that returns the greater or the lesser of two numbers. NaN is the extreme, and +0 is above -0.
func extreme(how template.Join) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		switch {
		case a != a || b != b: // math.Max and math.Min return an infinity instead
			return math.NaN()
		case how == template.JoinMax:
			return math.Max(a, b)
		}
		return math.Min(a, b)
	}
}

// scanSizes are lines that a thread scans alone, a block, or several blocks.
var scanSizes = []template.Lines{
	{Outer: 3, N: 1, Inner: 1}, {Outer: 3, N: 5, Inner: 1}, {Outer: 2, N: 7, Inner: 5}, {Outer: 1, N: 64, Inner: 1}, {Outer: 2, N: 65, Inner: 1}, {Outer: 1, N: 100, Inner: 3},
	{Outer: 2, N: 1030, Inner: 1}, {Outer: 1, N: 17000, Inner: 1}, {Outer: 1, N: 333, Inner: 2},
}

// scanLong is the length above which a line is checked for one of both extremes only.
const scanLong = 64

// TestScanSums adds small whole numbers, whose running sums are exact, forwards and backwards, inclusively and exclusively.
func TestScanSums(t *testing.T) {
	for i, l := range scanSizes {
		for k, d := range []dtype.DType{dtype.F32, dtype.I32, dtype.U64, dtype.F64, dtype.BF16, dtype.I8} {
			if l.N > 1000 && k != i%6 {
				continue
			}
			most := 3
			if k >= 4 {
				most = 1 // the sums of long lines leave these types
			}
			if most == 1 && l.N > 200 {
				continue
			}
			l.Exclusive, l.Reverse = (i+k)%2 == 1, (i+k)%4 >= 2
			x := dense(d, k%3, l.Outer, l.N, l.Inner).fill(random(uint64(i)), most)
			y := dense(d, i%3, l.Outer, l.N, l.Inner)
			execute(t, template.Scan(hopper(4), l, template.JoinAdd, x.operand, y.operand), hopper(4), []tensor{x}, []tensor{y})
			for line := range l.Outer * l.Inner {
				want := scanModel(l, lineOf(x, line), func(a, b float64) float64 { return a + b }, 0)
				require.Equal(t, want, lineOf(y, line), "%v %v line %d", d, l, line)
			}
		}
	}
	for _, l := range []template.Lines{{Outer: 0, N: 4, Inner: 1}, {Outer: 2, N: 0, Inner: 3}} {
		x := dense(dtype.F32, 0, l.Outer, l.N, l.Inner)
		require.Empty(t, template.Scan(hopper(4), l, template.JoinAdd, x.operand, x.operand).Launches)
	}
}

// TestScanExtremes checks that a running extreme is NaN from the first NaN on, and orders zeros by their signs. Its index names the first
// of equal elements; both zeros are equal for it, and NaN is the extreme.
func TestScanExtremes(t *testing.T) {
	for i, l := range scanSizes {
		for k, how := range []template.Join{template.JoinMax, template.JoinMin} {
			if l.N > scanLong && k != i%2 {
				continue
			}
			l.Exclusive, l.Reverse = i%4 >= 2, i%3 == 1
			d := []dtype.DType{dtype.F32, dtype.F16, dtype.F64, dtype.BF16}[i%4]
			x := dense(d, 0, l.Outer, l.N, l.Inner)
			r := random(uint64(i))
			each(dimsOf(x), func(at []int) {
				x.set(at, float64(r.IntN(5)-2)*float64(1-r.IntN(2)*2)) // zeros of both signs
				if at[1] > l.N/2 && r.IntN(l.N/2+1) == 0 {
					x.set(at, math.NaN())
				}
			})
			y, places := dense(d, 0, l.Outer, l.N, l.Inner), dense(dtype.I64, 0, l.Outer, l.N, l.Inner)
			execute(t, template.Scan(hopper(4), l, how, x.operand, y.operand), hopper(4), []tensor{x}, []tensor{y})
			whole := l
			whole.Exclusive = false
			execute(t, template.ScanIndex(hopper(4), whole, how, x.operand, places.operand), hopper(4), []tensor{x}, []tensor{places})
			start := map[template.Join]float64{template.JoinMax: math.Inf(-1), template.JoinMin: math.Inf(1)}[how]
			for line := range l.Outer * l.Inner {
				elements, results, found := lineOf(x, line), lineOf(y, line), lineOf(places, line)
				for k, want := range scanModel(l, elements, extreme(how), start) {
					got := results[k]
					require.True(t, got == want && math.Signbit(got) == math.Signbit(want) || got != got && want != want, "%v line %d: element %d is %v, want %v", l, line, k, got, want)
				}
				best := -1
				for step := range elements {
					k := step
					if l.Reverse {
						k = l.N - 1 - step
					}
					v := elements[k]
					if best < 0 || elements[best] == elements[best] && (v != v || how == template.JoinMax && v > elements[best] || how == template.JoinMin && v < elements[best]) {
						best = k
					}
					require.True(t, float64(best) == found[k], "%v line %d, place %d", whole, line, k)
				}
			}
		}
	}
}

// TestScanProducts checks that a running product of f32 is the product in f64, rounded, even if a partial product leaves the range of the
// type, on hardware with and without f64.
func TestScanProducts(t *testing.T) {
	small, large := 0x1p-126, 0x1p126
	for _, line := range [][]float64{
		{1, 2, -3, 0.5, 4}, {small, small, large, large, 8}, {large, large, small, small, -3}, {0, large, large, -1, 2}, {small, small, small, 0.5, large}, {math.Inf(1), small, -2, small, 1},
		{math.Inf(1), 0, 2, 3, 4}, {math.NaN(), 0, 1, 2, 3}, {-0x1p-149, 0.5, 2, large, large}, {1.5, 1.5, 1.5, 1.5, 1.5},
	} {
		for _, reps := range []int{1, 20} {
			n := 5 * reps
			x, y := dense(dtype.F32, 0, 1, n, 1), dense(dtype.F32, 0, 1, n, 1)
			for k := range n {
				x.set([]int{0, k, 0}, 1)
			}
			for k, v := range line {
				x.set([]int{0, k * reps, 0}, v)
			}
			without := hopper(4)
			without.Math = dtype.SetOf(dtype.F32, dtype.I32, dtype.U32, dtype.I64, dtype.U64)
			for _, target := range []template.Target{hopper(4), without} {
				l := template.Lines{Outer: 1, N: n, Inner: 1}
				execute(t, template.Scan(target, l, template.JoinMul, x.operand, y.operand), target, []tensor{x}, []tensor{y})
				results := lineOf(y, 0)
				for k, want := range scanModel(l, lineOf(x, 0), func(a, b float64) float64 { return a * b }, 1) {
					one := float64(float32(want))
					got := results[k]
					require.True(t, got == one && math.Signbit(got) == math.Signbit(one) || got != got && one != one, "%v, %d apart: product %d is %v, want %v", line, reps, k, got, one)
				}
			}
		}
	}
}

// TestScanLogSum adds exponentials without overflow of the type in partial sums.
func TestScanLogSum(t *testing.T) {
	inf := math.Inf(1)
	for _, line := range [][]float64{{0, 0, 0, 0}, {500, 501, 499, -700}, {-1000, -1000, -999}, {-inf, -inf, 3, 4}, {1, inf, 2, -inf}, {1, math.NaN(), 2, inf}, {-inf, inf, 0}} {
		for _, c := range []struct {
			d         dtype.DType
			tolerance float64
		}{{dtype.F64, 1e-13}, {dtype.F32, 3e-6}, {dtype.BF16, 0x1p-7}} {
			for _, reverse := range []bool{false, true} {
				l := template.Lines{Outer: 2, N: len(line), Inner: 1, Reverse: reverse}
				x, y := dense(c.d, 0, 2, len(line), 1), dense(c.d, 1, 2, len(line), 1)
				each(dimsOf(x), func(at []int) { x.set(at, line[at[1]]) })
				execute(t, template.ScanLogSum(hopper(4), l, x.operand, y.operand), hopper(4), []tensor{x}, []tensor{y})
				want := scanModel(l, lineOf(x, 0), func(a, b float64) float64 {
					top := extreme(template.JoinMax)(a, b)
					if math.IsInf(top, 0) || top != top {
						return top
					}
					return top + math.Log(math.Exp(a-top)+math.Exp(b-top))
				}, -inf)
				for k, got := range lineOf(y, 1) {
					require.True(t, got == want[k] || got != got && want[k] != want[k] || math.Abs(got-want[k]) <= c.tolerance*math.Max(1, math.Abs(want[k])), "%v %v: element %d is %v, want %v",
						c.d, fmt.Sprint(line), k, got, want[k])
				}
			}
		}
	}
}

// TestScanIntegers checks that integers wrap around in their own type, and that the maximum of no elements is the least number of the
// type and the minimum the greatest.
func TestScanIntegers(t *testing.T) {
	for d, ends := range map[dtype.DType][2]float64{
		dtype.I8: {-128, 127}, dtype.I16: {-1 << 15, 1<<15 - 1}, dtype.I32: {-1 << 31, 1<<31 - 1}, dtype.I64: {math.MinInt64, math.MaxInt64},
		dtype.U8: {0, 255}, dtype.U16: {0, 1<<16 - 1}, dtype.U32: {0, 1<<32 - 1}, dtype.U64: {0, math.MaxUint64},
	} {
		line := []float64{3, 1, 100, 100, 100, 2}
		x, y := dense(d, 0, 2, len(line), 1), dense(d, 1, 2, len(line), 1)
		each(dimsOf(x), func(at []int) { x.set(at, line[at[1]]) })
		for how, want := range map[template.Join][]float64{
			template.JoinMax: {ends[0], 3, 3, 100, 100, 100}, template.JoinMin: {ends[1], 3, 1, 1, 1, 1}, template.JoinAdd: {0, 3, 4, 104, 204, 304}, template.JoinMul: {1, 3, 3, 300, 30000, 3e6},
		} {
			l := template.Lines{Outer: 2, N: len(line), Inner: 1, Exclusive: true}
			execute(t, template.Scan(hopper(4), l, how, x.operand, y.operand), hopper(4), []tensor{x}, []tensor{y})
			for k, v := range want {
				if how == template.JoinAdd || how == template.JoinMul {
					if bits := 8 * d.Size(); bits < 32 {
						v = math.Mod(v, math.Ldexp(1, bits))
						if d.Class() == dtype.Signed && v >= math.Ldexp(1, bits-1) {
							v -= math.Ldexp(1, bits)
						}
					}
				}
				require.Equal(t, v, y.get([]int{1, k, 0}), "%v, %v, element %d", d, how, k)
			}
		}
	}
}
