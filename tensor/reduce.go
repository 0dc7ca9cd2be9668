package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Reductions remove the axes they join; those named Keep leave them with length 1. Without axes they join all.

func (t *Tensor) reduce(c op.Code, keep bool, axes []int, attrs ...op.Attr) *Tensor {
	return t.un(c, append(attrs, op.Ints("axes", t.axes(c.String(), axes)...), op.Flag("keep_dims", keep))...)
}

// Sum adds over axes.
func (t *Tensor) Sum(axes ...int) *Tensor { return t.reduce(op.Sum, false, axes) }

// SumKeep is Sum that keeps the axes with length 1.
func (t *Tensor) SumKeep(axes ...int) *Tensor { return t.reduce(op.Sum, true, axes) }

// Prod multiplies over axes.
func (t *Tensor) Prod(axes ...int) *Tensor { return t.reduce(op.Prod, false, axes) }

// ProdKeep is Prod that keeps the axes with length 1.
func (t *Tensor) ProdKeep(axes ...int) *Tensor { return t.reduce(op.Prod, true, axes) }

// Max returns the greatest element over axes, NaN if there is one.
func (t *Tensor) Max(axes ...int) *Tensor { return t.reduce(op.ReduceMax, false, axes) }

// MaxKeep is Max that keeps the axes with length 1.
func (t *Tensor) MaxKeep(axes ...int) *Tensor { return t.reduce(op.ReduceMax, true, axes) }

// Min returns the least element over axes, NaN if there is one.
func (t *Tensor) Min(axes ...int) *Tensor { return t.reduce(op.ReduceMin, false, axes) }

// MinKeep is Min that keeps the axes with length 1.
func (t *Tensor) MinKeep(axes ...int) *Tensor { return t.reduce(op.ReduceMin, true, axes) }

// MaxAbs returns the greatest magnitude over axes.
func (t *Tensor) MaxAbs(axes ...int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.Abs()).Max(axes...))
}

// MaxAbsKeep is MaxAbs that keeps the axes with length 1.
func (t *Tensor) MaxAbsKeep(axes ...int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.Abs()).MaxKeep(axes...))
}

// Mean returns the arithmetic mean over axes.
func (t *Tensor) Mean(axes ...int) *Tensor { return t.reduce(op.Mean, false, axes) }

// MeanKeep is Mean that keeps the axes with length 1.
func (t *Tensor) MeanKeep(axes ...int) *Tensor { return t.reduce(op.Mean, true, axes) }

// LogSumExp returns the logarithm of the sum of exp(t) over axes, without overflow.
func (t *Tensor) LogSumExp(axes ...int) *Tensor { return t.reduce(op.LogSumExp, false, axes) }

// LogSumExpKeep is LogSumExp that keeps the axes with length 1.
func (t *Tensor) LogSumExpKeep(axes ...int) *Tensor { return t.reduce(op.LogSumExp, true, axes) }

// flags joins u8, 1 where t is not zero, and returns bools.
func (t *Tensor) flags(join func(t *Tensor, axes ...int) *Tensor, axes []int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(join(m.of(m.of(t.Cast(dtype.Bool)).Cast(dtype.U8)), axes...)).Cast(dtype.Bool))
}

// Any reports whether an element over axes is not zero; false of none.
func (t *Tensor) Any(axes ...int) *Tensor { return t.flags((*Tensor).Max, axes) }

// AnyKeep is Any that keeps the axes with length 1.
func (t *Tensor) AnyKeep(axes ...int) *Tensor { return t.flags((*Tensor).MaxKeep, axes) }

// All reports whether no element over axes is zero; true of none.
func (t *Tensor) All(axes ...int) *Tensor { return t.flags((*Tensor).Min, axes) }

// AllKeep is All that keeps the axes with length 1.
func (t *Tensor) AllKeep(axes ...int) *Tensor { return t.flags((*Tensor).MinKeep, axes) }

// CountNonZero returns how many elements over axes are not zero (i64).
func (t *Tensor) CountNonZero(axes ...int) *Tensor {
	m := temps{from: t}
	return m.done(m.of(m.of(t.Cast(dtype.Bool)).Cast(dtype.I64)).Sum(axes...))
}

// ArgMax returns the index (i64) of the greatest element along axis, the first of equals.
func (t *Tensor) ArgMax(axis int) *Tensor { return t.along(op.ArgMax, axis) }

// ArgMin returns the index (i64) of the least element along axis, the first of equals.
func (t *Tensor) ArgMin(axis int) *Tensor { return t.along(op.ArgMin, axis) }

// MaxWithIndices returns the greatest element along axis and its index (i64), the first of equals.
func (t *Tensor) MaxWithIndices(axis int) (values, indices *Tensor) {
	return t.picked(axis, t.along(op.ArgMax, axis, op.Flag("keep_dims", true)))
}

// MinWithIndices returns the least element along axis and its index (i64), the first of equals.
func (t *Tensor) MinWithIndices(axis int) (values, indices *Tensor) {
	return t.picked(axis, t.along(op.ArgMin, axis, op.Flag("keep_dims", true)))
}

func (t *Tensor) picked(axis int, at *Tensor) (values, indices *Tensor) {
	m := temps{from: t}
	v := m.of(t.Gather(axis, m.of(at))).Squeeze(axis)
	indices = at.Squeeze(axis)
	return m.done(v), indices
}
