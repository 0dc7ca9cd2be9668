package conformance

import (
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

// domain returns the domain that operand i's values are drawn from.
func (s spec) domain(i int) op.Domain {
	if d, ok := s.variant.domains[i]; ok {
		return d
	}
	row := op.Lookup(s.op)
	if i < len(row.Domain) {
		return row.Domain[i]
	}
	if o := operand(row, i); o.SameAs > 0 && o.SameAs-1 < len(row.Domain) && !row.Domain[o.SameAs-1].NonZero && s.elementwise() {
		return row.Domain[o.SameAs-1]
	}
	return op.Domain{}
}

func (s spec) elementwise() bool { return elementwisePlans[s.op].variants != nil }

// draw returns the values of operand i.
func (s spec) draw(r *rand.Rand, i int) ref.Tensor {
	return s.drawAs(r, i, s.in[i], func(k int) int { return s.bound(k) })
}

// drawBase returns the values of a tensor that operand i is a view of. Its indices are valid in every position.
func (s spec) drawBase(r *rand.Rand, i int, base op.Desc) ref.Tensor {
	return s.drawAs(r, i, base, func(int) int { return s.minBound() })
}

// drawAs returns values of operand i in the shape of d, indices below bound.
func (s spec) drawAs(r *rand.Rand, i int, d op.Desc, bound func(k int) int) ref.Tensor {
	dom := s.domain(i)
	if dom.Matrix != op.AnyMatrix {
		return ref.Matrix(r, dom.Matrix, d)
	}
	if !dom.Index {
		return fill(r, d, dom, op.Lookup(s.op).Tolerance.PerTerm)
	}
	t := ref.Zeros(d)
	for k := range t.I {
		t.I[k] = r.Int64N(int64(bound(k)))
	}
	return t
}

// bound returns the length of the dimension that element k of the index operand indexes.
func (s spec) bound(k int) int {
	x, indices := s.in[0].Shape, s.in[1].Shape
	if s.op == op.GatherND || s.op == op.ScatterND {
		return x[s.attr("batch")+k%indices[len(indices)-1]]
	}
	return x[s.attr("axis")]
}

// minBound returns the smallest of the bounds.
func (s spec) minBound() int {
	least := s.bound(0)
	for k := range s.in[1].Shape.Size() {
		least = min(least, s.bound(k))
	}
	return least
}

// attr returns an integer attribute of the variant, or 0 if the variant does not set it.
func (s spec) attr(name string) int {
	for _, a := range s.variant.attrs {
		if a.Name == name {
			return int(a.Value.Int())
		}
	}
	return 0
}

// The kinds of values that a case may have.
type kind string

const (
	plain   kind = "plain"   // from the domain of the row
	special kind = "special" // with special values that the row defines among them
	withNaN kind = "nan"     // with one NaN in each float operand
)

// inputs draws all operands, unless the spec has them. Indices are never special.
func (s spec) inputs(r *rand.Rand, k kind) []ref.Tensor {
	if s.fixed != nil {
		return cloneAll(s.fixed)
	}
	var in []ref.Tensor
	for i, d := range s.in {
		if s.variant.grid {
			in = append(in, s.grid(d))
			continue
		}
		t := s.draw(r, i)
		switch {
		case s.domain(i).Index:
		case k == special:
			if s.special == gated {
				t = fill(r, d, op.Domain{Lo: -4, Hi: 4}, false)
			}
			setSpecials(r, t, s.special)
		case k == withNaN && len(t.F) > 0:
			t.F[r.IntN(len(t.F))] = math.NaN()
		}
		in = append(in, t)
	}
	return in
}

func cloneAll(ts []ref.Tensor) []ref.Tensor {
	out := make([]ref.Tensor, len(ts))
	for i, t := range ts {
		out[i] = t.Clone()
	}
	return out
}

// gridded sets the shapes of a grid of special values.
func (s *spec) gridded() {
	var n []int
	for _, d := range s.in {
		fs, is := specials(d.DType, s.special)
		n = append(n, len(fs)+len(is))
	}
	for i, shape := range gridShapes(n) {
		s.in[i].Shape = shape
	}
}

func (s spec) grid(d op.Desc) ref.Tensor {
	fs, is := specials(d.DType, s.special)
	return ref.Tensor{Desc: d, F: fs, I: is}
}
