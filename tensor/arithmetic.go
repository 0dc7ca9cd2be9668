package tensor

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// Add returns t+o; operands of binary methods broadcast and must have the same element type.
func (t *Tensor) Add(o *Tensor) *Tensor { return t.bin(op.Add, o) }

// Sub returns t-o.
func (t *Tensor) Sub(o *Tensor) *Tensor { return t.bin(op.Sub, o) }

// Mul returns t·o by element.
func (t *Tensor) Mul(o *Tensor) *Tensor { return t.bin(op.Mul, o) }

// Div returns t/o; integers truncate.
func (t *Tensor) Div(o *Tensor) *Tensor { return t.bin(op.Div, o) }

// Rem returns the remainder with the sign of t.
func (t *Tensor) Rem(o *Tensor) *Tensor { return t.bin(op.Rem, o) }

// FloorMod returns the remainder of the floored quotient, with the sign of o, like Python's %.
func (t *Tensor) FloorMod(o *Tensor) *Tensor { return t.bin(op.FloorMod, o) }

// FloorDiv returns the quotient rounded down.
func (t *Tensor) FloorDiv(o *Tensor) *Tensor { return t.bin(op.FloorDiv, o) }

// TruncDiv returns the quotient rounded toward zero.
func (t *Tensor) TruncDiv(o *Tensor) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.Div(o)).Trunc())
}

// Pow returns t to the power o.
func (t *Tensor) Pow(o *Tensor) *Tensor { return t.bin(op.Pow, o) }

// Maximum returns the greater element, or NaN if one is NaN.
func (t *Tensor) Maximum(o *Tensor) *Tensor { return t.bin(op.Max, o) }

// Minimum returns the lesser element, or NaN if one is NaN.
func (t *Tensor) Minimum(o *Tensor) *Tensor { return t.bin(op.Min, o) }

// Atan2 returns the angle of the point (o, t) in radians, in (-π, π].
func (t *Tensor) Atan2(o *Tensor) *Tensor { return t.bin(op.Atan2, o) }

// Hypot returns sqrt(t²+o²) without overflow; it is infinite if one operand is infinite.
func (t *Tensor) Hypot(o *Tensor) *Tensor {
	m := temps{from: t}
	a, b := m.of(t.Abs()), m.of(o.Abs())
	hi, lo := m.of(a.Maximum(b)), m.of(a.Minimum(b))
	inf := m.of(m.of(a.IsInf()).Or(m.of(b.IsInf())))
	safe := m.of(hi.MaskFill(m.of(m.of(hi.EqualScalar(0)).Or(inf)), 1))
	ratio := m.of(m.of(lo.Div(safe)).MaskFill(inf, 0))
	root := m.of(m.of(m.of(ratio.Square()).AddScalar(1)).Sqrt())
	return m.done(m.of(hi.Mul(root)).MaskFill(inf, math.Inf(1)))
}

// LogAddExp returns log(exp(t)+exp(o)) without overflow.
func (t *Tensor) LogAddExp(o *Tensor) *Tensor { return t.bin(op.LogAddExp, o) }

// Lerp returns t+weight·(o-t).
func (t *Tensor) Lerp(o, weight *Tensor) *Tensor { return Op(op.Lerp, []*Tensor{t, o, weight})[0] }
