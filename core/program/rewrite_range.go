package program

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// span contains bounds of all elements of a tensor. NaN bounds mean that nothing is known.
type span struct{ lo, hi float64 }

var anything = span{math.NaN(), math.NaN()}

// finite reports whether the bounds of s are finite numbers of type d. It returns false for unknown bounds.
func (s span) finite(d dtype.DType) bool {
	g := greatest(d)
	return s.lo >= -g && s.hi <= g
}

// greatest returns the greatest finite number of a float type, 0 for other types.
func greatest(d dtype.DType) float64 {
	switch d {
	case dtype.F64:
		return 0x1.fffffffffffffp1023
	case dtype.F32:
		return 0x1.fffffep127
	case dtype.BF16:
		return 0x1.fep127
	case dtype.F16:
		return 65504
	}
	return 0
}

func (s span) join(o span) span { return span{math.Min(s.lo, o.lo), math.Max(s.hi, o.hi)} }

// scale returns s·o.
func (s span) scale(o span) span {
	a, b, c, d := s.lo*o.lo, s.lo*o.hi, s.hi*o.lo, s.hi*o.hi
	return span{math.Min(math.Min(a, b), math.Min(c, d)), math.Max(math.Max(a, b), math.Max(c, d))}
}

// within bounds the elements of id. It computes bounds for constants, for integers and bools that were cast, and for results of arithmetic,
// selection and movement on these. Floats from outside the program are unbounded.
func (r *rewriter) within(id op.TensorID, depth int) span {
	d := r.descs[id]
	if v, ok := r.number(id); ok {
		return span{v, v}
	}
	if d.Shape.Size() <= 1<<20 {
		if v := r.content(id); len(v) > 0 {
			s := span{v[0], v[0]}
			for _, f := range v {
				s = s.join(span{f, f})
			}
			return s
		}
	}
	n, _ := r.producer(id)
	if n == nil || depth > 16 {
		return ofType(d.DType)
	}
	in := make([]span, len(n.Inputs))
	for k, id := range n.Inputs {
		in[k] = r.within(id, depth+1)
	}
	s := ofType(d.DType)
	switch n.Op {
	case op.Reshape, op.Permute, op.Expand, op.Slice, op.Flip, op.Gather, op.Copy:
		s = in[0]
	case op.Where:
		s = in[1].join(in[2])
	case op.Cast:
		if d.DType.IsFloat() {
			s = in[0]
		}
	case op.Neg:
		s = span{-in[0].hi, -in[0].lo}
	case op.Add:
		s = span{in[0].lo + in[1].lo, in[0].hi + in[1].hi}
	case op.Sub:
		s = span{in[0].lo - in[1].hi, in[0].hi - in[1].lo}
	case op.Mul:
		s = in[0].scale(in[1])
	}
	if !d.DType.IsFloat() {
		return ofType(d.DType) // integers wrap around
	}
	s = span{rounded(d.DType, s.lo), rounded(d.DType, s.hi)} // rounding keeps the order of numbers
	if !s.finite(d.DType) {                                  // infinities may become NaN
		return anything
	}
	return s
}

// ofType returns the bounds of the values of a type.
func ofType(d dtype.DType) span {
	switch d.Class() {
	case dtype.Signed:
		return span{-math.Ldexp(1, 8*d.Size()-1), math.Ldexp(1, 8*d.Size()-1)}
	case dtype.Unsigned:
		return span{0, math.Ldexp(1, 8*d.Size())}
	}
	if d == dtype.Bool {
		return span{0, 1}
	}
	return anything
}
