package optim

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// rule is the update of one parameter by an optimiser, written in ops of the contract.
type rule interface {
	// check refuses parameters that the rule does not support.
	check(p op.Desc) error
	// slots describes the state tensors of a parameter p. Their type is the type of the arithmetic.
	slots(p op.Desc) []slot
	// numbers returns the scalars of step number step, counted from 1; their count is constant.
	numbers(lr float64, step int) []float64
	// update records the computation of the next value and slots from the parameter p, the gradient g, the slots kept and the numbers n.
	// All of them have the type of the arithmetic.
	update(b *body, p, g op.Desc, kept, n []op.Desc) (next op.Desc, newKept []op.Desc)
}

// slot describes a tensor that an optimiser keeps for a parameter. start is the initial value of its elements.
type slot struct {
	name  string
	shape shape.Shape
	start float64
}

// anyShape is embedded by rules that support all parameters.
type anyShape struct{}

func (anyShape) check(op.Desc) error { return nil }

// arithmetic returns the type in which a parameter of type d is updated.
func arithmetic(d dtype.DType) dtype.DType {
	if d == dtype.F64 {
		return d
	}
	return dtype.F32
}

// body is the program of a step while it is recorded. Equal constants are recorded once.
type body struct {
	*op.Builder
	constants map[constant]op.Desc
}

type constant struct {
	d dtype.DType
	v float64
}

// c returns the constant v in x's type.
func (b *body) c(x op.Desc, v float64) op.Desc {
	k := constant{x.DType, v}
	d, ok := b.constants[k]
	if !ok {
		d = b.Scalar(x.DType, v)
		b.constants[k] = d
	}
	return d
}

func (b *body) add(x, y op.Desc) op.Desc { return b.Do(op.Add, x, y) }
func (b *body) sub(x, y op.Desc) op.Desc { return b.Do(op.Sub, x, y) }
func (b *body) mul(x, y op.Desc) op.Desc { return b.Do(op.Mul, x, y) }
func (b *body) div(x, y op.Desc) op.Desc { return b.Do(op.Div, x, y) }
func (b *body) max(x, y op.Desc) op.Desc { return b.Do(op.Max, x, y) }
func (b *body) sqrt(x op.Desc) op.Desc   { return b.Do(op.Sqrt, x) }

// times returns x·v.
func (b *body) times(x op.Desc, v float64) op.Desc {
	if v == 1 {
		return x
	}
	return b.mul(x, b.c(x, v))
}

// plus returns x+v.
func (b *body) plus(x op.Desc, v float64) op.Desc { return b.add(x, b.c(x, v)) }

// blend returns the moving average x·beta + y·(1-beta).
func (b *body) blend(x, y op.Desc, beta float64) op.Desc {
	return b.add(b.times(x, beta), b.times(y, 1-beta))
}

// dot returns the sum of x·y over all elements: rank 0.
func (b *body) dot(x, y op.Desc) op.Desc {
	n := x.Shape.Size()
	p := b.With(op.MatMul, []op.Desc{b.Reshape(x, shape.Of(1, n)), b.Reshape(y, shape.Of(n, 1))})
	return b.Reshape(p, shape.Of())
}

// scalars returns the elements of vector v as tensors of rank 0.
func (b *body) scalars(v op.Desc) []op.Desc {
	out := make([]op.Desc, v.Shape[0])
	for i := range out {
		out[i] = b.Reshape(b.Narrow(v, 0, i, 1), shape.Of())
	}
	return out
}
