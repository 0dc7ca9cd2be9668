package main

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// apply returns f of each element.
func apply[T, R element](x []T, f func(T) R) []R {
	y := make([]R, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// each returns the kernel of a function of one operand.
func each[T, R element](f func(T) R) func(c *call) error {
	return func(c *call) error { return set(c, 0, apply(flat[T](c.In[0]), f)) }
}

// pairs returns the kernel of a function of two operands that broadcast together.
func pairs[T, R element](f func(a, b T) R) func(c *call) error {
	return func(c *call) error {
		a, b := broadcast[T](c, 0), broadcast[T](c, 1)
		y := make([]R, len(a))
		for i := range y {
			y[i] = f(a[i], b[i])
		}
		return set(c, 0, y)
	}
}

// broadcast returns the elements of operand i in the shape of the result.
func broadcast[T element](c *call, i int) []T {
	return flat[T](array{c.In[i].elements, c.In[i].view.Expand(c.Node.Outputs[0].Shape)})
}

func where[T element](c *call) error {
	condition, a, b := broadcast[uint8](c, 0), broadcast[T](c, 1), broadcast[T](c, 2)
	y := make([]T, len(a))
	for i := range y {
		if y[i] = b[i]; condition[i] != 0 {
			y[i] = a[i]
		}
	}
	return set(c, 0, y)
}

// integer lists the element types with integer arithmetic.
type integer interface{ int32 | int64 | uint8 }

// integers returns the kernels of integers, which wrap as in Go.
func integers[T integer]() table {
	return table{
		op.Div: pairs(func(a, b T) T {
			if b == 0 {
				return ^T(0)
			}
			return a / b
		}),
		op.Rem: pairs(func(a, b T) T {
			if b == 0 {
				return a
			}
			return a % b
		}),
		op.Pow: pairs(power[T]),
		op.Shl: pairs(func(a, b T) T { return a << uint64(b) }), // a negative b becomes a large shift count
		op.Shr: pairs(func(a, b T) T { return a >> uint64(b) }),
	}
}

// power computes a**b by repeated squaring. A negative exponent results in 0, unless a is 1 or -1.
func power[T integer](a, b T) T {
	if b < 0 && a != 1 && a+1 != 0 {
		return 0
	}
	y := T(1)
	for e := uint64(b); e > 0; e, a = e>>1, a*a {
		if e&1 != 0 {
			y *= a
		}
	}
	return y
}

func logic[T integer]() table {
	return table{
		op.And: pairs(func(a, b T) T { return a & b }),
		op.Or:  pairs(func(a, b T) T { return a | b }),
		op.Xor: pairs(func(a, b T) T { return a ^ b }),
		op.Not: each(func(a T) T { return ^a }),
	}
}

// floats returns kernels that compute with package math in float64, and round.
func floats() table {
	t := table{
		op.Div:   pairs(func(a, b float32) float32 { return a / b }),
		op.Rem:   pairs(func(a, b float32) float32 { return float32(math.Mod(float64(a), float64(b))) }),
		op.Pow:   pairs(func(a, b float32) float32 { return float32(math.Pow(float64(a), float64(b))) }),
		op.Atan2: pairs(func(a, b float32) float32 { return float32(math.Atan2(float64(a), float64(b))) }),
		op.IsNaN: each(func(a float32) uint8 { return truth(a != a) }),
	}
	for code, f := range map[op.Code]func(float64) float64{
		op.Exp: math.Exp, op.Log: math.Log, op.Log1p: math.Log1p, op.Expm1: math.Expm1, op.Sqrt: math.Sqrt, op.Sin: math.Sin,
		op.Cos: math.Cos, op.Tan: math.Tan, op.Asin: math.Asin, op.Acos: math.Acos, op.Atan: math.Atan, op.Sinh: math.Sinh,
		op.Cosh: math.Cosh, op.Tanh: math.Tanh, op.Erf: math.Erf, op.Floor: math.Floor, op.Ceil: math.Ceil, op.Round: math.RoundToEven,
	} {
		t[code] = each(func(a float32) float32 { return float32(f(float64(a))) })
	}
	return t
}
