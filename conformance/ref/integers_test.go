package ref_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// whole returns the number that the bits of an element of type d represent.
func whole(d dtype.DType, bits int64) *big.Int {
	if d == dtype.U64 {
		return new(big.Int).SetUint64(uint64(bits))
	}
	return big.NewInt(bits)
}

// modular returns x modulo 2^bits in the range of type d, as an element.
func modular(d dtype.DType, x *big.Int) int64 {
	span := new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
	x = new(big.Int).Mod(x, span)
	if d.Class() == dtype.Signed && x.Cmp(new(big.Int).Rsh(span, 1)) >= 0 {
		x.Sub(x, span)
	}
	if d == dtype.U64 {
		return int64(x.Uint64())
	}
	return x.Int64()
}

// ends returns the least and the greatest value of type d.
func ends(d dtype.DType) (least, greatest *big.Int) {
	span := new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
	if d.Class() == dtype.Signed {
		half := new(big.Int).Rsh(span, 1)
		return new(big.Int).Neg(half), half.Sub(half, big.NewInt(1))
	}
	return big.NewInt(0), span.Sub(span, big.NewInt(1))
}

// samples lists elements of type d: its ends, small numbers of both signs, and numbers about the powers of two of shifts.
func samples(d dtype.DType) []int64 {
	least, greatest := ends(d)
	var all []int64
	for _, x := range []*big.Int{least, greatest} {
		for k := int64(-2); k <= 2; k++ {
			all = append(all, modular(d, new(big.Int).Add(x, big.NewInt(k))))
		}
	}
	for _, x := range []int64{-13, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 65, 100} {
		all = append(all, modular(d, big.NewInt(x)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pairs returns all pairs of samples of type d.
func pairs(d dtype.DType) (a, b []int64) {
	list := samples(d)
	for _, x := range list {
		for _, y := range list {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b
}

func quotient(a, b *big.Int) *big.Int { return new(big.Int).Quo(a, b) } // toward zero

// floored returns the quotient rounded down and the remainder with the sign of b.
func floored(a, b *big.Int) (q, r *big.Int) {
	q, r = new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign()*b.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
		r.Add(r, b)
	}
	return q, r
}

// shiftCount returns b as a number of bits, and whether b is not negative and less than the width of type d.
func shiftCount(d dtype.DType, b *big.Int) (uint, bool) {
	if b.Sign() < 0 || b.Cmp(big.NewInt(int64(8*d.Size()))) >= 0 {
		return 0, false
	}
	return uint(b.Int64()), true
}

// bigRules has the rules of integer arithmetic on numbers of any size. The tests reduce the results to the type.
var bigRules = map[op.Code]func(d dtype.DType, a, b *big.Int) *big.Int{
	op.Add: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
	op.Sub: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
	op.Mul: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
	op.And: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).And(a, b) },
	op.Or:  func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Or(a, b) },
	op.Xor: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Xor(a, b) },
	op.Max: func(_ dtype.DType, a, b *big.Int) *big.Int { return pick(a.Cmp(b) >= 0, a, b) },
	op.Min: func(_ dtype.DType, a, b *big.Int) *big.Int { return pick(a.Cmp(b) <= 0, a, b) },
	op.Div: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return big.NewInt(-1)
		}
		return quotient(a, b)
	},
	op.Rem: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return a
		}
		return new(big.Int).Sub(a, new(big.Int).Mul(quotient(a, b), b))
	},
	op.FloorDiv: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return big.NewInt(-1)
		}
		q, _ := floored(a, b)
		return q
	},
	op.FloorMod: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return a
		}
		_, r := floored(a, b)
		return r
	},
	op.Pow: func(d dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() >= 0 {
			return new(big.Int).Exp(a, b, new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size())))
		}
		switch { // 1/a^-b, truncated
		case a.Cmp(big.NewInt(1)) == 0:
			return big.NewInt(1)
		case a.Cmp(big.NewInt(-1)) == 0:
			return big.NewInt(1 - 2*int64(b.Bit(0)))
		}
		return big.NewInt(0)
	},
	op.Shl: func(d dtype.DType, a, b *big.Int) *big.Int {
		if n, ok := shiftCount(d, b); ok {
			return new(big.Int).Lsh(a, n)
		}
		return big.NewInt(0)
	},
	op.Shr: func(d dtype.DType, a, b *big.Int) *big.Int {
		if n, ok := shiftCount(d, b); ok {
			return new(big.Int).Rsh(a, n) // of negative numbers rounds down
		}
		return big.NewInt(int64(min(a.Sign(), 0)))
	},
	op.PRelu: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if a.Sign() < 0 {
			return new(big.Int).Mul(a, b)
		}
		return a
	},
}

func pick(c bool, a, b *big.Int) *big.Int {
	if c {
		return a
	}
	return b
}

// Binary ops return, for every pair of samples of every integer type, the result of exact arithmetic reduced to the type.
func TestIntegerArithmetic(t *testing.T) {
	for c, rule := range bigRules {
		for _, d := range op.Lookup(c).Operands[0].Types.List() {
			if !d.IsInt() {
				continue
			}
			a, b := pairs(d)
			got, err := eval(t, c, []ref.Tensor{ivec(d, a...), ivec(d, b...)})
			require.NoError(t, err)
			for i := range a {
				want := modular(d, rule(d, whole(d, a[i]), whole(d, b[i])))
				require.Equal(t, want, got[0].I[i], "%v of %v %d and %d", c, d, a[i], b[i])
			}
		}
	}
}

// Comparisons order the values, u64 beyond the range of i64 included.
func TestIntegerComparisons(t *testing.T) {
	holds := map[op.Code]func(order int) bool{
		op.Equal: func(o int) bool { return o == 0 }, op.NotEqual: func(o int) bool { return o != 0 },
		op.Less: func(o int) bool { return o < 0 }, op.LessEqual: func(o int) bool { return o <= 0 },
		op.Greater: func(o int) bool { return o > 0 }, op.GreaterEqual: func(o int) bool { return o >= 0 },
	}
	for c, f := range holds {
		for _, d := range dtype.Ints.List() {
			a, b := pairs(d)
			got, err := eval(t, c, []ref.Tensor{ivec(d, a...), ivec(d, b...)})
			require.NoError(t, err)
			for i := range a {
				require.Equal(t, f(whole(d, a[i]).Cmp(whole(d, b[i]))), got[0].I[i] == 1, "%v of %v %d and %d", c, d, a[i], b[i])
				require.Zero(t, got[0].I[i]&^1, "a predicate is 0 or 1")
			}
		}
	}
}

func TestIntegerFunctions(t *testing.T) {
	rules := map[op.Code]func(d dtype.DType, x *big.Int) *big.Int{
		op.Neg:    func(_ dtype.DType, x *big.Int) *big.Int { return new(big.Int).Neg(x) },
		op.Abs:    func(_ dtype.DType, x *big.Int) *big.Int { return new(big.Int).Abs(x) },
		op.Not:    func(_ dtype.DType, x *big.Int) *big.Int { return new(big.Int).Not(x) },
		op.Square: func(_ dtype.DType, x *big.Int) *big.Int { return new(big.Int).Mul(x, x) },
		op.Sign:   func(_ dtype.DType, x *big.Int) *big.Int { return big.NewInt(int64(x.Sign())) },
		op.Relu:   func(_ dtype.DType, x *big.Int) *big.Int { return pick(x.Sign() < 0, big.NewInt(0), x) },
		op.Relu6: func(_ dtype.DType, x *big.Int) *big.Int {
			return pick(x.Sign() < 0, big.NewInt(0), pick(x.Cmp(big.NewInt(6)) > 0, big.NewInt(6), x))
		},
		op.BitCount: func(d dtype.DType, x *big.Int) *big.Int {
			n := int64(0)
			for k := range 8 * d.Size() {
				n += int64(new(big.Int).Mod(x, new(big.Int).Lsh(big.NewInt(1), 64)).Bit(k))
			}
			return big.NewInt(n)
		},
	}
	for c, rule := range rules {
		for _, d := range op.Lookup(c).Operands[0].Types.List() {
			if !d.IsInt() {
				continue
			}
			x := samples(d)
			got, err := eval(t, c, []ref.Tensor{ivec(d, x...)})
			require.NoError(t, err)
			for i := range x {
				require.Equal(t, modular(d, rule(d, whole(d, x[i]))), got[0].I[i], "%v of %v %d", c, d, x[i])
			}
		}
	}
}

// The bounds of Clamp saturate to the type first. If they cross, the upper bound wins.
func TestIntegerClamp(t *testing.T) {
	bounds := []float64{math.Inf(-1), -1e30, -200.9, -3, -0.5, 0, 2.9, 6, 130, 300, 1e19, 1e30, math.Inf(1)}
	for _, d := range dtype.Ints.List() {
		least, greatest := ends(d)
		saturated := func(f float64) *big.Int {
			switch {
			case math.IsInf(f, -1):
				return least
			case math.IsInf(f, 1):
				return greatest
			}
			x, _ := big.NewFloat(f).Int(nil) // toward zero
			return pick(x.Cmp(least) < 0, least, pick(x.Cmp(greatest) > 0, greatest, x))
		}
		x := samples(d)
		for _, lo := range bounds {
			for _, hi := range bounds {
				got, err := eval(t, op.Clamp, []ref.Tensor{ivec(d, x...)}, op.ScalarFloat("min", lo), op.ScalarFloat("max", hi))
				require.NoError(t, err)
				for i := range x {
					want := whole(d, x[i])
					want = pick(want.Cmp(saturated(lo)) < 0, saturated(lo), want)
					want = pick(want.Cmp(saturated(hi)) > 0, saturated(hi), want)
					require.Equal(t, modular(d, want), got[0].I[i], "%v %d between %v and %v", d, x[i], lo, hi)
				}
			}
		}
	}
}

// Scatter combines updates with the elements of its operand: sums and products wrap, minima and maxima compare values.
func TestIntegerScatter(t *testing.T) {
	rules := map[string]op.Code{"add": op.Add, "mul": op.Mul, "min": op.Min, "max": op.Max}
	for mode, c := range rules {
		for _, d := range dtype.Ints.List() {
			a, b := pairs(d)
			places := make([]int64, len(a))
			for i := range places {
				places[i] = int64(i)
			}
			in := []ref.Tensor{ivec(d, a...), ivec(dtype.I64, places...), ivec(d, b...)}
			got, err := eval(t, op.Scatter, in, op.Int("axis", 0), op.Str("mode", mode))
			require.NoError(t, err)
			require.Equal(t, a, in[0].I, "the operand is not changed")
			for i := range a {
				want := modular(d, bigRules[c](d, whole(d, a[i]), whole(d, b[i])))
				require.Equal(t, want, got[0].I[i], "%s of %v %d and %d", mode, d, a[i], b[i])
			}
		}
	}
}

// Scans and reductions, forwards and backwards, equal a fold over each prefix in numbers of any size.
func TestIntegerScans(t *testing.T) {
	folds := []struct {
		scan, reduce op.Code
		rule         op.Code
		none         func(d dtype.DType) *big.Int
	}{
		{op.CumSum, op.Sum, op.Add, func(dtype.DType) *big.Int { return big.NewInt(0) }},
		{op.CumProd, op.Prod, op.Mul, func(dtype.DType) *big.Int { return big.NewInt(1) }},
		{op.CumMax, op.ReduceMax, op.Max, func(d dtype.DType) *big.Int { least, _ := ends(d); return least }},
		{op.CumMin, op.ReduceMin, op.Min, func(d dtype.DType) *big.Int { _, greatest := ends(d); return greatest }},
	}
	for _, f := range folds {
		for _, d := range op.Lookup(f.scan).Operands[0].Types.List() {
			if !d.IsInt() {
				continue
			}
			x := samples(d)
			for _, reverse := range []bool{false, true} {
				for _, exclusive := range []bool{false, true} {
					got, err := eval(t, f.scan, []ref.Tensor{ivec(d, x...)}, op.Int("axis", 0), op.Flag("reverse", reverse), op.Flag("exclusive", exclusive))
					require.NoError(t, err)
					for i := range x {
						from, to := 0, i+1
						if exclusive {
							to--
						}
						if reverse {
							from, to = i, len(x)
							if exclusive {
								from++
							}
						}
						want := f.none(d)
						for _, e := range x[from:to] {
							want = bigRules[f.rule](d, want, whole(d, e))
						}
						require.Equal(t, modular(d, want), got[0].I[i], "%v of %v at %d, reverse %v, exclusive %v", f.scan, d, i, reverse, exclusive)
					}
				}
			}
			got, err := eval(t, f.reduce, []ref.Tensor{ivec(d, x...)}, op.Ints("axes", 0))
			require.NoError(t, err)
			want := f.none(d)
			for _, e := range x {
				want = bigRules[f.rule](d, want, whole(d, e))
			}
			require.Equal(t, modular(d, want), got[0].I[0], "%v of %v", f.reduce, d)
		}
	}
}

// Sort, ArgSort, ArgMin and ArgMax order elements of u64 as unsigned numbers, and equal elements by their indices.
func TestIntegerOrder(t *testing.T) {
	for _, d := range dtype.Ints.List() {
		x := append(samples(d), samples(d)...)
		for _, descending := range []bool{false, true} {
			places := make([]int, len(x))
			for i := range places {
				places[i] = i
			}
			slices.SortStableFunc(places, func(a, b int) int {
				if descending {
					a, b = b, a
				}
				return whole(d, x[a]).Cmp(whole(d, x[b]))
			})
			var want, values []int64
			for _, p := range places {
				want, values = append(want, int64(p)), append(values, x[p])
			}
			attrs := []op.Attr{op.Int("axis", 0), op.Flag("descending", descending)}
			got, err := eval(t, op.Sort, []ref.Tensor{ivec(d, x...)}, attrs...)
			require.NoError(t, err)
			require.Equal(t, values, got[0].I, d)
			require.Equal(t, want, got[1].I, d)
			got, err = eval(t, op.ArgSort, []ref.Tensor{ivec(d, x...)}, attrs...)
			require.NoError(t, err)
			require.Equal(t, want, got[0].I, d)
			extreme := map[bool]op.Code{false: op.ArgMin, true: op.ArgMax}[descending]
			got, err = eval(t, extreme, []ref.Tensor{ivec(d, x...)}, op.Int("axis", 0))
			require.NoError(t, err)
			require.Equal(t, want[0], got[0].I[0], fmt.Sprint(extreme, d))
		}
	}
}
