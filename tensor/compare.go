package tensor

import (
	"context"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Equal returns a bool tensor that is true where t equals o.
func (t *Tensor) Equal(o *Tensor) *Tensor { return t.bin(op.Equal, o) }

// NotEqual returns a bool tensor that is true where t differs from o.
func (t *Tensor) NotEqual(o *Tensor) *Tensor { return t.bin(op.NotEqual, o) }

// Less returns a bool tensor that is true where t is below o.
func (t *Tensor) Less(o *Tensor) *Tensor { return t.bin(op.Less, o) }

// LessEqual returns a bool tensor that is true where t is o or below.
func (t *Tensor) LessEqual(o *Tensor) *Tensor { return t.bin(op.LessEqual, o) }

// Greater returns a bool tensor that is true where t is above o.
func (t *Tensor) Greater(o *Tensor) *Tensor { return t.bin(op.Greater, o) }

// GreaterEqual returns a bool tensor that is true where t is o or above.
func (t *Tensor) GreaterEqual(o *Tensor) *Tensor { return t.bin(op.GreaterEqual, o) }

// EqualScalar returns a bool tensor that is true where t equals v.
func (t *Tensor) EqualScalar(v float64) *Tensor { return t.withNumber((*Tensor).Equal, v) }

// NotEqualScalar returns a bool tensor that is true where t differs from v.
func (t *Tensor) NotEqualScalar(v float64) *Tensor { return t.withNumber((*Tensor).NotEqual, v) }

// LessScalar returns a bool tensor that is true where t is below v.
func (t *Tensor) LessScalar(v float64) *Tensor { return t.withNumber((*Tensor).Less, v) }

// LessEqualScalar returns a bool tensor that is true where t is v or below.
func (t *Tensor) LessEqualScalar(v float64) *Tensor { return t.withNumber((*Tensor).LessEqual, v) }

// GreaterScalar returns a bool tensor that is true where t is above v.
func (t *Tensor) GreaterScalar(v float64) *Tensor { return t.withNumber((*Tensor).Greater, v) }

// GreaterEqualScalar returns a bool tensor that is true where t is v or above.
func (t *Tensor) GreaterEqualScalar(v float64) *Tensor {
	return t.withNumber((*Tensor).GreaterEqual, v)
}

// IsClose returns a bool tensor that is true where |t-o| is at most atol + rtol·|o|. Equal infinities are close; NaN is not close
// to anything.
func (t *Tensor) IsClose(o *Tensor, rtol, atol float64) *Tensor {
	if !t.desc.DType.IsFloat() {
		m := temps{from: t}
		return m.done(m.of(t.Cast(dtype.F64)).IsClose(m.of(o.Cast(dtype.F64)), rtol, atol))
	}
	m := temps{from: t}
	finite := m.of(m.of(t.IsFinite()).And(m.of(o.IsFinite())))
	bound := m.of(m.of(m.of(o.Abs()).MulScalar(rtol)).AddScalar(atol))
	near := m.of(m.of(m.of(t.Sub(o)).Abs()).LessEqual(bound))
	return m.done(m.of(t.Equal(o)).Or(m.of(finite.And(near))))
}

// AllClose waits for the result and reports whether IsClose is true everywhere.
func (t *Tensor) AllClose(ctx context.Context, o *Tensor, rtol, atol float64) (bool, error) {
	m := temps{from: t}
	all := m.of(m.of(t.IsClose(o, rtol, atol)).All())
	defer m.done(nil)
	return Item[bool](ctx, all)
}

// AllEqual waits for the result and reports whether t and o have the same shape and equal elements; NaN is not equal to anything.
func (t *Tensor) AllEqual(ctx context.Context, o *Tensor) (bool, error) {
	if !t.desc.Shape.Equal(o.desc.Shape) {
		return false, nil
	}
	m := temps{from: t}
	all := m.of(m.of(t.Equal(o)).All())
	defer m.done(nil)
	return Item[bool](ctx, all)
}
