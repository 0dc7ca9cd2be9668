package ir

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

// ends are numbers around the ends of integer types.
var ends = []int64{0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 63, 127, -128, 255, 1<<15 - 1, -1 << 15, 1<<31 - 1, -1 << 31, 1<<32 - 1, math.MaxInt64, math.MinInt64}

// asBig returns the number that canonical bits of an integer type represent.
func asBig(t dtype.DType, bits uint64) *big.Int {
	if t.Class() == dtype.Signed {
		return big.NewInt(int64(bits))
	}
	return new(big.Int).SetUint64(bits)
}

// bounds returns the least and the greatest number of an integer type.
func bounds(t dtype.DType) (lo, hi *big.Int) {
	one, size := big.NewInt(1), uint(8*t.Size())
	if t.Class() == dtype.Signed {
		half := new(big.Int).Lsh(one, size-1)
		return new(big.Int).Neg(half), new(big.Int).Sub(half, one)
	}
	return big.NewInt(0), new(big.Int).Sub(new(big.Int).Lsh(one, size), one)
}

func within(t dtype.DType, x *big.Int) bool {
	lo, hi := bounds(t)
	return x.Cmp(lo) >= 0 && x.Cmp(hi) <= 0
}

// wrapped returns x modulo 2^bits as a number of type t.
func wrapped(t dtype.DType, x *big.Int) *big.Int {
	lo, hi := bounds(t)
	room := new(big.Int).Add(new(big.Int).Sub(hi, lo), big.NewInt(1))
	d := new(big.Int).Sub(x, lo)
	return d.Mod(d, room).Add(d, lo)
}

// computed returns the exact result of an operation of integers. defined is false where the IR does not define the result.
func computed(op Op, t dtype.DType, x, y *big.Int) (r *big.Int, defined bool) {
	r = new(big.Int)
	shift := y.IsInt64() && y.Int64() >= 0 && y.Int64() < int64(8*t.Size())
	switch op {
	case Add:
		return r.Add(x, y), true
	case Sub:
		return r.Sub(x, y), true
	case Mul:
		return r.Mul(x, y), true
	case Div, Rem:
		if y.Sign() == 0 {
			return nil, false
		}
		if op == Div {
			return r.Quo(x, y), true
		}
		return r.Rem(x, y), true
	case Min, Max:
		if (x.Cmp(y) < 0) == (op == Min) {
			return x, true
		}
		return y, true
	case Neg:
		return r.Neg(x), true
	case Abs:
		return r.Abs(x), true
	case And:
		return r.And(x, y), true
	case Or:
		return r.Or(x, y), true
	case Xor:
		return r.Xor(x, y), true
	case Not:
		if r.Not(x); t.Class() == dtype.Unsigned {
			r = wrapped(t, r)
		}
		return r, true
	case Shl:
		if !shift {
			return nil, false
		}
		return r.Lsh(x, uint(y.Int64())), true
	case Shr:
		if !shift {
			return nil, false
		}
		return r.Rsh(x, uint(y.Int64())), true
	}
	c := x.Cmp(y)
	if op == Eq && c == 0 || op == Ne && c != 0 || op == Lt && c < 0 || op == Le && c <= 0 {
		return r.SetInt64(1), true
	}
	return r, true
}

// TestIntegerConstants compares calculations with constants with exact integers. A result that the type cannot represent, or that is not defined, is left to
// the hardware.
func TestIntegerConstants(t *testing.T) {
	for _, d := range []dtype.DType{dtype.I32, dtype.I64, dtype.U32, dtype.U64} {
		for _, op := range []Op{Add, Sub, Mul, Div, Rem, Min, Max, Neg, Abs, And, Or, Xor, Not, Shl, Shr, Eq, Ne, Lt, Le} {
			for _, a := range ends {
				for _, b := range ends {
					x, y := canonical(d, uint64(a)), canonical(d, uint64(b))
					got, ok := calculate(op, d, x, y)
					want, defined := computed(op, d, asBig(d, x), asBig(d, y))
					left := d.Class() == dtype.Signed && (op == Div || op == Rem) && int64(y) == -1 || op == Neg && d.Class() == dtype.Unsigned // left to the hardware
					fits := defined && within(d, want)
					if ok != (fits && !left) {
						t.Fatalf("%v.%v of %d and %d: known is %v, and the exact result %v", op, d, int64(x), int64(y), ok, want)
					}
					if ok && asBig(d, got).Cmp(want) != 0 {
						t.Fatalf("%v.%v of %d and %d is %d, want %v", op, d, int64(x), int64(y), int64(got), want)
					}
				}
			}
		}
	}
	for _, op := range []Op{MulHi, Exp, Select} {
		for _, d := range []dtype.DType{dtype.I32, dtype.U64, dtype.F32, dtype.Bool, dtype.Invalid} {
			_, ok := calculate(op, d, 1, 1)
			require.False(t, ok, "%v of %v", op, d)
		}
	}
}

// TestBoolConstants checks the truth table of each operation, where false is less than true.
func TestBoolConstants(t *testing.T) {
	for op, want := range map[Op]string{And: "0001", Or: "0111", Xor: "0110", Eq: "1001", Ne: "0110", Lt: "0100", Le: "1101", Not: "1100"} {
		for i, c := range want {
			got, ok := calculate(op, dtype.Bool, uint64(i/2), uint64(i%2))
			require.True(t, ok)
			require.Equal(t, uint64(c-'0'), got, "%v of %d and %d", op, i/2, i%2)
		}
	}
	_, ok := calculate(Add, dtype.Bool, 1, 1)
	require.False(t, ok)
}

// TestFloatConstants compares calculations with constants with Go's in the same type. NaN, which has many bit patterns, and minima and
// maxima of equal numbers are left to the hardware.
func TestFloatConstants(t *testing.T) {
	inf := math.Inf(1)
	some := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 3, 1e-45, 1e-40, math.MaxFloat32, -math.MaxFloat32, 1 << 24, 1<<24 + 1, 16777219, 1e30, inf, -inf, math.NaN()}
	single := map[Op]func(x, y float32) float32{
		Add: func(x, y float32) float32 { return x + y }, Sub: func(x, y float32) float32 { return x - y },
		Mul: func(x, y float32) float32 { return x * y }, Div: func(x, y float32) float32 { return x / y }, Neg: func(x, _ float32) float32 { return -x },
		Abs: func(x, _ float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) },
	}
	double := map[Op]func(x, y float64) float64{
		Add: func(x, y float64) float64 { return x + y }, Sub: func(x, y float64) float64 { return x - y },
		Mul: func(x, y float64) float64 { return x * y }, Div: func(x, y float64) float64 { return x / y }, Neg: func(x, _ float64) float64 { return -x },
		Abs: func(x, _ float64) float64 { return math.Float64frombits(math.Float64bits(x) &^ (1 << 63)) },
	}
	for _, x := range some {
		for _, y := range some {
			fx, fy := float32(x), float32(y)
			bx, by := uint64(math.Float32bits(fx)), uint64(math.Float32bits(fy))
			for op, f := range single {
				want := f(fx, fy)
				got, ok := calculate(op, dtype.F32, bx, by)
				require.Equal(t, want == want, ok, "%v of %v and %v", op, fx, fy)
				require.True(t, !ok || got == uint64(math.Float32bits(want)), "%v of %v and %v is %v, want %v", op, fx, fy, math.Float32frombits(uint32(got)), want)
				wide := double[op](x, y)
				got, ok = calculate(op, dtype.F64, math.Float64bits(x), math.Float64bits(y))
				require.Equal(t, wide == wide, ok, "%v of %v and %v", op, x, y)
				require.True(t, !ok || got == math.Float64bits(wide), "%v of %v and %v", op, x, y)
			}
			for op, want := range map[Op]bool{Eq: x == y, Ne: x != y, Lt: x < y, Le: x <= y} {
				got, ok := calculate(op, dtype.F64, math.Float64bits(x), math.Float64bits(y))
				require.True(t, ok)
				require.Equal(t, truth(want), got, "%v of %v and %v", op, x, y)
			}
			for op, want := range map[Op]float32{Min: min(fx, fy), Max: max(fx, fy)} {
				got, ok := calculate(op, dtype.F32, bx, by)
				require.Equal(t, fx != fy && want == want, ok, "%v of %v and %v", op, fx, fy)
				require.True(t, !ok || math.Float32frombits(uint32(got)) == want, "%v of %v and %v", op, fx, fy)
			}
		}
	}
}

// TestConversions checks that constants are cast as the IR defines casts. Floats beyond the range of an integer type, and NaN, are left to the hardware.
func TestConversions(t *testing.T) {
	integers := []dtype.DType{dtype.I64, dtype.I32, dtype.I16, dtype.I8, dtype.U64, dtype.U32, dtype.U16, dtype.U8}
	for _, from := range integers {
		for _, a := range ends {
			x := canonical(from, uint64(a))
			number := asBig(from, x)
			for _, to := range integers {
				got, ok := convert(from, to, x)
				require.True(t, ok)
				require.Zero(t, wrapped(to, number).Cmp(asBig(to, got)), "%v %v as %v is %d", from, number, to, int64(got))
			}
			exact := new(big.Float).SetInt(number)
			single, _ := exact.Float32()
			double, _ := exact.Float64()
			got, ok := convert(from, dtype.F32, x)
			require.True(t, ok && got == uint64(math.Float32bits(single)), "%v %v as f32", from, number)
			got, ok = convert(from, dtype.F64, x)
			require.True(t, ok && got == math.Float64bits(double), "%v %v as f64", from, number)
			got, ok = convert(from, dtype.Bool, x)
			require.True(t, ok && got == truth(number.Sign() != 0), "%v %v as bool", from, number)
			_, ok = convert(from, dtype.Invalid, x)
			require.False(t, ok)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 0.5, -0.5, -0.99, 1.5, -1.5, 127.9, 128, -128.9, -129, 255.5, 256, 65535.9, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1, 1 << 32, 1 << 62, 1 << 63,
		-1 << 63, 1 << 64, 1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		for _, to := range integers {
			got, ok := convert(dtype.F64, to, math.Float64bits(f))
			if f != f || math.IsInf(f, 0) {
				require.False(t, ok, "%v as %v", f, to)
				continue
			}
			whole, _ := big.NewFloat(f).Int(nil)
			require.Equal(t, within(to, whole), ok, "%v as %v", f, to)
			require.True(t, !ok || asBig(to, got).Cmp(whole) == 0, "%v as %v is %d", f, to, int64(got))
		}
		got, ok := convert(dtype.F64, dtype.Bool, math.Float64bits(f))
		require.True(t, ok && got == truth(f != 0), "%v as bool", f)
		got, ok = convert(dtype.F64, dtype.F32, math.Float64bits(f))
		require.Equal(t, f == f, ok)
		require.True(t, !ok || got == uint64(math.Float32bits(float32(f))), "%v as f32", f)
	}
	for _, c := range []struct {
		from, to dtype.DType
		x, want  uint64
	}{
		{dtype.F16, dtype.F32, 0x3c01, 0x3f802000},                       // 1 + 2^-10
		{dtype.F16, dtype.F64, 0x8001, 0xbe70000000000000},               // -2^-24, a subnormal number of f16
		{dtype.BF16, dtype.F64, 0x7f7f, 0x47efe00000000000},              // the greatest bf16
		{dtype.F32, dtype.BF16, 0x3f808000, 0x3f80},                      // half way between 1 and 1 + 2^-7: to even
		{dtype.F32, dtype.BF16, 0x3f818000, 0x3f82},                      // half way above 1 + 2^-7: to even
		{dtype.F32, dtype.F16, 0x477ff000, 0x7c00},                       // 65520 rounds to infinity
		{dtype.F32, dtype.F16, 0x477fefff, 0x7bff},                       // and what is below it to 65504
		{dtype.I32, dtype.F16, uint64(2049), 0x6800},                     // 2049 is half way: to even, 2048
		{dtype.I64, dtype.BF16, uint64(1<<24 + 1<<16 + 1), 0x4b80},       // by way of f32, which drops the last bit: half way, to even
		{dtype.Bool, dtype.F16, 1, 0x3c00}, {dtype.Bool, dtype.I8, 1, 1}, // true is 1
	} {
		got, ok := convert(c.from, c.to, c.x)
		require.True(t, ok)
		require.Equal(t, c.want, got, "%v %#x as %v is %#x", c.from, c.x, c.to, got)
	}
	_, ok := convert(dtype.Invalid, dtype.I32, 1)
	require.False(t, ok)
}
