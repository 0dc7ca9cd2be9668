package lower

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// reducer defines how an op reduces elements of type d to one element. A state is one or several values in the types of the computation.
type reducer struct {
	state func(d dtype.DType) []dtype.DType
	zero  func(b *ir.Builder, d dtype.DType) []ir.Value
	// lift returns the state of one element, in the type of the computation; index returns its place along the row.
	lift func(b *ir.Builder, d dtype.DType, x ir.Value, index func() ir.Value) []ir.Value
	join func(b *ir.Builder, d dtype.DType, x, y []ir.Value) []ir.Value
	// done returns the result of count elements, in the type of the computation.
	done func(b *ir.Builder, d dtype.DType, count int, s []ir.Value) ir.Value
}

// reducers are the reductions with templates.
var reducers = map[op.Code]*reducer{
	op.Sum:       folding(ir.Add, 0),
	op.Prod:      folding(ir.Mul, 1),
	op.Mean:      mean(),
	op.ReduceMax: extremum(greater, op.Lowest),
	op.ReduceMin: extremum(lesser, op.Highest),
	op.ArgMax:    position(func(b *ir.Builder, x, y ir.Value) ir.Value { return b.Lt(y, x) }, op.Lowest),
	op.ArgMin:    position(func(b *ir.Builder, x, y ir.Value) ir.Value { return b.Lt(x, y) }, op.Highest),
}

func alone(d dtype.DType) []dtype.DType { return []dtype.DType{compute(d)} }

func first(_ *ir.Builder, _ dtype.DType, _ int, s []ir.Value) ir.Value { return s[0] }

func lifted(_ *ir.Builder, _ dtype.DType, x ir.Value, _ func() ir.Value) []ir.Value {
	return []ir.Value{x}
}

// folding returns a reducer that joins by operation o, whose neutral element is neutral.
func folding(o ir.Op, neutral int64) *reducer {
	return &reducer{state: alone, lift: lifted, done: first,
		zero: func(b *ir.Builder, d dtype.DType) []ir.Value {
			return []ir.Value{b.Const(compute(d), intBits(neutral, compute(d)))}
		},
		join: func(b *ir.Builder, _ dtype.DType, x, y []ir.Value) []ir.Value {
			return []ir.Value{b.Binary(o, x[0], y[0])}
		},
	}
}

// mean returns the reducer of the mean.
func mean() *reducer {
	r := *folding(ir.Add, 0)
	r.done = func(b *ir.Builder, d dtype.DType, count int, s []ir.Value) ir.Value {
		return b.Div(s[0], b.Float(compute(d), float64(count)))
	}
	return &r
}

// extremum returns the reducer of the greatest or least element.
func extremum(join func(b *ir.Builder, float bool, x, y ir.Value) ir.Value, neutral func(dtype.DType) op.Attr) *reducer {
	return &reducer{state: alone, lift: lifted, done: first,
		zero: func(b *ir.Builder, d dtype.DType) []ir.Value {
			return []ir.Value{b.Const(compute(d), bound(d, neutral))}
		},
		join: func(b *ir.Builder, d dtype.DType, x, y []ir.Value) []ir.Value {
			return []ir.Value{join(b, d.IsFloat(), x[0], y[0])}
		},
	}
}

// bound returns the neutral number of a type, in the bits of the type of the computation.
func bound(d dtype.DType, neutral func(dtype.DType) op.Attr) uint64 {
	v := neutral(d).Value
	if d.IsFloat() {
		return floatBits(v.Float(), compute(d))
	}
	return intBits(v.Int(), compute(d))
}

// position returns the reducer of the index of the first element that no other element beats. NaN beats all elements. The state is the
// element and its index.
func position(beats func(b *ir.Builder, x, y ir.Value) ir.Value, neutral func(dtype.DType) op.Attr) *reducer {
	return &reducer{
		state: func(d dtype.DType) []dtype.DType { return []dtype.DType{compute(d), dtype.I32} },
		lift: func(b *ir.Builder, _ dtype.DType, x ir.Value, index func() ir.Value) []ir.Value {
			return []ir.Value{x, b.Cast(dtype.I32, index())}
		},
		zero: func(b *ir.Builder, d dtype.DType) []ir.Value {
			return []ir.Value{b.Const(compute(d), bound(d, neutral)), b.Const(dtype.I32, math.MaxInt32)}
		},
		join: func(b *ir.Builder, d dtype.DType, x, y []ir.Value) []ir.Value {
			over, under := beats(b, x[0], y[0]), beats(b, y[0], x[0])
			if d.IsFloat() {
				xNaN, yNaN := b.Ne(x[0], x[0]), b.Ne(y[0], y[0])
				over = b.Or(over, b.And(xNaN, b.Eq(y[0], y[0])))
				under = b.Or(under, b.And(yNaN, b.Eq(x[0], x[0])))
			}
			first := b.Or(over, b.And(b.Unary(ir.Not, under), b.Lt(x[1], y[1])))
			return []ir.Value{b.Select(first, x[0], y[0]), b.Select(first, x[1], y[1])}
		},
		done: func(_ *ir.Builder, _ dtype.DType, _ int, s []ir.Value) ir.Value { return s[1] },
	}
}
