package interp

import (
	"math"

	"github.com/goburn/burn/sdk/gpu/ir"
)

func floats[T floating](m *machine, in *ir.Inst) step {
	x, y := operand[T](m, in, 0), operand[T](m, in, 1)
	switch in.Op {
	case ir.Div:
		return each2(result[T](m, in), x, y, func(x, y T) T { return x / y })
	case ir.Rem:
		return each2(result[T](m, in), x, y, func(x, y T) T { return T(math.Mod(float64(x), float64(y))) })
	case ir.Neg:
		return each(result[T](m, in), x, func(x T) T { return -x })
	case ir.Abs:
		return each(result[T](m, in), x, func(x T) T { return T(math.Abs(float64(x))) })
	case ir.FMA:
		return fma(m, in, x, y, operand[T](m, in, 2))
	case ir.Pow:
		return each2(result[T](m, in), x, y, func(x, y T) T { return T(math.Pow(float64(x), float64(y))) })
	case ir.Maximum:
		return each2(result[T](m, in), x, y, func(x, y T) T { return max(x, y) })
	case ir.Minimum:
		return each2(result[T](m, in), x, y, func(x, y T) T { return min(x, y) })
	case ir.Atan2:
		return each2(result[T](m, in), x, y, func(x, y T) T { return T(math.Atan2(float64(x), float64(y))) })
	}
	if f := functions[in.Op]; f != nil {
		return each(result[T](m, in), x, func(x T) T { return T(f(float64(x))) })
	}
	return common(m, in, x, y)
}

var functions = map[ir.Op]func(float64) float64{
	ir.Exp: math.Exp, ir.Exp2: math.Exp2, ir.Expm1: math.Expm1, ir.Log: logarithm, ir.Log2: math.Log2, ir.Log1p: math.Log1p,
	ir.Exp2Fast: func(x float64) float64 {
		if x < -126 {
			return 0
		}
		return math.Exp2(x)
	},
	ir.Sqrt: math.Sqrt, ir.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) },
	ir.Sin: math.Sin, ir.Cos: math.Cos, ir.Tan: math.Tan, ir.Asin: asin, ir.Acos: acos, ir.Atan: math.Atan,
	ir.Sinh: sinh, ir.Cosh: cosh, ir.Tanh: math.Tanh, ir.Erf: math.Erf, ir.Erfc: math.Erfc,
	ir.Floor: math.Floor, ir.Ceil: math.Ceil, ir.Trunc: math.Trunc, ir.Round: math.RoundToEven,
}

// acos is accurate near 1, where math.Acos subtracts two nearly equal angles.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// asin is accurate near 1 and -1.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

// sinh is accurate near 0. Like cosh, it overflows only if its result does.
func sinh(x float64) float64 {
	a := math.Abs(x)
	if a > 700 {
		half := math.Exp(a / 2)
		return math.Copysign(half/2*half, x)
	}
	e := math.Expm1(a) // for a negative number it would be near -1, and e + 1 below would lose digits
	return math.Copysign((e+e/(e+1))/2, x)
}

func cosh(x float64) float64 {
	if math.Abs(x) > 700 {
		half := math.Exp(math.Abs(x) / 2)
		return half / 2 * half
	}
	return math.Cosh(x)
}

func fma[T floating](m *machine, in *ir.Inst, x, y, z []T) step {
	out := result[T](m, in)
	if in.Type.Size() == 8 {
		return func(*active) {
			for i := range out {
				out[i] = T(math.FMA(float64(x[i]), float64(y[i]), float64(z[i])))
			}
		}
	}
	return func(*active) {
		for i := range out {
			out[i] = T(fma32(float64(x[i]), float64(y[i]), float64(z[i])))
		}
	}
}

// fma32 returns x·y + z for values of float32, such that rounding the result to float32 is equal to a single rounding: an inexact sum is
// rounded to odd (Boldo and Melquiond, "When double rounding is odd", 2005).
func fma32(x, y, z float64) float64 {
	p := x * y // exact
	s := p + z
	b := s - p
	e := (p - (s - b)) + (z - b) // s + e is the exact sum if all numbers are finite
	if e == 0 || e != e || math.IsInf(e, 0) {
		return s
	}
	bits := math.Float64bits(s)
	if bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return math.Float64frombits(bits)
}

// logarithm is math.Log with a correction: on amd64, math.Log is wrong for subnormal numbers.
func logarithm(x float64) float64 {
	const least = 0x1p-1022
	if x > 0 && x < least {
		return math.Log(x*0x1p64) - 64*math.Ln2
	}
	return math.Log(x)
}
