package tensor

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// Sin is the sine of t in radians.
func (t *Tensor) Sin() *Tensor { return t.un(op.Sin) }

// Cos is the cosine of t in radians.
func (t *Tensor) Cos() *Tensor { return t.un(op.Cos) }

// Tan is the tangent of t in radians.
func (t *Tensor) Tan() *Tensor { return t.un(op.Tan) }

// Asin is the arc sine in radians; NaN outside [-1, 1].
func (t *Tensor) Asin() *Tensor { return t.un(op.Asin) }

// Acos is the arc cosine in radians; NaN outside [-1, 1].
func (t *Tensor) Acos() *Tensor { return t.un(op.Acos) }

// Atan is the arc tangent in radians.
func (t *Tensor) Atan() *Tensor { return t.un(op.Atan) }

// Sinh is the hyperbolic sine.
func (t *Tensor) Sinh() *Tensor { return t.un(op.Sinh) }

// Cosh is the hyperbolic cosine.
func (t *Tensor) Cosh() *Tensor { return t.un(op.Cosh) }

// Tanh is the hyperbolic tangent.
func (t *Tensor) Tanh() *Tensor { return t.un(op.Tanh) }

// Asinh is the inverse hyperbolic sine.
func (t *Tensor) Asinh() *Tensor { return t.un(op.Asinh) }

// Acosh is the inverse hyperbolic cosine; NaN below 1.
func (t *Tensor) Acosh() *Tensor { return t.un(op.Acosh) }

// Atanh is the inverse hyperbolic tangent; NaN outside [-1, 1].
func (t *Tensor) Atanh() *Tensor { return t.un(op.Atanh) }

// Deg2Rad is t degrees in radians.
func (t *Tensor) Deg2Rad() *Tensor { return t.MulScalar(math.Pi / 180) }

// Rad2Deg is t radians in degrees.
func (t *Tensor) Rad2Deg() *Tensor { return t.MulScalar(180 / math.Pi) }
