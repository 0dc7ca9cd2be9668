package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func (t *Tensor) un(c op.Code, attrs ...op.Attr) *Tensor { return Op(c, []*Tensor{t}, attrs...)[0] }

func (t *Tensor) bin(c op.Code, o *Tensor) *Tensor { return Op(c, []*Tensor{t, o})[0] }

// within returns a handle on t's device in t's scope.
func (t *Tensor) within() *Device { return &Device{queue: t.queue.live(), scope: t.scope} }

// scalarOf returns a rank-0 tensor of t's type, in t's scope.
func (t *Tensor) scalarOf(v float64) *Tensor { return t.within().Full(t.desc.DType, v) }

// scalarInt returns a rank-0 tensor of type dt. v need not be exact in float64.
func (d *Device) scalarInt(dt dtype.DType, v int64) *Tensor {
	return d.Op(op.Full, nil, op.ScalarInt("value", v), op.Type("dtype", dt), op.Ints("shape"))[0]
}

// Neg returns -t.
func (t *Tensor) Neg() *Tensor { return t.un(op.Neg) }

// Abs returns |t|.
func (t *Tensor) Abs() *Tensor { return t.un(op.Abs) }

// Sign returns -1, 0 or 1.
func (t *Tensor) Sign() *Tensor { return t.un(op.Sign) }

// Exp returns e to the power t.
func (t *Tensor) Exp() *Tensor { return t.un(op.Exp) }

// Log returns the natural logarithm.
func (t *Tensor) Log() *Tensor { return t.un(op.Log) }

// Exp2 returns 2 to the power t.
func (t *Tensor) Exp2() *Tensor { return t.un(op.Exp2) }

// Expm1 returns e to the power t, minus 1, exact near zero.
func (t *Tensor) Expm1() *Tensor { return t.un(op.Expm1) }

// Log1p returns the natural logarithm of 1+t, exact near zero.
func (t *Tensor) Log1p() *Tensor { return t.un(op.Log1p) }

// Log2 returns the logarithm to base 2.
func (t *Tensor) Log2() *Tensor { return t.un(op.Log2) }

// Log10 returns the logarithm to base 10.
func (t *Tensor) Log10() *Tensor { return t.un(op.Log10) }

// Sqrt returns the square root.
func (t *Tensor) Sqrt() *Tensor { return t.un(op.Sqrt) }

// Rsqrt returns 1/sqrt(t).
func (t *Tensor) Rsqrt() *Tensor { return t.un(op.Rsqrt) }

// Square returns t·t.
func (t *Tensor) Square() *Tensor { return t.un(op.Square) }

// Reciprocal returns 1/t.
func (t *Tensor) Reciprocal() *Tensor { return t.un(op.Reciprocal) }

// Erf returns the error function.
func (t *Tensor) Erf() *Tensor { return t.un(op.Erf) }

// Erfc returns 1-erf(t).
func (t *Tensor) Erfc() *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.Erf()).RSubScalar(1))
}

// Floor returns the greatest integer not above t.
func (t *Tensor) Floor() *Tensor { return t.un(op.Floor) }

// Ceil returns the least integer not below t.
func (t *Tensor) Ceil() *Tensor { return t.un(op.Ceil) }

// Round returns the nearest integer, ties to even.
func (t *Tensor) Round() *Tensor { return t.un(op.Round) }

// RoundAway returns the nearest integer, ties away from zero.
func (t *Tensor) RoundAway() *Tensor { return t.un(op.RoundAway) }

// Trunc returns t rounded toward zero; for a type other than a float the result is t itself.
func (t *Tensor) Trunc() *Tensor {
	if !t.desc.DType.IsFloat() {
		return t
	}
	return t.un(op.Trunc)
}

// Frac returns the fractional part of t: t-trunc(t).
func (t *Tensor) Frac() *Tensor { return t.un(op.Frac) }

// BitCount returns the number of set bits of each integer.
func (t *Tensor) BitCount() *Tensor { return t.un(op.BitCount) }

// Not returns the complement of bools, or of the bits of integers.
func (t *Tensor) Not() *Tensor { return t.un(op.Not) }

// IsNaN returns a bool tensor that is true where t is NaN.
func (t *Tensor) IsNaN() *Tensor { return t.un(op.IsNaN) }

// IsInf returns a bool tensor that is true where t is infinite.
func (t *Tensor) IsInf() *Tensor { return t.un(op.IsInf) }

// IsFinite returns a bool tensor that is true where t is neither infinite nor NaN.
func (t *Tensor) IsFinite() *Tensor { return t.un(op.IsFinite) }

// ContainsNaN returns one bool that is true if an element is NaN.
func (t *Tensor) ContainsNaN() *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.IsNaN()).Any())
}

// Clamp limits t to [lo, hi].
func (t *Tensor) Clamp(lo, hi float64) *Tensor {
	return t.un(op.Clamp, op.ScalarFloat("min", lo), op.ScalarFloat("max", hi))
}

// ClampMin returns the greater of t and lo; NaN stays.
func (t *Tensor) ClampMin(lo float64) *Tensor { return t.un(op.Clamp, op.ScalarFloat("min", lo)) }

// ClampMax returns the lesser of t and hi; NaN stays.
func (t *Tensor) ClampMax(hi float64) *Tensor { return t.un(op.Clamp, op.ScalarFloat("max", hi)) }

// Cast returns t with its elements converted to dt, or t itself if it has that type.
func (t *Tensor) Cast(dt dtype.DType) *Tensor {
	if dt == t.desc.DType {
		return t
	}
	return t.un(op.Cast, op.Type("dtype", dt))
}
