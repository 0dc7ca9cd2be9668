package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// running defines a scan. Its state consists of one or more values; states are computed from elements and combined in the order of the
// elements.
type running interface {
	// in and out return the types of elements and results, states the types of the values of a state.
	in() dtype.DType
	out() dtype.DType
	states() []dtype.DType
	// lift returns the state of element v at place at of its line.
	lift(p *ir.Builder, v, at ir.Value) []ir.Value
	// join combines the states of two neighbouring parts of a line. a is the state of the first part.
	join(p *ir.Builder, a, b []ir.Value) []ir.Value
	// commutes reports whether parts may be combined in any order.
	commutes() bool
	// identity returns the state of an empty part of a line.
	identity(p *ir.Builder) []ir.Value
	// lower returns the result for a state.
	lower(p *ir.Builder, s []ir.Value) ir.Value
}

// runningJoin is a running sum, product, maximum or minimum.
type runningJoin struct{ j joiner }

func (r runningJoin) in() dtype.DType       { return r.j.d }
func (r runningJoin) out() dtype.DType      { return r.j.d }
func (r runningJoin) states() []dtype.DType { return []dtype.DType{r.j.state()} }
func (r runningJoin) lift(p *ir.Builder, v, _ ir.Value) []ir.Value {
	return []ir.Value{r.j.lift(p, v)}
}
func (r runningJoin) join(p *ir.Builder, a, b []ir.Value) []ir.Value {
	return []ir.Value{r.j.join(p, a[0], b[0])}
}
func (r runningJoin) commutes() bool                             { return true }
func (r runningJoin) identity(p *ir.Builder) []ir.Value          { return []ir.Value{r.j.identity(p)} }
func (r runningJoin) lower(p *ir.Builder, s []ir.Value) ir.Value { return r.j.lower(p, s[0]) }

// runningIndex is the place of a running extreme, the place of the first among equal elements. Its state is the extreme, with both zeros
// equal, and the place, which is greater than all places if there is no element.
type runningIndex struct{ j joiner }

func (r runningIndex) in() dtype.DType       { return r.j.d }
func (r runningIndex) out() dtype.DType      { return dtype.I64 }
func (r runningIndex) states() []dtype.DType { return []dtype.DType{r.j.state(), dtype.I64} }
func (r runningIndex) lift(p *ir.Builder, v, at ir.Value) []ir.Value {
	if r.j.a.IsFloat() {
		a := r.j.a
		v = p.Cast(a, v)
		zero := p.Float(a, 0)
		v = p.Select(p.Eq(v, zero), zero, v)
		k := p.Select(p.Ne(v, v), r.j.bits(p, r.j.nan()), ordered(p, p.Bitcast(r.j.state(), v)))
		return []ir.Value{k, p.Cast(dtype.I64, at)}
	}
	return []ir.Value{r.j.lift(p, v), p.Cast(dtype.I64, at)}
}
func (r runningIndex) join(p *ir.Builder, a, b []ir.Value) []ir.Value {
	beats := p.Lt(a[0], b[0])
	if r.j.how == JoinMin {
		beats = p.Lt(b[0], a[0])
	}
	none := p.Eq(a[1], p.Const(dtype.I64, math.MaxInt64))
	beats = p.Binary(ir.Or, beats, none)
	return []ir.Value{p.Select(beats, b[0], a[0]), p.Select(beats, b[1], a[1])}
}
func (r runningIndex) commutes() bool { return false }
func (r runningIndex) identity(p *ir.Builder) []ir.Value {
	return []ir.Value{r.j.identity(p), p.Const(dtype.I64, math.MaxInt64)}
}
func (r runningIndex) lower(_ *ir.Builder, s []ir.Value) ir.Value { return s[1] }

// runningLogSum is the logarithm of a running sum of exponentials. Its state is the greatest element and the sum of the
// exponentials of the distances from it.
type runningLogSum struct{ d dtype.DType }

func (r runningLogSum) in() dtype.DType  { return r.d }
func (r runningLogSum) out() dtype.DType { return r.d }
func (r runningLogSum) states() []dtype.DType {
	a := accumulator(r.d)
	return []dtype.DType{a, a}
}
func (r runningLogSum) lift(p *ir.Builder, v, _ ir.Value) []ir.Value {
	a := accumulator(r.d)
	return []ir.Value{p.Cast(a, v), p.Float(a, 1)}
}
func (r runningLogSum) join(p *ir.Builder, a, b []ir.Value) []ir.Value {
	d := accumulator(r.d)
	top := p.Select(p.Binary(ir.Or, p.Ne(a[0], a[0]), p.Lt(b[0], a[0])), a[0], b[0]) // NaN if one is NaN
	// The distance of equal values is 0, also for equal infinities.
	part := func(s []ir.Value) ir.Value {
		away := p.Select(p.Eq(s[0], top), p.Float(d, 0), p.Sub(s[0], top))
		return p.Mul(s[1], p.Unary(ir.Exp, away))
	}
	return []ir.Value{top, p.Add(part(a), part(b))}
}
func (r runningLogSum) commutes() bool { return true }
func (r runningLogSum) identity(p *ir.Builder) []ir.Value {
	d := accumulator(r.d)
	return []ir.Value{p.Float(d, math.Inf(-1)), p.Float(d, 0)}
}
func (r runningLogSum) lower(p *ir.Builder, s []ir.Value) ir.Value {
	infinite := p.Ne(p.Sub(s[0], s[0]), p.Float(p.TypeOf(s[0]), 0)) // NaN too
	return p.Cast(r.d, p.Select(infinite, s[0], p.Add(s[0], p.Unary(ir.Log, s[1]))))
}
