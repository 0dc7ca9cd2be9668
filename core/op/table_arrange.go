package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func arrangement(c Code, name, doc string, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "arrangement", Traits: Cheap, Doc: doc, Operands: []Operand{in("x", dtype.Any)}, Results: result,
		Attrs: attrs, Constraints: constraints, Tolerance: exact, Infer: infer}}
}

var arrangeRows = []entry{
	arrangement(Roll, "roll", "x moved on by shifts[i] along axes[i]; what leaves at the end comes in at the start.",
		[]AttrSpec{required("shifts", KindInts, "distance, per entry of axes, may be negative"), required("axes", KindInts, "distinct axes")},
		[]Constraint{{"C1", "axes are different ones of x"}, {"C2", "shifts has one entry per entry of axes"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			if err := axesIn("C1", a.Ints("axes"), len(in[0].Shape)); err != nil {
				return nil, err
			}
			if len(a.Ints("shifts")) != len(a.Ints("axes")) {
				return nil, violation(ErrAttr, "C2", "%d shifts for %d axes", len(a.Ints("shifts")), len(a.Ints("axes")))
			}
			return inferSame(in, a)
		}),
	arrangement(Tile, "tile", "x repeated as a whole, repeats[i] times along axis i.",
		[]AttrSpec{required("repeats", KindInts, "how often, per axis")}, []Constraint{{"C1", "repeats has one entry per axis, none negative"}, {"C2", "the result is a legal shape"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			r, s := a.Ints("repeats"), in[0].Shape.Clone()
			if len(r) != len(s) || slices.ContainsFunc(r, func(n int) bool { return n < 0 }) {
				return nil, violation(ErrAttr, "C1", "repeats is %v for rank %d", r, len(s))
			}
			for i := range s {
				if r[i] > limit || s[i] > 0 && r[i] > limit/s[i] {
					return nil, violation(ErrShape, "C2", "axis %d: %d times %d elements", i, r[i], s[i])
				}
				s[i] *= r[i]
			}
			return one(in[0].DType, s), nil
		}),
	arrangement(RepeatInterleave, "repeat_interleave", "Each slice of x along axis repeated, one after the other.",
		[]AttrSpec{required("repeats", KindInt, "how often"), required("axis", KindInt, "axis that grows")},
		[]Constraint{{"C1", "axis is one of x"}, {"C2", "repeats is not negative, and the result is a legal shape"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			axis, err := axisIn("C1", a.Int("axis"), len(in[0].Shape))
			if err != nil {
				return nil, err
			}
			s, n := in[0].Shape.Clone(), a.Int("repeats")
			if n < 0 || n > limit || s[axis] > 0 && n > limit/s[axis] {
				return nil, violation(ErrAttr, "C2", "repeats is %d for dimension %d, want 0 or more, and a product of at most 2^48", n, s[axis])
			}
			s[axis] *= n
			return one(in[0].DType, s), nil
		}),
	{Stack, Row{Name: "stack", Class: Composite, Section: "arrangement", Traits: Cheap, Operands: []Operand{variadic(in("x", dtype.Any))}, Results: result, Tolerance: exact,
		Doc: "The operands one after the other along a new axis.", Attrs: []AttrSpec{required("axis", KindInt, "place of the new axis")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank]"}, {"C2", "the operands have one shape"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if _, err := axisIn("C1", a.Int("axis"), len(s)+1); err != nil {
				return nil, err
			}
			for i := range in {
				if err := sameShape("C2", "an operand", in[i].Shape, s); err != nil {
					return nil, err
				}
			}
			return one(in[0].DType, slices.Insert(s.Clone(), a.Int("axis"), len(in))), nil
		}}},
	arrangement(Extend, "extend", "x with lo elements before and hi after it along each axis, taken from x itself: edge repeats the outermost, reflect goes "+
		"back from it without repeating it, symmetric repeats it first, wrap goes on at the other end; over and over when there are more than x has. "+
		"Negative numbers remove elements.",
		[]AttrSpec{required("lo", KindInts, "elements before, per axis"), required("hi", KindInts, "elements after, per axis"),
			choice("mode", "reflect", "where the elements come from", "edge", "reflect", "symmetric", "wrap")},
		[]Constraint{{"C1", "lo and hi have one entry per axis"}, {"C2", "no dimension of the result is negative"}, {"C3", "an empty axis does not grow"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferPad(in, a)
			if err != nil {
				return nil, err
			}
			for i, n := range in[0].Shape {
				if n == 0 && outs[0].Shape[i] > 0 {
					return nil, violation(ErrShape, "C3", "axis %d of %v is empty and would get %d elements", i, in[0].Shape, outs[0].Shape[i])
				}
			}
			return outs, nil
		}),
	{MeshGrid, Row{Name: "mesh_grid", Class: Composite, Section: "arrangement", Traits: Cheap, Operands: []Operand{variadic(in("x", dtype.Any))},
		Results: []string{"y1", "y2", "y3", "y4", "y5", "y6", "y7", "y8"}, Tolerance: exact,
		Doc:         "For vectors of lengths n1, n2, ..., as many tensors [n1, n2, ...]: element (i, j, ...) of the k-th is the element of the k-th vector at the k-th of these indices.",
		Constraints: []Constraint{{"C1", "the operands have rank 1"}, {"C2", "at most 8 operands"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			var s shape.Shape
			for _, d := range in {
				if len(d.Shape) != 1 {
					return nil, violation(ErrShape, "C1", "rank %d, want 1", len(d.Shape))
				}
				s = append(s, d.Shape[0])
			}
			if len(in) > shape.MaxRank {
				return nil, violation(ErrShape, "C2", "%d operands, want at most %d", len(in), shape.MaxRank)
			}
			return slices.Repeat(one(in[0].DType, s), len(in)), nil
		}}},
	{Eye, Row{Name: "eye", Class: Composite, Section: "creation", Traits: Cheap | Stores, Results: result, Tolerance: exact,
		Doc: "A matrix [rows, columns] with 1 where the column is the row plus diagonal, else 0.",
		Attrs: []AttrSpec{required("rows", KindInt, "number of rows"), required("columns", KindInt, "number of columns"),
			defaults(Int("diagonal", 0), "which diagonal; above the main one if positive"), required("dtype", KindDType, "element type")},
		Constraints: []Constraint{{"C1", "rows and columns are a legal shape, and diagonal is within 2^48"}},
		Infer: func(_ []Desc, a Attrs) ([]Desc, error) {
			s, err := legal("C1", []int{a.Int("rows"), a.Int("columns")})
			if err != nil {
				return nil, err
			}
			if k := a.Int("diagonal"); k > limit || k < -limit {
				return nil, violation(ErrAttr, "C1", "diagonal %d, want one from -2^48 to 2^48", k)
			}
			return one(a.DType("dtype"), s), nil
		}}},
	{LinSpace, Row{Name: "linspace", Class: Composite, Section: "creation", Traits: Cheap, Results: result, Tolerance: perTerm(4),
		Doc: "count numbers from start on, (stop-start)/(count-1) apart, so that stop is the last; without endpoint (stop-start)/count apart.",
		Attrs: []AttrSpec{required("start", KindFloat, "first number"), required("stop", KindFloat, "last number, or the one after it"),
			required("count", KindInt, "how many"), defaults(Flag("endpoint", true), "stop is among them"), required("dtype", KindDType, "a float type")},
		Constraints: []Constraint{{"C1", "count is a legal dimension"}, {"C2", "dtype is a float type"}, {"C3", "start and stop are finite"}},
		Infer: func(_ []Desc, a Attrs) ([]Desc, error) {
			s, err := legal("C1", []int{a.Int("count")})
			if err != nil {
				return nil, err
			}
			if !a.DType("dtype").IsFloat() {
				return nil, violation(ErrDType, "C2", "dtype is %v, want a float type", a.DType("dtype"))
			}
			if d := a.Float("stop") - a.Float("start"); d-d != 0 {
				return nil, violation(ErrAttr, "C3", "from %v to %v, want finite numbers", a.Float("start"), a.Float("stop"))
			}
			return one(a.DType("dtype"), s), nil
		}}},
}
