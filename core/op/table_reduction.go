package op

import "github.com/goburn/burn/core/dtype"

var axesRule = []Constraint{{"C1", "axes are distinct and in [0, rank)"}}

func reduction(c Code, name, doc string, tol Tolerance) entry {
	return entry{c, Row{Name: name, Section: "reduction", Traits: Reduces | Cheap, Doc: doc, Operands: []Operand{in("x", dtype.Numbers)}, Results: result,
		Attrs: []AttrSpec{required("axes", KindInts, "axes to reduce; none reduces nothing"),
			defaults(Flag("keep_dims", false), "keep reduced axes with length 1")},
		Constraints: axesRule, Tolerance: tol, Infer: inferReduce}}
}

func arg(c Code, name, doc string) entry {
	return entry{c, Row{Name: name, Section: "reduction", Traits: Reduces | Cheap | Stores, Doc: doc, Operands: []Operand{in("x", dtype.Numbers)}, Results: []string{"indices"},
		Attrs:       []AttrSpec{required("axis", KindInt, "axis to reduce"), defaults(Flag("keep_dims", false), "keep the axis with length 1")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "the axis is not empty"}}, Tolerance: exact,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			axis, s := a.Int("axis"), in[0].Shape
			if _, err := axisIn("C1", axis, len(s)); err != nil {
				return nil, err
			}
			if s[axis] == 0 {
				return nil, violation(ErrShape, "C2", "axis %d of %v is empty", axis, s)
			}
			return one(dtype.I64, reduced(s, []int{axis}, a.Bool("keep_dims"))), nil
		}}}
}

func scan(c Code, name, doc string, tol Tolerance) entry {
	return entry{c, Row{Name: name, Section: "scan", Doc: doc, Operands: []Operand{in("x", dtype.Numbers)}, Results: result,
		Attrs: []AttrSpec{required("axis", KindInt, "axis to run along"),
			defaults(Flag("exclusive", false), "element i does not include x[i]: the first result is the identity"),
			defaults(Flag("reverse", false), "run from the end")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}}, Tolerance: tol, Infer: inferAxis}}
}

var reductionRows = []entry{
	reduction(Sum, "sum", "Sum over axes, 0 for none; integers wrap; narrow floats accumulate in f32 or wider.", perTerm(1)),
	reduction(Prod, "prod", "Product over axes, 1 for none; integers wrap; narrow floats accumulate in f32 or wider.", perTerm(1)),
	reduction(ReduceMax, "reduce_max", "Greatest element over axes, NaN if there is one; of none, -Inf or the least integer.", exact),
	reduction(ReduceMin, "reduce_min", "Least element over axes, NaN if there is one; of none, +Inf or the greatest integer.", exact),
	arg(ArgMax, "argmax", "Index (i64) of the greatest element along axis, the first of equal ones (-0 equals +0); the first NaN if there is one."),
	arg(ArgMin, "argmin", "Index (i64) of the least element along axis, the first of equal ones (-0 equals +0); the first NaN if there is one."),
	scan(CumSum, "cumsum", "Running sum along axis; integers wrap.", perTerm(1)),
	scan(CumProd, "cumprod", "Running product along axis; integers wrap.", perTerm(1)),
	scan(CumMax, "cummax", "Running maximum along axis, NaN from the first NaN on.", exact),
	scan(CumMin, "cummin", "Running minimum along axis, NaN from the first NaN on.", exact),
	{Sort, Row{Name: "sort", Section: "sort", Traits: Stores, Results: []string{"values", "indices"}, Operands: []Operand{in("x", dtype.Numbers)},
		Doc: "x sorted along axis, stable, and the index (i64) each element came from. NaN counts as greater than everything, " +
			"-0 equals +0.",
		Attrs: []AttrSpec{required("axis", KindInt, "axis to sort along"),
			defaults(Flag("descending", false), "greatest first, equal elements still in their order")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}}, Tolerance: exact,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferAxis(in, a)
			if err != nil {
				return nil, err
			}
			return append(outs, Desc{DType: dtype.I64, Shape: in[0].Shape}), nil
		}}},
}
