package ref_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// binary describes an IEEE format: digits of the significand with the hidden one, and the exponents of the least normal
// number and of the first power of two that overflows.
type binary struct{ digits, least, over int }

var formats = map[dtype.DType]binary{
	dtype.F32: {24, -126, 128}, dtype.F16: {11, -14, 16}, dtype.BF16: {8, -126, 128}, dtype.F64: {53, -1022, 1024},
}

// nearest rounds an exact number to a format by counting steps of its binade in rational arithmetic, ties to even.
func (b binary) nearest(x *big.Rat) float64 {
	if x.Sign() == 0 {
		return 0
	}
	a := new(big.Rat).Abs(x)
	exponent := max(b.least, a.Num().BitLen()-a.Denom().BitLen()-1)
	for a.Cmp(power(exponent+1)) >= 0 {
		exponent++
	}
	step := power(exponent - b.digits + 1)
	count := new(big.Rat).Quo(a, step)
	n := new(big.Int).Quo(count.Num(), count.Denom())
	rest := new(big.Rat).Sub(count, new(big.Rat).SetInt(n))
	if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && n.Bit(0) == 1 {
		n.Add(n, big.NewInt(1))
	}
	f, _ := new(big.Rat).Mul(new(big.Rat).SetInt(n), step).Float64()
	if new(big.Rat).Mul(new(big.Rat).SetInt(n), step).Cmp(power(b.over)) >= 0 {
		f = math.Inf(1)
	}
	return math.Copysign(f, float64(x.Sign()))
}

func power(e int) *big.Rat {
	p := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e)))
	if e < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// near lists numbers about the grid of a format: its elements, the middles between them, and the neighbours of both in f64,
// which a conversion in two steps gets wrong.
func (b binary) near() []float64 {
	var all []float64
	for _, e := range []int{b.least - b.digits + 1, b.least - 2, b.least, -3, 0, 1, 10, b.over - 1} {
		for _, k := range []int{1, 2, 3, 1 << (b.digits - 2), 1<<(b.digits-1) - 1, 1 << (b.digits - 1), 1<<(b.digits-1) + 1, 1<<b.digits - 1} {
			step := math.Ldexp(1, max(e-b.digits+1, b.least-b.digits+1))
			x := float64(k) * step
			for _, y := range []float64{x, x + step/2, x + step/4, x + 3*step/4} {
				for _, z := range []float64{y, math.Nextafter(y, 0), math.Nextafter(y, math.Inf(1))} {
					if !math.IsInf(z, 0) {
						all = append(all, z, -z)
					}
				}
			}
		}
	}
	return all
}

func sameFloat(t *testing.T, want, got float64, msg ...any) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) {
		return
	}
	require.Equal(t, math.Float64bits(want), math.Float64bits(got), msg...)
}

// A cast from f64 rounds once: the result is the nearest element of the narrow type, from denormals to overflow.
func TestCastRounds(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16} {
		x := formats[d].near()
		got, err := eval(t, op.Cast, []ref.Tensor{vec(dtype.F64, x...)}, op.Type("dtype", d))
		require.NoError(t, err)
		for i, f := range x {
			want := math.Copysign(formats[d].nearest(new(big.Rat).SetFloat64(f)), f)
			sameFloat(t, want, got[0].F[i], "%v of %x", d, f)
			sameFloat(t, want, ref.Round(d, f), "%v of %x", d, f)
		}
		for _, f := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN()} {
			sameFloat(t, f, ref.Round(d, f), d)
		}
	}
	sameFloat(t, 0.1, ref.Round(dtype.F64, 0.1), "f64 is not rounded")
}

// Integers become the nearest float in one step, also those beyond the digits of f64 and those of u64 above the range of i64.
func TestCastIntegersToFloats(t *testing.T) {
	for _, from := range dtype.Ints.List() {
		x := samples(from)
		if from.Size() == 8 {
			for _, k := range []int64{1 << 24, 1 << 53, 1 << 54, 1 << 62, 65504, 65520, 2049, 257} {
				for d := int64(-3); d <= 3; d++ {
					x = append(x, k+d, -(k + d))
				}
				x = append(x, k+k>>24, k+k>>24+1, k+k>>24-1, k+k>>11, k+k>>11+1, k+k>>8, k+k>>8+1, k+k>>53)
			}
		}
		for to, format := range formats {
			got, err := eval(t, op.Cast, []ref.Tensor{ivec(from, x...)}, op.Type("dtype", to))
			require.NoError(t, err)
			for i, e := range x {
				sameFloat(t, format.nearest(new(big.Rat).SetInt(whole(from, e))), got[0].F[i], "%v %d to %v", from, e, to)
			}
		}
	}
}

// Floats lose their fraction and saturate at the ends of every integer type, NaN becomes 0.
func TestCastFloatsToIntegers(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 0.99, -0.99, 1.5, -1.5, 1e300, -1e300, math.Inf(1), math.Inf(-1), 5e-324}
	for _, e := range []int{7, 8, 15, 16, 31, 32, 52, 63, 64} {
		p := math.Ldexp(1, e)
		for _, f := range []float64{p, p - 1, p + 1, p - 0.5, p + 0.5, math.Nextafter(p, 0), math.Nextafter(p, math.Inf(1)), math.Nextafter(p+1, 0)} {
			x = append(x, f, -f)
		}
	}
	for _, to := range dtype.Ints.List() {
		least, greatest := ends(to)
		got, err := eval(t, op.Cast, []ref.Tensor{vec(dtype.F64, append(x, math.NaN())...)}, op.Type("dtype", to))
		require.NoError(t, err)
		for i, f := range x {
			want := least
			if f > 0 {
				want = greatest
			}
			if !math.IsInf(f, 0) {
				n, _ := big.NewFloat(f).Int(nil)
				want = pick(n.Cmp(least) < 0, least, pick(n.Cmp(greatest) > 0, greatest, n))
			}
			require.Equal(t, modular(to, want), got[0].I[i], "%v to %v", f, to)
		}
		require.Zero(t, got[0].I[len(x)], "NaN to %v", to)
	}
}

// Between integers the low bits stay, to bool whatever is not zero is true, and bool is 0 or 1 in every type.
func TestCastIntegers(t *testing.T) {
	for _, from := range dtype.Ints.List() {
		x := samples(from)
		for _, to := range append(dtype.Ints.List(), dtype.Bool) {
			got, err := eval(t, op.Cast, []ref.Tensor{ivec(from, x...)}, op.Type("dtype", to))
			require.NoError(t, err)
			for i, e := range x {
				want := modular(to, whole(from, e))
				if to == dtype.Bool {
					want = int64(whole(from, e).CmpAbs(big.NewInt(0)))
				}
				require.Equal(t, want, got[0].I[i], "%v %d to %v", from, e, to)
			}
		}
	}
	for _, to := range dtype.Any.List() {
		got, err := eval(t, op.Cast, []ref.Tensor{ivec(dtype.Bool, 0, 1)}, op.Type("dtype", to))
		require.NoError(t, err)
		if to.IsFloat() {
			require.Equal(t, []float64{0, 1}, got[0].F, to)
		} else {
			require.Equal(t, []int64{0, 1}, got[0].I, to)
		}
	}
}

// values returns the value of each byte that is an element of a storage type.
func values(d dtype.DType) map[byte]float64 {
	all := map[byte]float64{}
	for i := range 256 {
		b := byte(i)
		if dtype.SmallInts.Has(d) && dtype.IntToSmall(d, int64(int8(b))) != b || d == dtype.F4E2M1 && b > 15 {
			continue
		}
		v := make([]float32, 1)
		dtype.FromSmall(d, []byte{b}, v)
		all[b] = float64(v[0])
	}
	return all
}

// A cast to an 8-bit or 4-bit float picks the nearest of its values, of two equally near ones that with an even code.
func TestCastToSmallFloats(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F8E4M3FN, dtype.F8E5M2, dtype.F8E4M3FNUZ, dtype.F8E5M2FNUZ, dtype.F4E2M1} {
		codes := values(d)
		greatest := 0.0
		for _, v := range codes {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				greatest = max(greatest, v)
			}
		}
		var x []float64
		for _, v := range codes {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			x = append(x, v, v*1.03125, v*1.0625, v*1.125, v*0.97, v+greatest/4096)
		}
		got, err := eval(t, op.Cast, []ref.Tensor{vec(dtype.F64, x...)}, op.Type("dtype", d))
		require.NoError(t, err)
		for i, f := range x {
			g := codes[byte(got[0].I[i])]
			require.LessOrEqual(t, math.Abs(g), greatest, "%v to %v saturates", f, d)
			for code, v := range codes {
				if math.IsNaN(v) || math.IsInf(v, 0) || math.Signbit(v) != math.Signbit(g) {
					continue
				}
				near, other := math.Abs(g-f), math.Abs(v-f)
				if other < near || near == other && v != g && got[0].I[i]&1 == 1 && code&1 == 0 {
					t.Fatalf("%v to %v is %v, but %v is nearer or even", f, d, g, v)
				}
			}
		}
	}
}

// A value beyond the range of a small float becomes the greatest value with saturate. Without it, it becomes infinity or NaN if the
// format has them.
func TestCastBeyondSmallFloats(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		d                  dtype.DType
		x, saturated, open float64
	}{
		{dtype.F8E4M3FN, 1000, 448, nan}, {dtype.F8E4M3FN, -inf, -448, nan}, {dtype.F8E4M3FN, 464, 448, 448}, {dtype.F8E4M3FN, 465, 448, nan},
		{dtype.F8E5M2, 1e6, 57344, inf}, {dtype.F8E5M2, -inf, -57344, -inf}, {dtype.F8E5M2, 61439, 57344, 57344}, {dtype.F8E5M2, 61440, 57344, inf},
		{dtype.F8E4M3FNUZ, 1000, 240, nan}, {dtype.F8E4M3FNUZ, -inf, -240, nan}, {dtype.F8E5M2FNUZ, 1e6, 57344, nan},
		{dtype.F4E2M1, 100, 6, 6}, {dtype.F4E2M1, -inf, -6, -6}, {dtype.F8E8M0, inf, 0x1p127, nan}, {dtype.F8E8M0, -1, nan, nan}, {dtype.F8E8M0, 3, 4, 4},
		{dtype.F8E8M0, 2.9, 2, 2}, {dtype.F8E8M0, 0, 0x1p-127, 0x1p-127},
	} {
		for _, saturate := range []bool{true, false} {
			want := c.open
			if saturate {
				want = c.saturated
			}
			got, err := eval(t, op.Cast, []ref.Tensor{vec(dtype.F32, c.x)}, op.Type("dtype", c.d), op.Flag("saturate", saturate))
			require.NoError(t, err)
			sameFloat(t, want, values(c.d)[byte(got[0].I[0])], "%v to %v, saturate %v", c.x, c.d, saturate)
		}
	}
}

// Every code of a storage type survives a cast to f32 and back, and to itself with its bits.
func TestCastFromSmall(t *testing.T) {
	for _, d := range dtype.Smalls.List() {
		codes := values(d)
		var in []int64
		for code := range codes {
			in = append(in, int64(code))
		}
		same, err := eval(t, op.Cast, []ref.Tensor{ivec(d, in...)}, op.Type("dtype", d))
		require.NoError(t, err)
		require.Equal(t, in, same[0].I, d)
		wide, err := eval(t, op.Cast, []ref.Tensor{ivec(d, in...)}, op.Type("dtype", dtype.F32))
		require.NoError(t, err)
		whole, err := eval(t, op.Cast, []ref.Tensor{ivec(d, in...)}, op.Type("dtype", dtype.I32))
		require.NoError(t, err)
		back, err := eval(t, op.Cast, wide, op.Type("dtype", d), op.Flag("saturate", false))
		require.NoError(t, err)
		for i, code := range in {
			v := codes[byte(code)]
			sameFloat(t, v, wide[0].F[i], "%v %d", d, code)
			if !math.IsNaN(v) {
				require.Equal(t, code, back[0].I[i], "%v of value %v", d, v)
				require.Equal(t, int64(min(max(math.Trunc(v), math.MinInt32), math.MaxInt32)), whole[0].I[i], "%v of value %v", d, v)
			} else {
				require.Zero(t, whole[0].I[i])
			}
		}
	}
}

// A cast to integers of two or four bits keeps the low bits of an integer or of a truncated float. A cast to a wider type keeps the
// sign.
func TestCastSmallIntegers(t *testing.T) {
	for d, width := range map[dtype.DType]uint{dtype.I4: 4, dtype.U4: 4, dtype.I2: 2, dtype.U2: 2} {
		model := func(x int64) int64 {
			x = ((x % (1 << width)) + 1<<width) % (1 << width)
			if (d == dtype.I4 || d == dtype.I2) && x >= 1<<(width-1) {
				x -= 1 << width
			}
			return x
		}
		var in []int64
		var fractions []float64
		for x := int64(-40); x <= 40; x++ {
			in, fractions = append(in, x), append(fractions, float64(x)+math.Copysign(0.75, float64(x)))
		}
		small, err := eval(t, op.Cast, []ref.Tensor{ivec(dtype.I16, in...)}, op.Type("dtype", d))
		require.NoError(t, err)
		truncated, err := eval(t, op.Cast, []ref.Tensor{vec(dtype.F32, fractions...)}, op.Type("dtype", d))
		require.NoError(t, err)
		wide, err := eval(t, op.Cast, small, op.Type("dtype", dtype.I64))
		require.NoError(t, err)
		unsigned, err := eval(t, op.Cast, small, op.Type("dtype", dtype.U16))
		require.NoError(t, err)
		other, err := eval(t, op.Cast, small, op.Type("dtype", dtype.F8E5M2))
		require.NoError(t, err)
		for i, x := range in {
			require.Equal(t, model(x), wide[0].I[i], "%v of %d", d, x)
			require.Equal(t, small[0].I[i], truncated[0].I[i], "%v of %v", d, fractions[i])
			require.Equal(t, model(x)&0xffff, unsigned[0].I[i], "u16 of %v of %d", d, x)
			require.InDelta(t, model(x), values(dtype.F8E5M2)[byte(other[0].I[i])], 1, "f8 of %v of %d", d, x)
		}
	}
}

// FromBytes keeps the low bits of each byte, as many as the storage type has, and extends the sign of signed integers.
func TestFromBytesOfSmallTypes(t *testing.T) {
	for d, want := range map[dtype.DType][]int64{
		dtype.I4: {0xff, 0x05, 0xf8}, dtype.U4: {0x0f, 0x05, 0x08}, dtype.I2: {0xff, 0x01, 0x00}, dtype.U2: {3, 1, 0}, dtype.F4E2M1: {15, 5, 8},
		dtype.F8E5M2: {255, 5, 0x88},
	} {
		x, err := ref.FromBytes(op.DescOf(d, 3), []byte{0xff, 0x05, 0x88})
		require.NoError(t, err)
		require.Equal(t, want, x.I, d)
	}
}
