package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// selection returns the row of an op whose number of results depends on data: see "Sizes that depend on data" in the package comment.
func selection(c Code, name, doc string, operands []Operand, results []string, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "selection", Doc: doc, Operands: operands, Results: append(results, "count"),
		Attrs: attrs, Constraints: constraints, Tolerance: exact, Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := infer(in, a)
			return append(outs, Desc{DType: dtype.I64, Shape: shape.Shape{}}), err
		}}}
}

func i64s(dims ...int) Desc { return Desc{DType: dtype.I64, Shape: shape.Of(dims...)} }

var selectionRows = []entry{
	selection(NonZero, "nonzero", "Index tuples of the elements of x that are not zero, in row-major order: row i of indices [size, rank] is that of "+
		"the i-th. NaN is not zero, -0 is.", []Operand{in("x", dtype.Any)}, []string{"indices"}, nil, nil,
		func(in []Desc, _ Attrs) ([]Desc, error) {
			return []Desc{i64s(in[0].Shape.Size(), len(in[0].Shape))}, nil
		}),
	selection(Compress, "compress", "The slices of x along axis where the condition holds, in their order, in a tensor of x's shape.",
		[]Operand{in("x", dtype.Any), in("condition", dtype.Bools)}, []string{"y"}, []AttrSpec{required("axis", KindInt, "axis to choose along")},
		[]Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "condition has shape [x[axis]]"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			axis, err := axisIn("C1", a.Int("axis"), len(in[0].Shape))
			if err != nil {
				return nil, err
			}
			if err := sameShape("C2", "condition", in[1].Shape, in[0].Shape[axis:axis+1]); err != nil {
				return nil, err
			}
			return one(in[0].DType, in[0].Shape), nil
		}),
	selection(Unique, "unique", "The different elements of x [n]: values, where each is first, which of them each element of x is, and how often "+
		"each occurs; in ascending order, or in that of first occurrence. NaN equals NaN and comes last, -0 equals +0. inverse is full, of size n.",
		[]Operand{in("x", dtype.Numbers)}, []string{"values", "first", "inverse", "counts"},
		[]AttrSpec{defaults(Flag("sorted", true), "ascending, not in the order of first occurrence")},
		[]Constraint{{"C1", "x has rank 1"}},
		func(in []Desc, _ Attrs) ([]Desc, error) {
			if len(in[0].Shape) != 1 {
				return nil, violation(ErrShape, "C1", "rank %d, want 1", len(in[0].Shape))
			}
			n := i64s(in[0].Shape[0])
			return []Desc{{DType: in[0].DType, Shape: in[0].Shape}, n, n, n}, nil
		}),
	selection(NMS, "nms", "Greedy non-maximum suppression of boxes [N, 4] with scores [N]: again and again, of the boxes whose score is above "+
		"score_threshold, the one of the greatest score, the first of equals, is chosen, and the boxes whose intersection over union with it is above "+
		"iou_threshold are dropped, until max_output are chosen. indices [max_output] lists them in that order. A box is two opposite corners "+
		"(y, x, y, x) in any order, or centre and size (x, y, width, height). An intersection of no area counts as 0; a NaN score is never chosen.",
		[]Operand{in("boxes", dtype.Floats), same("scores", 1)}, []string{"indices"},
		[]AttrSpec{required("max_output", KindInt, "how many are chosen at most"), defaults(Float("iou_threshold", 0.5), "greatest overlap that stays"),
			defaults(Float("score_threshold", math.Inf(-1)), "scores up to it are never chosen"), defaults(Flag("center_point", false), "boxes are centre and size")},
		[]Constraint{{"C1", "boxes has shape [N, 4]"}, {"C2", "scores has shape [N]"}, {"C3", "max_output is in [0, N]"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if len(s) != 2 || s[1] != 4 {
				return nil, violation(ErrShape, "C1", "boxes is %v, want [N,4]", s)
			}
			if err := sameShape("C2", "scores", in[1].Shape, s[:1]); err != nil {
				return nil, err
			}
			if m := a.Int("max_output"); m < 0 || m > s[0] {
				return nil, violation(ErrAttr, "C3", "max_output is %d, want one in [0,%d]", m, s[0])
			}
			return []Desc{i64s(a.Int("max_output"))}, nil
		}),
}
