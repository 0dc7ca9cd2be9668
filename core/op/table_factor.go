package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var (
	squareRule = []Constraint{matrixRank, {"C2", "the matrices are square and not empty"}}
	fullRule   = []Constraint{matrixRank, {"C2", "the matrices are not empty"}}
)

// inferSquare checks C1 and C2 of squareRule.
func inferSquare(in []Desc, a Attrs) ([]Desc, error) {
	s := in[0].Shape
	if err := atLeastMatrix(s); err != nil {
		return nil, err
	}
	if n := len(s); s[n-1] != s[n-2] || s[n-1] == 0 {
		return nil, violation(ErrShape, "C2", "%v, want square matrices that are not empty", s)
	}
	return inferSame(in, a)
}

// inferFilled checks C1 and C2 of fullRule and returns the batch dimensions, rows and columns of s.
func inferFilled(s shape.Shape) (batch shape.Shape, m, n int, err error) {
	if err := atLeastMatrix(s); err != nil {
		return nil, 0, 0, err
	}
	r := len(s)
	if m, n = s[r-2], s[r-1]; m == 0 || n == 0 {
		return nil, 0, 0, violation(ErrShape, "C2", "%v, want matrices that are not empty", s)
	}
	return s[: r-2 : r-2], m, n, nil
}

// solver returns the row of an op that solves a·x = b for x.
func solver(c Code, name, doc string, kind MatrixKind, attrs ...AttrSpec) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: algebra, Doc: doc, Operands: []Operand{in("a", dtype.Floats), same("b", 1)}, Results: []string{"x"},
		Attrs: attrs, Constraints: []Constraint{{"C1", "a and b have rank 2 or more"}, {"C2", "the matrices of a are square and not empty"},
			{"C3", "a and b have as many rows"}, {"C4", "the dimensions before broadcast"}},
		Tolerance: perTerm(32), Domain: []Domain{{Matrix: kind}}, Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if _, err := inferSquare(in, a); err != nil {
				return nil, err
			}
			p, q := in[0].Shape, in[1].Shape
			if len(q) < 2 {
				return nil, violation(ErrShape, "C1", "b has rank %d, want 2 or more", len(q))
			}
			if q[len(q)-2] != p[len(p)-1] {
				return nil, violation(ErrShape, "C3", "%d and %d rows", p[len(p)-1], q[len(q)-2])
			}
			batch, err := inferBatches("C4", in, 2)
			if err != nil {
				return nil, err
			}
			return one(in[0].DType, append(batch[:len(batch):len(batch)], q[len(q)-2:]...)), nil
		}}}
}

var factorRows = []entry{
	matrixRow(Cholesky, "cholesky", "Lower triangular l with positive diagonal and l·lᵀ = x, or upper u with uᵀ·u = x. Only that triangle of x is read. Where x is not positive "+
		"definite, the root of a negative number is NaN and what depends on it is too.", dtype.Floats, perTerm(32), PositiveDefinite,
		[]AttrSpec{defaults(Flag("upper", false), "read and give the upper triangle")}, squareRule, inferSquare),
	solver(TriangularSolve, "triangular_solve", "x of op(a)·x = b for triangular a; the other triangle is not read.", Triangular,
		defaults(Flag("upper", false), "a is upper triangular, not lower"), defaults(Flag("transpose", false), "op(a) is the transpose of a"),
		defaults(Flag("unit", false), "the diagonal counts as 1 and is not read")),
	{LU, Row{Name: "lu", Class: Composite, Section: algebra, Operands: []Operand{in("x", dtype.Floats)}, Results: []string{"lu", "pivots", "permutation"},
		Doc: "x[..., m, n] with rows in the order of permutation (i64, [..., m]) is l·u: u is the upper triangle of lu, l the strictly lower one and a diagonal of 1. Step k swaps row k " +
			"with row pivots[k] (i64, [..., min(m, n)]), of those from k on the one with the element of largest magnitude in column k, the first of " +
			"equals. Below a pivot of 0 the multipliers are 0.",
		Constraints: fullRule, Tolerance: perTerm(32), Domain: []Domain{{Matrix: FullRank}},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			batch, m, n, err := inferFilled(in[0].Shape)
			if err != nil {
				return nil, err
			}
			return []Desc{in[0], {DType: dtype.I64, Shape: append(batch, min(m, n))}, {DType: dtype.I64, Shape: append(batch, m)}}, nil
		}}},
	matrixRow(Det, "det", "Determinant.", dtype.Floats, perTerm(32), FullRank, nil, squareRule, func(in []Desc, a Attrs) ([]Desc, error) {
		if _, err := inferSquare(in, a); err != nil {
			return nil, err
		}
		return one(in[0].DType, in[0].Shape[:len(in[0].Shape)-2]), nil
	}),
	slogDet(),
	matrixRow(Inverse, "inverse", "Inverse matrix, by elimination with row pivoting.", dtype.Floats, perTerm(32), FullRank, nil, squareRule, inferSquare),
	solver(Solve, "solve", "x of a·x = b, by elimination with row pivoting.", FullRank),
	matrixRow(MatrixPower, "matrix_power", "x multiplied with itself n times: the identity for 0, the power of the inverse for negative n.", dtype.Floats, perTerm(128), FullRank,
		[]AttrSpec{required("n", KindInt, "the exponent")}, append(squareRule[:2:2], Constraint{"C3", "n is within 2^16"}), func(in []Desc, a Attrs) ([]Desc, error) {
			if n := a.Int("n"); n > 1<<16 || n < -1<<16 {
				return nil, violation(ErrAttr, "C3", "n is %d, want one from -2^16 to 2^16", n)
			}
			return inferSquare(in, a)
		}),
}

func slogDet() entry {
	e := matrixRow(SlogDet, "slogdet", "Sign (-1, 0 or 1) of the determinant, and the logarithm of its magnitude, -Inf for 0.", dtype.Floats, perTerm(32), FullRank, nil, squareRule,
		func(in []Desc, a Attrs) ([]Desc, error) {
			if _, err := inferSquare(in, a); err != nil {
				return nil, err
			}
			d := Desc{DType: in[0].DType, Shape: in[0].Shape[:len(in[0].Shape)-2]}
			return []Desc{d, d}, nil
		})
	e.row.Results = []string{"sign", "log"}
	return e
}
