package tensor

// Methods with a number as the other operand. The number is converted to t's type as Cast does.

// AddScalar is t+v, with v converted to t's type.
func (t *Tensor) AddScalar(v float64) *Tensor { return t.Add(t.scalarOf(v)) }

// SubScalar is t-v.
func (t *Tensor) SubScalar(v float64) *Tensor { return t.Sub(t.scalarOf(v)) }

// MulScalar is t·v.
func (t *Tensor) MulScalar(v float64) *Tensor { return t.Mul(t.scalarOf(v)) }

// DivScalar is t/v.
func (t *Tensor) DivScalar(v float64) *Tensor { return t.Div(t.scalarOf(v)) }

// RSubScalar is v-t.
func (t *Tensor) RSubScalar(v float64) *Tensor { return t.scalarOf(v).Sub(t) }

// RDivScalar is v/t.
func (t *Tensor) RDivScalar(v float64) *Tensor { return t.scalarOf(v).Div(t) }

// RemScalar is the remainder of t/v with the sign of t.
func (t *Tensor) RemScalar(v float64) *Tensor { return t.Rem(t.scalarOf(v)) }

// FloorModScalar is the remainder of t/v with the sign of v, as Python's %.
func (t *Tensor) FloorModScalar(v float64) *Tensor { return t.FloorMod(t.scalarOf(v)) }

// FloorDivScalar is t/v brought to the integer not above it.
func (t *Tensor) FloorDivScalar(v float64) *Tensor { return t.FloorDiv(t.scalarOf(v)) }

// PowScalar is t to the power v; small whole powers are products.
func (t *Tensor) PowScalar(v float64) *Tensor {
	switch v {
	case 1:
		return t
	case 2:
		return t.Square()
	case 3:
		return t.Square().Mul(t)
	}
	return t.Pow(t.scalarOf(v))
}

// MaximumScalar is the greater of t and v.
func (t *Tensor) MaximumScalar(v float64) *Tensor { return t.Maximum(t.scalarOf(v)) }

// MinimumScalar is the lesser of t and v.
func (t *Tensor) MinimumScalar(v float64) *Tensor { return t.Minimum(t.scalarOf(v)) }
