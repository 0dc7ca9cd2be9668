package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Join is an associative way to combine two elements.
type Join uint8

// The ways to combine. Max and Min return NaN if one operand is NaN, and order +0 above -0.
const (
	JoinAdd Join = iota
	JoinMul
	JoinMax
	JoinMin
)

// joiner combines elements of type d, narrow types in a wider type. For extremes, floats are converted to integers with the order of the
// floats, so that NaN and signed zeros need no special case.
type joiner struct {
	how Join
	d   dtype.DType
	a   dtype.DType // type in which elements are computed
}

// joinerOf returns the joiner for elements of type d. Products of floats are computed in f64 on targets with f64: in f32 an intermediate
// product of a few numbers may leave the range of the type although the result is within it. On other targets, runningProduct computes
// running products.
func joinerOf(t Target, how Join, d dtype.DType) joiner {
	j := joiner{how, d, accumulator(d)}
	if how == JoinMul && d.IsFloat() && t.Math.Has(dtype.F64) {
		j.a = dtype.F64
	}
	return j
}

// accumulator returns the type in which sums and products of elements of type d are computed.
func accumulator(d dtype.DType) dtype.DType {
	switch d {
	case dtype.F16, dtype.BF16:
		return dtype.F32
	case dtype.I16, dtype.I8:
		return dtype.I32
	case dtype.U16, dtype.U8, dtype.Bool:
		return dtype.U32
	}
	return d
}

func (j joiner) extreme() bool { return j.how == JoinMax || j.how == JoinMin }

// state returns the type in which elements are combined.
func (j joiner) state() dtype.DType {
	a := j.a
	switch {
	case !j.extreme():
	case a == dtype.F32:
		return dtype.I32
	case a == dtype.F64:
		return dtype.I64
	}
	return a
}

// lift returns the state of one element.
func (j joiner) lift(p *ir.Builder, v ir.Value) ir.Value {
	a := j.a
	v = p.Cast(a, v)
	if !j.extreme() || !a.IsFloat() {
		return v
	}
	return p.Select(p.Ne(v, v), j.bits(p, j.nan()), ordered(p, p.Bitcast(j.state(), v)))
}

// lower returns the element of type d that a state represents.
func (j joiner) lower(p *ir.Builder, s ir.Value) ir.Value {
	a := j.a
	if j.extreme() && a.IsFloat() {
		s = p.Bitcast(a, ordered(p, s))
	}
	return p.Cast(j.d, s)
}

// join combines two states.
func (j joiner) join(p *ir.Builder, a, b ir.Value) ir.Value {
	switch j.how {
	case JoinMul:
		return p.Mul(a, b)
	case JoinMax:
		return p.Max(a, b)
	case JoinMin:
		return p.Min(a, b)
	}
	return p.Add(a, b)
}

// identity returns the neutral state.
func (j joiner) identity(p *ir.Builder) ir.Value {
	d := j.state()
	switch {
	case j.how == JoinAdd:
		return p.Const(d, 0)
	case j.how == JoinMul && d.IsFloat():
		return p.Float(d, 1)
	case j.how == JoinMul:
		return p.Const(d, 1)
	}
	return j.bits(p, j.bound())
}

func (j joiner) bits(p *ir.Builder, v int64) ir.Value { return p.Const(j.state(), uint64(v)) }

// nan returns the state of NaN. It is beyond the states of all numbers: greater for Max, less for Min.
func (j joiner) nan() int64 {
	switch {
	case j.state() == dtype.I32 && j.how == JoinMax:
		return math.MaxInt32
	case j.state() == dtype.I32:
		return math.MinInt32
	case j.how == JoinMax:
		return math.MaxInt64
	}
	return math.MinInt64
}

// bound returns the extreme of an empty set of elements, as a state: an infinity, or the greatest or least integer of the type.
func (j joiner) bound() int64 {
	greatest := j.how == JoinMin
	bits := uint(8 * j.d.Size())
	switch a := j.a; {
	case a == dtype.F32 && greatest:
		return int64(math.Float32bits(float32(math.Inf(1))))
	case a == dtype.F64 && greatest:
		return int64(math.Float64bits(math.Inf(1)))
	case a == dtype.F32:
		return int64(int32(math.Float32bits(float32(math.Inf(-1)))) ^ math.MaxInt32)
	case a == dtype.F64:
		return int64(math.Float64bits(math.Inf(-1))) ^ math.MaxInt64
	case j.d.Class() == dtype.Signed && greatest:
		return 1<<(bits-1) - 1
	case j.d.Class() == dtype.Signed:
		return -1 << (bits - 1)
	case greatest && bits == 64:
		return -1
	case greatest:
		return 1<<bits - 1
	}
	return 0
}

// ordered maps the bits of floats, as signed integers, to integers in the order of the floats. It is its own inverse.
func ordered(p *ir.Builder, s ir.Value) ir.Value {
	d := p.TypeOf(s)
	sign := p.Binary(ir.Shr, s, p.Const(d, uint64(8*d.Size()-1)))
	magnitude := uint64(math.MaxInt32)
	if d == dtype.I64 {
		magnitude = math.MaxInt64
	}
	return p.Binary(ir.Xor, s, p.And(sign, p.Const(d, magnitude)))
}
