package interp_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

type realNumber interface{ float32 | float64 }

func reals[T realNumber]() []T {
	s := []T{0, T(math.Copysign(0, -1)), 1, -1, 0.5, 1.5, 2.5, -2.5, 3, 0.1, -0.7, 1e-3, 20, -20, 88, 1e10, T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()),
		T(math.SmallestNonzeroFloat32), math.MaxFloat32, -math.MaxFloat32}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		s = append(s, T(r.NormFloat64()), T(math.Exp(40*r.NormFloat64())))
	}
	return s
}

// equal checks that two floats have the same bits, or are both NaN.
func equal[T realNumber](t *testing.T, want, got T, text string, args ...any) {
	t.Helper()
	if want != want {
		require.True(t, got != got, append([]any{text + ": %v is no NaN"}, append(args, got)...)...)
		return
	}
	require.Equal(t, math.Float64bits(float64(want)), math.Float64bits(float64(got)), append([]any{text}, args...)...)
}

func testFloats[T float32 | float64](t *testing.T, d dtype.DType) {
	var xs, ys []T
	for _, x := range reals[T]() {
		for _, y := range reals[T]() {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	for op, f := range map[ir.Op]func(x, y float64) float64{
		ir.Add: func(x, y float64) float64 { return x + y }, ir.Sub: func(x, y float64) float64 { return x - y },
		ir.Mul: func(x, y float64) float64 { return x * y }, ir.Div: func(x, y float64) float64 { return x / y }, ir.Rem: math.Mod,
		ir.Pow: math.Pow, ir.Atan2: math.Atan2,
	} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs), raw(ys)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Binary(op, v[0], v[1]) }))
		for i := range got {
			equal(t, T(f(float64(xs[i]), float64(ys[i]))), got[i], "%v.%v of %g and %g", op, d, xs[i], ys[i])
		}
	}
	for op, f := range map[ir.Op]func(x, y float64) float64{ir.Min: math.Min, ir.Max: math.Max} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs), raw(ys)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Binary(op, v[0], v[1]) }))
		for i := range got {
			if xs[i] == xs[i] && ys[i] == ys[i] { // either zero, either operand beside a NaN
				require.Equal(t, T(f(float64(xs[i]), float64(ys[i]))), got[i], "%v of %g and %g", op, xs[i], ys[i])
			}
		}
	}
	for op, f := range map[ir.Op]func(x, y T) T{ir.Maximum: func(x, y T) T { return max(x, y) }, ir.Minimum: func(x, y T) T { return min(x, y) }} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs), raw(ys)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Binary(op, v[0], v[1]) }))
		for i := range got {
			equal(t, f(xs[i], ys[i]), got[i], "%v.%v of %g and %g", op, d, xs[i], ys[i])
		}
	}
	for op, f := range map[ir.Op]func(x, y T) bool{ir.Eq: func(x, y T) bool { return x == y }, ir.Ne: func(x, y T) bool { return x != y },
		ir.Lt: func(x, y T) bool { return x < y }, ir.Le: func(x, y T) bool { return x <= y }} {
		got := dtype.Slice[bool](apply(t, d, dtype.Bool, len(xs), [][]byte{raw(xs), raw(ys)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Binary(op, v[0], v[1]) }))
		for i := range got {
			require.Equal(t, f(xs[i], ys[i]), got[i], "%v of %g and %g", op, xs[i], ys[i])
		}
	}
	xs = reals[T]()
	for op, f := range map[ir.Op]func(x float64) float64{
		ir.Neg: func(x float64) float64 { return -x }, ir.Abs: math.Abs,
		ir.Exp: math.Exp, ir.Exp2: math.Exp2, ir.Expm1: math.Expm1, ir.Log: math.Log, ir.Log2: math.Log2, ir.Log1p: math.Log1p, ir.Sqrt: math.Sqrt,
		ir.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) }, ir.Sin: math.Sin, ir.Cos: math.Cos, ir.Tan: math.Tan,
		ir.Atan: math.Atan, ir.Tanh: math.Tanh, ir.Erf: math.Erf, ir.Erfc: math.Erfc, ir.Floor: math.Floor,
		ir.Ceil: math.Ceil, ir.Trunc: math.Trunc, ir.Round: math.RoundToEven,
	} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Unary(op, v[0]) }))
		for i := range got {
			equal(t, T(f(float64(xs[i]))), got[i], "%v.%v of %g", op, d, xs[i])
		}
	}
	// Functions that the interpreter computes by formulas of its own.
	digits := map[dtype.DType]float64{dtype.F32: 1e-7, dtype.F64: 1e-14}[d]
	for op, f := range map[ir.Op]func(x float64) float64{ir.Acos: math.Acos, ir.Asin: math.Asin, ir.Sinh: math.Sinh, ir.Cosh: math.Cosh} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Unary(op, v[0]) }))
		for i := range got {
			switch want := f(float64(xs[i])); {
			case want != want:
				require.True(t, got[i] != got[i])
			case math.Abs(want) < 1e300:
				require.InDelta(t, want, float64(got[i]), digits*max(1, math.Abs(want)), "%v of %g", op, xs[i])
			}
		}
	}
}

func TestFloats(t *testing.T) {
	t.Run("f32", func(t *testing.T) { testFloats[float32](t, dtype.F32) })
	t.Run("f64", func(t *testing.T) { testFloats[float64](t, dtype.F64) })
}

// TestFMA checks that FMA rounds once, against sums of 500 bits.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := 20000
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		p := x[i] * y[i]
		switch i % 4 {
		case 0:
			z[i] = float32(r.NormFloat64())
		case 1: // near a tie of the sum
			z[i] = float32(math.Ldexp(float64(p), 24+r.IntN(3)))
		case 2:
			z[i] = -p
		case 3: // a tie except for the product's last digits
			x[i], y[i], z[i] = 1+float32(math.Ldexp(1, -12)), float32(math.Ldexp(1+math.Ldexp(1, -12), -24)), 1
		}
	}
	got := dtype.Slice[float32](apply(t, dtype.F32, dtype.F32, n, [][]byte{raw(x), raw(y), raw(z)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.FMA(v[0], v[1], v[2]) }))
	exact := func(f float32) *big.Float { return new(big.Float).SetPrec(500).SetFloat64(float64(f)) }
	for i := range got {
		s := exact(x[i])
		s.Mul(s, exact(y[i])).Add(s, exact(z[i]))
		want, _ := s.Float32()
		require.Equal(t, want, got[i], "%g·%g + %g", x[i], y[i], z[i])
	}
	inf := float32(math.Inf(1))
	for _, c := range [][4]float32{{inf, 1, 1, inf}, {inf, 1, -inf, float32(math.NaN())}, {0, inf, 1, float32(math.NaN())}, {math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32},
		{math.MaxFloat32, 2, 0, inf}, {1, 2, 3, 5}, {0, -1, 0, 0}} {
		got := dtype.Slice[float32](apply(t, dtype.F32, dtype.F32, 1, [][]byte{raw(c[:1]), raw(c[1:2]), raw(c[2:3])}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.FMA(v[0], v[1], v[2]) }))
		equal(t, c[3], got[0], "%v", c)
	}
	a, b, c := []float64{0.1}, []float64{10}, []float64{-1}
	wide := dtype.Slice[float64](apply(t, dtype.F64, dtype.F64, 1, [][]byte{raw(a), raw(b), raw(c)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.FMA(v[0], v[1], v[2]) }))
	require.Equal(t, math.FMA(0.1, 10, -1), wide[0])
}

// TestCasts compares conversions between all types with those of package dtype and Go.
func TestCasts(t *testing.T) {
	values := []float64{0, 1, -1, 2.5, -2.5, 127, 100.7, 0.1, 200, 1000.3, 40000, -30000, 65504, 1e6, 3e9, -2e9, 1e30, math.Inf(1), math.NaN()}
	for _, from := range dtype.All() {
		for _, to := range dtype.All() {
			data := make([]byte, len(values)*from.Size())
			for i, v := range values {
				store(from, data[i*from.Size():], v)
			}
			got := apply(t, from, to, len(values), [][]byte{data}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Cast(to, v[0]) })
			for i := range values {
				x := load(from, data[i*from.Size():])
				if to.IsInt() && from.IsFloat() && !inRange(to, x) {
					continue
				}
				want := make([]byte, to.Size())
				if to.IsInt() && from.IsInt() {
					bits := uint64(int64(x))
					for k := range want {
						want[k] = byte(bits >> (8 * k))
					}
				} else {
					store(to, want, x)
				}
				g := got[i*to.Size():][:to.Size()]
				if to.IsFloat() && x != x {
					require.True(t, math.IsNaN(load(to, g)))
					continue
				}
				require.Equal(t, want, g, "%v %v to %v", from, x, to)
			}
		}
	}
}

func inRange(d dtype.DType, x float64) bool {
	x = math.Trunc(x)
	bits := d.Size() * 8
	if d.Class() == dtype.Signed {
		return x >= -math.Ldexp(1, bits-1) && x < math.Ldexp(1, bits-1)
	}
	return x >= 0 && x < math.Ldexp(1, bits)
}

// store writes x to b as a d: the nearest float, or the truncated integer, which is 0 if x is out of range. load reads it.
func store(d dtype.DType, b []byte, x float64) {
	bits := uint64(0)
	switch d {
	case dtype.F64:
		bits = math.Float64bits(x)
	case dtype.F32:
		bits = uint64(math.Float32bits(float32(x)))
	case dtype.F16:
		bits = uint64(dtype.Float16From64(x))
	case dtype.BF16:
		bits = uint64(dtype.BFloat16From64(x))
	case dtype.Bool:
		if x != 0 {
			bits = 1
		}
	default:
		if inRange(d, x) {
			bits = uint64(int64(x))
		}
	}
	for k := range d.Size() {
		b[k] = byte(bits >> (8 * k))
	}
}

func load(d dtype.DType, b []byte) float64 {
	bits := uint64(0)
	for k := range d.Size() {
		bits |= uint64(b[k]) << (8 * k)
	}
	switch d.Class() {
	case dtype.Float:
		return dtype.FloatAt(d, b[:d.Size()], 0)
	case dtype.Signed:
		shift := 64 - 8*d.Size()
		return float64(int64(bits<<shift) >> shift)
	}
	return float64(bits)
}

func TestBitcast(t *testing.T) {
	x := []float32{1, -2, float32(math.Inf(1))}
	require.Equal(t, raw(x), apply(t, dtype.F32, dtype.U32, 3, [][]byte{raw(x)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Bitcast(dtype.U32, v[0]) }))
	h := []uint16{0xffff, 0x3c00, 0x8000}
	require.Equal(t, raw(h), apply(t, dtype.U16, dtype.I16, 3, [][]byte{raw(h)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Bitcast(dtype.I16, v[0]) }))
	u := []uint32{0, 1, 0xffffffff, 0x80000001, 0xf0f0}
	got := dtype.Slice[uint32](apply(t, dtype.U32, dtype.U32, 5, [][]byte{raw(u)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.PopCount(v[0]) }))
	require.Equal(t, []uint32{0, 1, 32, 2, 8}, got)
}
