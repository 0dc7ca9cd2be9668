package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Reductions remove the axes that they reduce; methods with names in Keep keep them with length 1. Without axes they reduce all
// axes.

func (t *Tensor) reduce(c op.Code, keep bool, axes []int, attrs ...op.Attr) *Tensor {
	return t.un(c, append(attrs, op.Ints("axes", t.axes(c.String(), axes)...), op.Flag("keep_dims", keep))...)
}

// Sum returns the sum over axes.
func (t *Tensor) Sum(axes ...int) *Tensor { return t.reduce(op.Sum, false, axes) }

// SumKeep is like Sum, but keeps the axes with length 1.
func (t *Tensor) SumKeep(axes ...int) *Tensor { return t.reduce(op.Sum, true, axes) }

// Prod returns the product over axes.
func (t *Tensor) Prod(axes ...int) *Tensor { return t.reduce(op.Prod, false, axes) }

// ProdKeep is like Prod, but keeps the axes with length 1.
func (t *Tensor) ProdKeep(axes ...int) *Tensor { return t.reduce(op.Prod, true, axes) }

// Max returns the greatest element over axes, or NaN if an element is NaN.
func (t *Tensor) Max(axes ...int) *Tensor { return t.reduce(op.ReduceMax, false, axes) }

// MaxKeep is like Max, but keeps the axes with length 1.
func (t *Tensor) MaxKeep(axes ...int) *Tensor { return t.reduce(op.ReduceMax, true, axes) }

// Min returns the least element over axes, or NaN if an element is NaN.
func (t *Tensor) Min(axes ...int) *Tensor { return t.reduce(op.ReduceMin, false, axes) }

// MinKeep is like Min, but keeps the axes with length 1.
func (t *Tensor) MinKeep(axes ...int) *Tensor { return t.reduce(op.ReduceMin, true, axes) }

// MaxAbs returns the greatest magnitude over axes.
func (t *Tensor) MaxAbs(axes ...int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.Abs()).Max(axes...))
}

// MaxAbsKeep is like MaxAbs, but keeps the axes with length 1.
func (t *Tensor) MaxAbsKeep(axes ...int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.Abs()).MaxKeep(axes...))
}

// Mean returns the arithmetic mean over axes.
func (t *Tensor) Mean(axes ...int) *Tensor { return t.reduce(op.Mean, false, axes) }

// MeanKeep is like Mean, but keeps the axes with length 1.
func (t *Tensor) MeanKeep(axes ...int) *Tensor { return t.reduce(op.Mean, true, axes) }

// LogSumExp returns the logarithm of the sum of exp(t) over axes, without overflow.
func (t *Tensor) LogSumExp(axes ...int) *Tensor { return t.reduce(op.LogSumExp, false, axes) }

// LogSumExpKeep is like LogSumExp, but keeps the axes with length 1.
func (t *Tensor) LogSumExpKeep(axes ...int) *Tensor { return t.reduce(op.LogSumExp, true, axes) }

// flags converts t to u8 numbers, 1 where an element is not zero and 0 elsewhere, reduces them by join, and returns bools.
func (t *Tensor) flags(join func(t *Tensor, axes ...int) *Tensor, axes []int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(join(m.of(m.of(t.Cast(dtype.Bool)).Cast(dtype.U8)), axes...)).Cast(dtype.Bool))
}

// Any returns a bool tensor that is true where an element over axes is not zero; false if there are no elements.
func (t *Tensor) Any(axes ...int) *Tensor { return t.flags((*Tensor).Max, axes) }

// AnyKeep is like Any, but keeps the axes with length 1.
func (t *Tensor) AnyKeep(axes ...int) *Tensor { return t.flags((*Tensor).MaxKeep, axes) }

// All returns a bool tensor that is true where no element over axes is zero; true if there are no elements.
func (t *Tensor) All(axes ...int) *Tensor { return t.flags((*Tensor).Min, axes) }

// AllKeep is like All, but keeps the axes with length 1.
func (t *Tensor) AllKeep(axes ...int) *Tensor { return t.flags((*Tensor).MinKeep, axes) }

// CountNonZero returns the number of elements over axes that are not zero (i64).
func (t *Tensor) CountNonZero(axes ...int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(m.of(t.Cast(dtype.Bool)).Cast(dtype.I64)).Sum(axes...))
}

// ArgMax returns the index (i64) of the greatest element along axis, the first of equal ones.
func (t *Tensor) ArgMax(axis int) *Tensor { return t.along(op.ArgMax, axis) }

// ArgMin returns the index (i64) of the least element along axis, the first of equal ones.
func (t *Tensor) ArgMin(axis int) *Tensor { return t.along(op.ArgMin, axis) }

// MaxWithIndices returns the greatest element along axis and its index (i64), the first of equal ones.
func (t *Tensor) MaxWithIndices(axis int) (values, indices *Tensor) {
	return t.picked(axis, t.along(op.ArgMax, axis, op.Flag("keep_dims", true)))
}

// MinWithIndices returns the least element along axis and its index (i64), the first of equal ones.
func (t *Tensor) MinWithIndices(axis int) (values, indices *Tensor) {
	return t.picked(axis, t.along(op.ArgMin, axis, op.Flag("keep_dims", true)))
}

func (t *Tensor) picked(axis int, at *Tensor) (values, indices *Tensor) {
	m := temps{from: t}
	v := m.of(t.Gather(axis, m.of(at))).Squeeze(axis)
	indices = at.Squeeze(axis)
	return m.done(v), indices
}
