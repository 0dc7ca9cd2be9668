package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// row implements template.Row: it holds the values that all elements of a row share.
type row struct {
	*rows
	v []ir.Value // values of the row by number
	// over holds, for each step that divides elements by a shared divisor, the scale of the divisor and the reciprocal of the scaled
	// divisor.
	over map[*rowStep][2]ir.Value
}

// begin implements template.Rows.Begin.
func (s *rows) begin(_ *ir.Builder, side []ir.Value) template.Row {
	r := &row{rows: s, v: make([]ir.Value, len(s.types)), over: map[*rowStep][2]ir.Value{}}
	for i, v := range s.side {
		r.v[v] = side[i]
	}
	return r
}

// Before implements template.Row: it computes the values that all elements share and that become known before the pass.
func (r *row) Before(b *ir.Builder, pass int) {
	for i := range r.steps {
		if st := &r.steps[i]; st.red == nil && r.uniform[st.out] && r.stage[st.out] == pass {
			r.v[st.out] = r.value(b, st, r.v, nil)
		}
	}
	for i := range r.steps {
		if st := &r.steps[i]; r.divides(st) && r.stage[st.args[1]] == pass {
			r.over[st] = reciprocal(b, b.Cast(dtype.F32, r.v[st.args[1]]))
		}
	}
}

// divides reports whether a step divides, in f32, all elements of a row by the same number. Exact divisors are excluded, because their
// quotients must be rounded once.
func (r *row) divides(st *rowStep) bool {
	return st.n.Op == op.Div && compute(st.types[0]) == dtype.F32 && !r.uniform[st.args[0]] && r.uniform[st.args[1]] && r.inexact[st.args[1]]
}

// reciprocal returns s and 1/(y·s). s is a power of two such that y·s is far from the ends of the range of f32, unless y is 0, infinite or
// NaN.
func reciprocal(b *ir.Builder, y ir.Value) [2]ir.Value {
	size := b.Unary(ir.Abs, y)
	power := func(n int) ir.Value { return b.Float(dtype.F32, math.Ldexp(1, n)) }
	s := b.Select(b.Lt(size, power(-64)), power(64), b.Select(b.Lt(power(64), size), power(-64), power(0)))
	return [2]ir.Value{s, b.Div(power(0), b.Mul(y, s))}
}

// value returns the result of a node. v holds the values by number.
func (r *row) value(b *ir.Builder, st *rowStep, v []ir.Value, index func(axis int) ir.Value) ir.Value {
	if st.n.Op == op.Iota {
		return counted(b, st.n, index)
	}
	if by, ok := r.over[st]; ok {
		return b.Cast(st.n.Outputs[0].DType, b.Mul(b.Mul(b.Cast(dtype.F32, v[st.args[0]]), by[0]), by[1]))
	}
	x := make([]ir.Value, len(st.args))
	for i, a := range st.args {
		x[i] = v[a]
	}
	if r.coarse && st.n.Op == op.Exp && st.types[0] == dtype.F32 {
		// The error of Exp2Fast is below 2^-16, and its results below 2^-126 are 0.
		return b.Unary(ir.Exp2Fast, b.Mul(x[0], b.Float(dtype.F32, math.Log2E)))
	}
	y, err := evaluate(b, st.n, st.types, x)
	if err != nil {
		panic(failure{fmt.Errorf("%v: %w", st.n, err)})
	}
	return y
}

// elements returns the values that are known for one element: values of the row, values of operands, and kept values.
func (r *row) elements(e template.Element) []ir.Value {
	v := slices.Clone(r.v)
	for i, x := range e.In {
		v[r.in[i]] = x
	}
	for i, x := range e.Kept {
		if x != 0 {
			v[r.keep[i]] = x
		}
	}
	return v
}

// find computes value k of an element, and the values that it depends on.
func (r *row) find(b *ir.Builder, k int, v []ir.Value, index func(axis int) ir.Value) ir.Value {
	if v[k] != 0 {
		return v[k]
	}
	st := &r.steps[r.producer[k]]
	for _, a := range st.args {
		r.find(b, a, v, index)
	}
	v[k] = r.value(b, st, v, index)
	return v[k]
}

// Lift implements template.Row.
func (r *row) Lift(b *ir.Builder, pass int, e template.Element) (state, keep []ir.Value) {
	v := r.elements(e)
	for _, k := range r.passes[pass] {
		st := &r.steps[k]
		x := b.Cast(compute(st.types[0]), r.find(b, st.args[0], v, e.Index))
		state = append(state, st.red.lift(b, st.types[0], x, func() ir.Value { return e.Index(r.axes[0]) })...)
	}
	for i, k := range r.keep {
		if r.r.From[i] == pass {
			keep = append(keep, r.find(b, k, v, e.Index))
		}
	}
	return state, keep
}

// Done implements template.Row.
func (r *row) Done(b *ir.Builder, pass int, state []ir.Value) {
	for _, k := range r.passes[pass] {
		st := &r.steps[k]
		d := st.types[0]
		n := len(st.red.state(d))
		r.v[st.out] = b.Cast(st.n.Outputs[0].DType, st.red.done(b, d, r.count, state[:n]))
		state = state[n:]
	}
}

// Final implements template.Row.
func (r *row) Final(b *ir.Builder, e template.Element) []ir.Value {
	v := r.elements(e)
	y := make([]ir.Value, len(r.each))
	for i, k := range r.each {
		y[i] = r.find(b, k, v, e.Index)
	}
	return y
}

// Finish implements template.Row.
func (r *row) Finish(*ir.Builder) []ir.Value {
	y := make([]ir.Value, len(r.once))
	for i, k := range r.once {
		y[i] = r.v[k]
	}
	return y
}
