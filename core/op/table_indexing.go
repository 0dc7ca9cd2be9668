package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func indexed(c Code, name, doc string, tol Tolerance, operands []Operand, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	domain := []Domain{{}, {Index: true}}
	return entry{c, Row{Name: name, Class: Composite, Section: "indexing", Traits: Stores, Doc: doc, Operands: operands, Results: result, Attrs: attrs,
		Constraints: constraints, Domain: domain, Tolerance: tol, Infer: infer}}
}

var (
	axisAttr  = required("axis", KindInt, "indexed axis")
	batchAttr = defaults(Int("batch", 0), "number of leading batch dimensions")
	modeAttr  = choice("mode", "assign", "how an update meets what is there", reduceModes...)
)

var indexingRows = []entry{
	indexed(GatherElements, "gather_elements", "Element (i, j, k) of the result is x[indices[i,j,k], j, k] for axis 0, and so on. An index outside is ErrIndex.", exact,
		[]Operand{in("x", dtype.Any), in("indices", dtype.Indices)}, []AttrSpec{axisAttr},
		[]Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "indices has x's rank and no greater dimension but at axis"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			if err := elementsFit(in[0].Shape, in[1].Shape, a.Int("axis")); err != nil {
				return nil, err
			}
			return one(in[0].DType, in[1].Shape), nil
		}),
	indexed(ScatterElements, "scatter_elements", "x with updates combined in at the positions that gather_elements reads. Equal positions are combined "+
		"in row-major order; with assign the last wins. An index outside is ErrIndex.", perTerm(1),
		[]Operand{in("x", dtype.Any), in("indices", dtype.Indices), same("updates", 1)}, []AttrSpec{axisAttr, modeAttr},
		[]Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "indices has x's rank and no greater dimension but at axis"},
			{"C3", "updates has the shape of indices"}, {"C4", "modes other than assign need a number type"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			if err := elementsFit(in[0].Shape, in[1].Shape, a.Int("axis")); err != nil {
				return nil, err
			}
			if err := sameShape("C3", "updates", in[2].Shape, in[1].Shape); err != nil {
				return nil, err
			}
			if a.Str("mode") != "assign" && !dtype.Numbers.Has(in[0].DType) {
				return nil, violation(ErrDType, "C4", "mode %s on %v, want a number type", a.Str("mode"), in[0].DType)
			}
			return inferSame(in, a)
		}),
	indexed(GatherND, "gather_nd", "Slices of x at index tuples: the last dimension of indices, of length r, indexes x's r axes after the batch dimensions. "+
		"The result has shape indices[:-1] + x[batch+r:]. An index outside is ErrIndex, unless the result is empty.", exact,
		[]Operand{in("x", dtype.Any), in("indices", dtype.Indices)}, []AttrSpec{batchAttr}, tupleRule,
		func(in []Desc, a Attrs) ([]Desc, error) {
			s, err := tuples(in[0].Shape, in[1].Shape, a.Int("batch"))
			if err != nil {
				return nil, err
			}
			return one(in[0].DType, s), nil
		}),
	indexed(ScatterND, "scatter_nd", "x with updates combined in at the slices that gather_nd reads, in row-major order of the tuples; with assign the last wins. "+
		"An index outside is ErrIndex, unless updates is empty.", perTerm(1),
		[]Operand{in("x", dtype.Any), in("indices", dtype.Indices), same("updates", 1)}, []AttrSpec{modeAttr}, updateRule,
		func(in []Desc, a Attrs) ([]Desc, error) {
			s, err := tuples(in[0].Shape, in[1].Shape, 0)
			if err != nil {
				return nil, err
			}
			if err := sameShape("C3", "updates", in[2].Shape, s); err != nil {
				return nil, err
			}
			if a.Str("mode") != "assign" && !dtype.Numbers.Has(in[0].DType) {
				return nil, violation(ErrDType, "C4", "mode %s on %v, want a number type", a.Str("mode"), in[0].DType)
			}
			return inferSame(in, a)
		}),
	{OneHot, Row{Name: "one_hot", Class: Composite, Section: "indexing", Traits: Stores, Results: result, Operands: []Operand{in("indices", dtype.Indices)},
		Doc: "1 where the position along a new axis of length depth equals the index, else 0; an index out of range results in zeros.",
		Attrs: []AttrSpec{required("depth", KindInt, "length of the new axis"), required("axis", KindInt, "place of the new axis"),
			required("dtype", KindDType, "element type of the result")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank]"}, {"C2", "depth is not negative"}},
		Domain:      []Domain{{Lo: 0, Hi: 4}}, Tolerance: exact,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if _, err := axisIn("C1", a.Int("axis"), len(s)+1); err != nil {
				return nil, err
			}
			if a.Int("depth") < 0 {
				return nil, violation(ErrAttr, "C2", "depth %d, want 0 or more", a.Int("depth"))
			}
			return one(a.DType("dtype"), slices.Insert(s.Clone(), a.Int("axis"), a.Int("depth"))), nil
		}}},
	{TopK, Row{Name: "topk", Class: Composite, Section: "indexing", Traits: Stores, Results: []string{"values", "indices"}, Operands: []Operand{in("x", dtype.Numbers)},
		Doc: "The k greatest (or least) elements along axis, greatest (least) first, equal ones in their order, and where they were (i64). NaN " +
			"counts as greatest.",
		Attrs:       []AttrSpec{required("k", KindInt, "how many"), axisAttr, defaults(Flag("largest", true), "greatest elements, not least")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "k is in [0, dimension]"}}, Tolerance: exact,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			axis, s := a.Int("axis"), in[0].Shape.Clone()
			if _, err := axisIn("C1", axis, len(s)); err != nil {
				return nil, err
			}
			if k := a.Int("k"); k < 0 || k > s[axis] {
				return nil, violation(ErrShape, "C2", "k is %d, want one in [0,%d]", k, s[axis])
			}
			s[axis] = a.Int("k")
			return []Desc{{DType: in[0].DType, Shape: s}, {DType: dtype.I64, Shape: s}}, nil
		}}},
}

var tupleRule = []Constraint{{"C1", "indices has rank 1 or more"}, {"C2", "x has at least batch + r axes"},
	{"C3", "x and indices agree in the batch dimensions"}}

var updateRule = []Constraint{{"C1", "indices has rank 1 or more"}, {"C2", "x has at least r axes"},
	{"C3", "updates has shape indices[:-1] + x[r:]"}, {"C4", "modes other than assign need a number type"}}

func elementsFit(x, idx shape.Shape, axis int) error {
	if _, err := axisIn("C1", axis, len(x)); err != nil {
		return err
	}
	ok := len(x) == len(idx)
	for i := 0; ok && i < len(x); i++ {
		ok = i == axis || idx[i] <= x[i]
	}
	if !ok {
		return violation(ErrShape, "C2", "indices %v for x %v along axis %d, want rank %d and no greater dimension but at the axis", idx, x, axis, len(x))
	}
	return nil
}

func tuples(x, idx shape.Shape, batch int) (shape.Shape, error) {
	if len(idx) < 1 {
		return nil, violation(ErrShape, "C1", "indices is a scalar, want rank 1 or more")
	}
	r := idx[len(idx)-1]
	if batch < 0 || batch >= len(idx) || batch+r > len(x) {
		return nil, violation(ErrShape, "C2", "%d batch dimensions and tuples of %d for x %v and indices %v, want at most %d together, and 0 to %d batch dimensions", batch, r, x, idx, len(x), len(idx)-1)
	}
	if !x[:batch].Equal(idx[:batch]) {
		return nil, violation(ErrShape, "C3", "batch dimensions are %v and %v, want equal ones", x[:batch], idx[:batch])
	}
	return slices.Concat(idx[:len(idx)-1], x[batch+r:]), nil
}
