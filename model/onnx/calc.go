package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// calc has methods for the contract ops that converters use most, so that formulas can be written as expressions. Operands broadcast.
type calc struct{ *tracer }

func (c calc) un(o op.Code, a value) value     { return c.do(o, []value{a}) }
func (c calc) bin(o op.Code, a, b value) value { return c.do(o, []value{a, b}) }

func (c calc) add(a, b value) value    { return c.bin(op.Add, a, b) }
func (c calc) sub(a, b value) value    { return c.bin(op.Sub, a, b) }
func (c calc) mul(a, b value) value    { return c.bin(op.Mul, a, b) }
func (c calc) div(a, b value) value    { return c.bin(op.Div, a, b) }
func (c calc) max(a, b value) value    { return c.bin(op.Max, a, b) }
func (c calc) min(a, b value) value    { return c.bin(op.Min, a, b) }
func (c calc) less(a, b value) value   { return c.bin(op.Less, a, b) }
func (c calc) atMost(a, b value) value { return c.bin(op.LessEqual, a, b) }
func (c calc) equal(a, b value) value  { return c.bin(op.Equal, a, b) }
func (c calc) and(a, b value) value    { return c.bin(op.And, a, b) }
func (c calc) neg(a value) value       { return c.un(op.Neg, a) }
func (c calc) abs(a value) value       { return c.un(op.Abs, a) }
func (c calc) sqrt(a value) value      { return c.un(op.Sqrt, a) }
func (c calc) exp(a value) value       { return c.un(op.Exp, a) }
func (c calc) floor(a value) value     { return c.un(op.Floor, a) }
func (c calc) round(a value) value     { return c.un(op.Round, a) }

func (c calc) where(cond, a, b value) value { return c.do(op.Where, []value{cond, a, b}) }

// like returns a scalar of a's type.
func (c calc) like(a value, x float64) value {
	if a.dtype().IsInt() {
		return c.scalarInt(a.dtype(), int64(x))
	}
	return c.scalar(a.dtype(), x)
}

func (c calc) addN(a value, x float64) value {
	if x == 0 {
		return a
	}
	return c.add(a, c.like(a, x))
}

func (c calc) mulN(a value, x float64) value {
	if x == 1 {
		return a
	}
	return c.mul(a, c.like(a, x))
}

func (c calc) divN(a value, x float64) value { return c.div(a, c.like(a, x)) }
func (c calc) maxN(a value, x float64) value { return c.max(a, c.like(a, x)) }
func (c calc) minN(a value, x float64) value { return c.min(a, c.like(a, x)) }

// clamp limits a to [lo, hi].
func (c calc) clamp(a value, lo, hi float64) value { return c.minN(c.maxN(a, lo), hi) }

func (c calc) pow(a value, x float64) value {
	switch x {
	case 1:
		return a
	case 2:
		return c.mul(a, a)
	case 0.5:
		return c.sqrt(a)
	}
	return c.bin(op.Pow, a, c.like(a, x))
}

func (c calc) matmul(a, b value, ta, tb bool) value {
	return c.do(op.MatMul, []value{a, b}, op.Flag("transpose_a", ta), op.Flag("transpose_b", tb))
}

func (c calc) sum(a value, keep bool, axes ...int) value { return c.reduce(op.Sum, a, keep, axes...) }

// wide converts a to f32 when its type is a narrower float.
func (c calc) wide(a value) value {
	if a.dtype() == dtype.F16 || a.dtype() == dtype.BF16 {
		return c.cast(a, dtype.F32)
	}
	return a
}

// zeros returns a tensor of zeros.
func (c calc) zeros(d dtype.DType, s shape.Shape) value { return c.expand(c.scalarInt(d, 0), s) }

// gather selects slices of x along axis by indices. The first batch dimensions of x and indices are the same.
func (c calc) gather(x, indices value, axis, batch int) value {
	return c.do(op.Gather, []value{x, indices}, op.Int("axis", axis), op.Int("batch", batch))
}

// channels reshapes a vector so that it broadcasts along axis 1 of a tensor of the given rank.
func (c calc) channels(v value, rank int) value {
	dims := []int{v.shape().Size()}
	for range rank - 2 {
		dims = append(dims, 1)
	}
	return c.reshape(v, dims...)
}

func ones(n int) []int { return filled(n, 1) }

func filled(n, v int) []int {
	l := make([]int, n)
	for i := range l {
		l[i] = v
	}
	return l
}

// span returns from, from+1, ..., to-1.
func span(from, to int) []int {
	var l []int
	for i := from; i < to; i++ {
		l = append(l, i)
	}
	return l
}

func product(l []int) int { return shape.Shape(l).Size() }
