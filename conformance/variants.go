package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// variant is one choice of shapes and attributes for an op.
type variant struct {
	name  string
	in    []shape.Shape
	attrs []op.Attr
	// types limits the type of the first operand, or of the result of an op without operands; zero: no limit.
	types dtype.Set
	// domains overrides the domains of the row, by index of the operand. Operands without an entry have the domain of the row.
	domains map[int]op.Domain
	// grid makes the case use only special values: every pair (or triple) of them.
	grid bool
	// large: the node has some 200,000 elements, and is compared by largeBounds. centered: its results are of magnitude 1 and either sign.
	// repeated: it must compute the same bits again.
	large, centered, repeated bool
}

// plan contains the variants of an op.
type plan struct {
	variants []variant
	// typed returns further variants, which depend on the first type and on the types that results may have.
	typed func(first dtype.DType, types dtype.Set) []variant
	// special is the class of special values that the row defines.
	special specialness
}

type specialness uint8

const (
	noSpecial specialness = iota
	tame                  // NaN, infinities, zeros, ±1; integer limits
	gated                 // the same among values in [-4, 4]
	ordinary              // and denormals
	extreme               // and the greatest and least normal numbers
)

// Shorthands.

func dims(d ...int) shape.Shape { return shape.Of(d...) }

func shapes(s ...shape.Shape) []shape.Shape { return s }

func v(name string, in []shape.Shape, attrs ...op.Attr) variant {
	return variant{name: name, in: in, attrs: attrs}
}

func (x variant) only(types ...dtype.DType) variant {
	x.types = dtype.SetOf(types...)
	return x
}

func (x variant) within(types dtype.Set) variant {
	x.types = types
	return x
}

func (x variant) domain(operand int, d op.Domain) variant {
	m := map[int]op.Domain{operand: d}
	for k, old := range x.domains {
		m[k] = old
	}
	x.domains = m
	return x
}

// plans contains the variants of ops that do not use the common ones.
var plans = map[op.Code]plan{}

func init() {
	for _, m := range []map[op.Code]plan{elementwisePlans, movementPlans, reductionPlans, contractionPlans, compositePlans, indexPlans} {
		for c, p := range m {
			plans[c] = p
		}
	}
}

// planOf returns the plan of c: a plan of plans, or the common plan of elementwise ops without attributes. Custom ops have no plan.
func planOf(c op.Code) (plan, bool) {
	if p, ok := plans[c]; ok {
		return p, true
	}
	row := op.Lookup(c)
	if row.Class == op.Custom || !row.Traits.Has(op.Elementwise) || len(row.Attrs) > 0 {
		return plan{}, false
	}
	switch len(row.Operands) {
	case 1:
		return one(ordinary), true
	case 2:
		return pairs(ordinary), true
	}
	return plan{}, false
}

// primary returns the variant that layouts and programs are tested with: the first whose operands have 1 to 399 elements and whose first
// operand has at least rank 2, or else rank 1, or else rank 0.
func primary(vs []variant) (variant, bool) {
	for _, rank := range []int{2, 1, 0} {
		for _, x := range vs {
			ok := !x.grid && len(x.in) > 0 && len(x.in[0]) >= rank
			for _, s := range x.in {
				ok = ok && s.Size() > 0 && s.Size() < 400
			}
			if ok {
				return x, true
			}
		}
	}
	return variant{}, false
}
