package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func (t *Tensor) un(c op.Code, attrs ...op.Attr) *Tensor { return Op(c, []*Tensor{t}, attrs...)[0] }

func (t *Tensor) bin(c op.Code, o *Tensor) *Tensor { return Op(c, []*Tensor{t, o})[0] }

// scalarOf is a rank-0 tensor of t's type, in t's scope.
func (t *Tensor) scalarOf(v float64) *Tensor {
	return (&Device{engine: t.dev, scope: t.scope}).Full(t.desc.DType, v)
}

// Neg is -t.
func (t *Tensor) Neg() *Tensor { return t.un(op.Neg) }

// Abs is |t|.
func (t *Tensor) Abs() *Tensor { return t.un(op.Abs) }

// Sign is -1, 0 or 1.
func (t *Tensor) Sign() *Tensor { return t.un(op.Sign) }

// Exp is e to the power t.
func (t *Tensor) Exp() *Tensor { return t.un(op.Exp) }

// Log is the natural logarithm.
func (t *Tensor) Log() *Tensor { return t.un(op.Log) }

// Sqrt is the square root.
func (t *Tensor) Sqrt() *Tensor { return t.un(op.Sqrt) }

// Square is t·t.
func (t *Tensor) Square() *Tensor { return t.un(op.Square) }

// Reciprocal is 1/t.
func (t *Tensor) Reciprocal() *Tensor { return t.un(op.Reciprocal) }

// Sin is the sine of t in radians.
func (t *Tensor) Sin() *Tensor { return t.un(op.Sin) }

// Cos is the cosine of t in radians.
func (t *Tensor) Cos() *Tensor { return t.un(op.Cos) }

// Tanh is the hyperbolic tangent.
func (t *Tensor) Tanh() *Tensor { return t.un(op.Tanh) }

// Erf is the error function.
func (t *Tensor) Erf() *Tensor { return t.un(op.Erf) }

// Floor is the greatest integer not above t.
func (t *Tensor) Floor() *Tensor { return t.un(op.Floor) }

// Ceil is the least integer not below t.
func (t *Tensor) Ceil() *Tensor { return t.un(op.Ceil) }

// Round is the nearest integer, ties to even.
func (t *Tensor) Round() *Tensor { return t.un(op.Round) }

// Not is the complement of bools, or of the bits of integers.
func (t *Tensor) Not() *Tensor { return t.un(op.Not) }

// IsNaN is true where t is NaN.
func (t *Tensor) IsNaN() *Tensor { return t.un(op.IsNaN) }

// Relu is max(t, 0).
func (t *Tensor) Relu() *Tensor { return t.un(op.Relu) }

// Sigmoid is 1/(1+exp(-t)).
func (t *Tensor) Sigmoid() *Tensor { return t.un(op.Sigmoid) }

// Gelu is the Gaussian error linear unit by the error function.
func (t *Tensor) Gelu() *Tensor { return t.un(op.Gelu) }

// Silu is t·sigmoid(t).
func (t *Tensor) Silu() *Tensor { return t.un(op.Silu) }

// Clamp brings t into [lo, hi].
func (t *Tensor) Clamp(lo, hi float64) *Tensor {
	return t.un(op.Clamp, op.ScalarFloat("min", lo), op.ScalarFloat("max", hi))
}

// Cast converts the elements to dt.
func (t *Tensor) Cast(dt dtype.DType) *Tensor {
	if dt == t.desc.DType {
		return t
	}
	return t.un(op.Cast, op.Type("dtype", dt))
}

// Add is t+o; operands of binary methods broadcast and have one element type.
func (t *Tensor) Add(o *Tensor) *Tensor { return t.bin(op.Add, o) }

// Sub is t-o.
func (t *Tensor) Sub(o *Tensor) *Tensor { return t.bin(op.Sub, o) }

// Mul is t·o by element.
func (t *Tensor) Mul(o *Tensor) *Tensor { return t.bin(op.Mul, o) }

// Div is t/o; integers truncate.
func (t *Tensor) Div(o *Tensor) *Tensor { return t.bin(op.Div, o) }

// Rem is the remainder with the sign of t.
func (t *Tensor) Rem(o *Tensor) *Tensor { return t.bin(op.Rem, o) }

// Pow is t to the power o.
func (t *Tensor) Pow(o *Tensor) *Tensor { return t.bin(op.Pow, o) }

// Maximum is the greater element; NaN if one is NaN.
func (t *Tensor) Maximum(o *Tensor) *Tensor { return t.bin(op.Max, o) }

// Minimum is the lesser element; NaN if one is NaN.
func (t *Tensor) Minimum(o *Tensor) *Tensor { return t.bin(op.Min, o) }

// AddScalar is t+v, with v converted to t's type.
func (t *Tensor) AddScalar(v float64) *Tensor { return t.Add(t.scalarOf(v)) }

// SubScalar is t-v.
func (t *Tensor) SubScalar(v float64) *Tensor { return t.Sub(t.scalarOf(v)) }

// MulScalar is t·v.
func (t *Tensor) MulScalar(v float64) *Tensor { return t.Mul(t.scalarOf(v)) }

// DivScalar is t/v.
func (t *Tensor) DivScalar(v float64) *Tensor { return t.Div(t.scalarOf(v)) }

// Equal is true where t equals o.
func (t *Tensor) Equal(o *Tensor) *Tensor { return t.bin(op.Equal, o) }

// NotEqual is true where t differs from o.
func (t *Tensor) NotEqual(o *Tensor) *Tensor { return t.bin(op.NotEqual, o) }

// Less is true where t is below o.
func (t *Tensor) Less(o *Tensor) *Tensor { return t.bin(op.Less, o) }

// LessEqual is true where t is o or below.
func (t *Tensor) LessEqual(o *Tensor) *Tensor { return t.bin(op.LessEqual, o) }

// Greater is true where t is above o.
func (t *Tensor) Greater(o *Tensor) *Tensor { return t.bin(op.Greater, o) }

// GreaterEqual is true where t is o or above.
func (t *Tensor) GreaterEqual(o *Tensor) *Tensor { return t.bin(op.GreaterEqual, o) }

// And is the logical and of bools, bitwise of integers.
func (t *Tensor) And(o *Tensor) *Tensor { return t.bin(op.And, o) }

// Or is the logical or of bools, bitwise of integers.
func (t *Tensor) Or(o *Tensor) *Tensor { return t.bin(op.Or, o) }

// Xor is the logical exclusive or of bools, bitwise of integers.
func (t *Tensor) Xor(o *Tensor) *Tensor { return t.bin(op.Xor, o) }

// Where is a where t holds, else b; t is bool and all broadcast together.
func (t *Tensor) Where(a, b *Tensor) *Tensor { return Op(op.Where, []*Tensor{t, a, b})[0] }
