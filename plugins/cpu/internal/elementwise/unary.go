package elementwise

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
)

// exactly returns the loop of a unary op that needs no approximation, or nil for other ops.
func exactly[T float](c op.Code) func(d, x []T) {
	switch c {
	case op.Neg:
		return negate[T]
	case op.Abs:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Abs(float64(v)))
			}
		}
	case op.Sqrt:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Sqrt(float64(v)))
			}
		}
	case op.Rsqrt:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = 1 / T(math.Sqrt(float64(v)))
			}
		}
	case op.Reciprocal:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = 1 / v
			}
		}
	case op.Square:
		return square[T]
	case op.Sign:
		return func(d, x []T) {
			for i, v := range x {
				switch {
				case v > 0:
					v = 1
				case v < 0:
					v = -1
				}
				d[i] = v
			}
		}
	case op.Floor:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Floor(float64(v)))
			}
		}
	case op.Ceil:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Ceil(float64(v)))
			}
		}
	case op.Trunc:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Trunc(float64(v)))
			}
		}
	case op.Round:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.RoundToEven(float64(v)))
			}
		}
	case op.Relu:
		if f := nativeRelu[T](); f != nil {
			return f
		}
		return relu[T]
	}
	return nil
}

func negate[T number](d, x []T) {
	for i, v := range x {
		d[i] = -v
	}
}

func square[T number](d, x []T) {
	for i, v := range x {
		d[i] = v * v
	}
}

// relu keeps NaN and converts -0 to +0. The builtin max compiles to no branch, so that mixed signs cost no mispredictions.
func relu[T number](d, x []T) {
	d = d[:len(x)]
	for i, v := range x {
		d[i] = max(v, 0)
	}
}

// transcendental returns the loop of an elementary function, computed in float64. For float32, package vecmath is faster.
func transcendental[T float](c op.Code) func(d, x []T) {
	switch c {
	case op.Exp:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Exp(float64(v)))
			}
		}
	case op.Log:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(log(float64(v)))
			}
		}
	case op.Log1p:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Log1p(float64(v)))
			}
		}
	case op.Expm1:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Expm1(float64(v)))
			}
		}
	case op.Sin:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(sin(float64(v)))
			}
		}
	case op.Cos:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(cos(float64(v)))
			}
		}
	case op.Tan:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(tan(float64(v)))
			}
		}
	case op.Asin:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(asin(float64(v)))
			}
		}
	case op.Acos:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(acos(float64(v)))
			}
		}
	case op.Atan:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Atan(float64(v)))
			}
		}
	}
	return hyperbolic[T](c)
}

func hyperbolic[T float](c op.Code) func(d, x []T) {
	switch c {
	case op.Sinh:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(sinh(float64(v)))
			}
		}
	case op.Cosh:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(cosh(float64(v)))
			}
		}
	case op.Tanh:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Tanh(float64(v)))
			}
		}
	case op.Asinh:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Asinh(float64(v)))
			}
		}
	case op.Acosh:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Acosh(float64(v)))
			}
		}
	case op.Atanh:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Atanh(float64(v)))
			}
		}
	case op.Erf:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(math.Erf(float64(v)))
			}
		}
	}
	return nil
}

// asin returns the arcsine with full precision near 1 and -1, where math.Asin loses digits.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

// acos returns the arccosine with full precision near 1, where math.Acos loses digits.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// sinh returns the hyperbolic sine. Near zero it has digits that math.Sinh loses, and it overflows only where the result is too large.
func sinh(x float64) float64 {
	switch a := math.Abs(x); {
	case a > 700:
		half := math.Exp(a / 2)
		return math.Copysign(half/2*half, x)
	case a > 1 || x == 0:
		return math.Sinh(x)
	}
	e := math.Expm1(x)
	return (e + e/(e+1)) / 2
}

// cosh returns the hyperbolic cosine. Unlike math.Cosh it overflows only where the result is too large.
func cosh(x float64) float64 {
	if a := math.Abs(x); a > 700 {
		half := math.Exp(a / 2)
		return half / 2 * half
	}
	return math.Cosh(x)
}

// log returns the natural logarithm. On some processors math.Log treats denormals as the least normal number.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*(1<<52)) - 52*math.Ln2
	}
	return math.Log(x)
}

// fast returns the specialised float32 loop of a unary op, or nil if there is none.
func fast(c op.Code) func(d, x []float32) {
	switch c {
	case op.Exp:
		return vecmath.Exp
	case op.Log:
		return vecmath.Log
	case op.Tanh:
		return vecmath.Tanh
	case op.Sigmoid:
		return vecmath.Sigmoid
	case op.Erf:
		return vecmath.Erf
	}
	return nativeUnary(c)
}

func intUnary[T integer](c op.Code) func(d, x []T) {
	switch c {
	case op.Neg:
		return negate[T]
	case op.Abs:
		return func(d, x []T) {
			for i, v := range x {
				if v < 0 {
					v = -v
				}
				d[i] = v
			}
		}
	case op.Square:
		return square[T]
	case op.Sign:
		return func(d, x []T) {
			for i, v := range x {
				switch {
				case v > 0:
					v = 1
				case v < 0:
					v = ^T(0)
				}
				d[i] = v
			}
		}
	case op.Relu:
		return relu[T]
	case op.Not:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = ^v
			}
		}
	}
	return nil
}
