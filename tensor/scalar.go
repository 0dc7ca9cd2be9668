package tensor

// This file contains methods with a number as the other operand. The number is converted to t's type as Cast does.

// AddScalar returns t+v, with v converted to t's type.
func (t *Tensor) AddScalar(v float64) *Tensor { return t.withNumber((*Tensor).Add, v) }

// SubScalar returns t-v.
func (t *Tensor) SubScalar(v float64) *Tensor { return t.withNumber((*Tensor).Sub, v) }

// MulScalar returns t·v.
func (t *Tensor) MulScalar(v float64) *Tensor { return t.withNumber((*Tensor).Mul, v) }

// DivScalar returns t/v.
func (t *Tensor) DivScalar(v float64) *Tensor { return t.withNumber((*Tensor).Div, v) }

// RSubScalar returns v-t.
func (t *Tensor) RSubScalar(v float64) *Tensor {
	return t.withNumber(func(a, b *Tensor) *Tensor { return b.Sub(a) }, v)
}

// RDivScalar returns v/t.
func (t *Tensor) RDivScalar(v float64) *Tensor {
	return t.withNumber(func(a, b *Tensor) *Tensor { return b.Div(a) }, v)
}

// RemScalar returns the remainder of t/v with the sign of t.
func (t *Tensor) RemScalar(v float64) *Tensor { return t.withNumber((*Tensor).Rem, v) }

// FloorModScalar returns the remainder of t/v with the sign of v, like Python's %.
func (t *Tensor) FloorModScalar(v float64) *Tensor { return t.withNumber((*Tensor).FloorMod, v) }

// FloorDivScalar returns t/v rounded down.
func (t *Tensor) FloorDivScalar(v float64) *Tensor { return t.withNumber((*Tensor).FloorDiv, v) }

// PowScalar returns t to the power v; the powers 2 and 3 are computed as products, and for v 1 the result is t itself.
func (t *Tensor) PowScalar(v float64) *Tensor {
	switch v {
	case 1:
		return t
	case 2:
		return t.Square()
	case 3:
		m := temps{from: t}
		return m.done(m.of(t.Square()).Mul(t))
	}
	return t.withNumber((*Tensor).Pow, v)
}

// MaximumScalar returns the greater of t and v.
func (t *Tensor) MaximumScalar(v float64) *Tensor { return t.withNumber((*Tensor).Maximum, v) }

// MinimumScalar returns the lesser of t and v.
func (t *Tensor) MinimumScalar(v float64) *Tensor { return t.withNumber((*Tensor).Minimum, v) }
