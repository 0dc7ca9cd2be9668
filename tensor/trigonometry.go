package tensor

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// Sin returns the sine of t in radians.
func (t *Tensor) Sin() *Tensor { return t.un(op.Sin) }

// Cos returns the cosine of t in radians.
func (t *Tensor) Cos() *Tensor { return t.un(op.Cos) }

// Tan returns the tangent of t in radians.
func (t *Tensor) Tan() *Tensor { return t.un(op.Tan) }

// Asin returns the arc sine in radians; NaN outside [-1, 1].
func (t *Tensor) Asin() *Tensor { return t.un(op.Asin) }

// Acos returns the arc cosine in radians; NaN outside [-1, 1].
func (t *Tensor) Acos() *Tensor { return t.un(op.Acos) }

// Atan returns the arc tangent in radians.
func (t *Tensor) Atan() *Tensor { return t.un(op.Atan) }

// Sinh returns the hyperbolic sine.
func (t *Tensor) Sinh() *Tensor { return t.un(op.Sinh) }

// Cosh returns the hyperbolic cosine.
func (t *Tensor) Cosh() *Tensor { return t.un(op.Cosh) }

// Tanh returns the hyperbolic tangent.
func (t *Tensor) Tanh() *Tensor { return t.un(op.Tanh) }

// Asinh returns the inverse hyperbolic sine.
func (t *Tensor) Asinh() *Tensor { return t.un(op.Asinh) }

// Acosh returns the inverse hyperbolic cosine; NaN below 1.
func (t *Tensor) Acosh() *Tensor { return t.un(op.Acosh) }

// Atanh returns the inverse hyperbolic tangent; NaN outside [-1, 1].
func (t *Tensor) Atanh() *Tensor { return t.un(op.Atanh) }

// Deg2Rad converts degrees to radians.
func (t *Tensor) Deg2Rad() *Tensor { return t.MulScalar(math.Pi / 180) }

// Rad2Deg converts radians to degrees.
func (t *Tensor) Rad2Deg() *Tensor { return t.MulScalar(180 / math.Pi) }
