package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// Matrices are the last two dimensions. All others are batch dimensions.

const algebra = "linear algebra"

var matrixRank = Constraint{"C1", "x has rank 2 or more"}

// matrixRow returns the row of an op with one operand x, whose matrices in tests are of the given kind.
func matrixRow(c Code, name, doc string, types dtype.Set, tol Tolerance, kind MatrixKind, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: algebra, Doc: doc, Operands: []Operand{in("x", types)}, Results: result, Attrs: attrs,
		Constraints: constraints, Tolerance: tol, Domain: []Domain{{Matrix: kind}}, Infer: infer}}
}

// atLeastMatrix checks C1.
func atLeastMatrix(s shape.Shape) error {
	if len(s) < 2 {
		return violation(ErrShape, "C1", "rank %d, want 2 or more", len(s))
	}
	return nil
}

func inferMatrix(in []Desc, a Attrs) ([]Desc, error) {
	if err := atLeastMatrix(in[0].Shape); err != nil {
		return nil, err
	}
	return inferSame(in, a)
}

var offsetAttr = defaults(Int("offset", 0), "diagonal: 0 the main one, above it positive, below it negative")

// diagonalAt returns the row and column at which the diagonal at an offset of an m by n matrix starts, and its length.
func diagonalAt(m, n, offset int) (row, col, length int) {
	if offset > n || offset < -m {
		return 0, 0, 0
	}
	row, col = max(0, -offset), max(0, offset)
	return row, col, max(0, min(m-row, n-col))
}

// inferBatches returns the broadcast batch dimensions of two operands: all dimensions before the last inner ones. Both operands must have
// at least inner dimensions.
func inferBatches(constraint string, in []Desc, inner int) (batch shape.Shape, err error) {
	var outer []Desc
	for _, d := range in {
		outer = append(outer, Desc{Shape: d.Shape[:len(d.Shape)-inner]})
	}
	return broadcast(constraint, outer...)
}

var batchesRule = Constraint{"C2", "the dimensions before broadcast"}

var matrixRows = []entry{
	matrixRow(Tril, "tril", "x where column - row is at most offset, else 0.", dtype.Any, exact, AnyMatrix, []AttrSpec{offsetAttr}, []Constraint{matrixRank}, inferMatrix),
	matrixRow(Triu, "triu", "x where column - row is at least offset, else 0.", dtype.Any, exact, AnyMatrix, []AttrSpec{offsetAttr}, []Constraint{matrixRank}, inferMatrix),
	matrixRow(Diag, "diag", "Square matrices with the last dimension of x on the diagonal at offset, 0 elsewhere.", dtype.Any, exact, AnyMatrix, []AttrSpec{offsetAttr},
		[]Constraint{{"C1", "x has rank 1 or more"}, {"C2", "offset is within 2^48"}}, func(in []Desc, a Attrs) ([]Desc, error) {
			s, k := in[0].Shape, a.Int("offset")
			if len(s) < 1 {
				return nil, violation(ErrShape, "C1", "x is a scalar, want rank 1 or more")
			}
			if k > limit || k < -limit {
				return nil, violation(ErrAttr, "C2", "offset is %d, want one from -2^48 to 2^48", k)
			}
			n := s[len(s)-1] + max(k, -k)
			return one(in[0].DType, append(s[:len(s)-1:len(s)-1], n, n)), nil
		}),
	matrixRow(Diagonal, "diagonal", "The elements of x at which column - row is offset, none when there is no such diagonal.", dtype.Any, exact, AnyMatrix, []AttrSpec{offsetAttr},
		[]Constraint{matrixRank}, func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if err := atLeastMatrix(s); err != nil {
				return nil, err
			}
			n := len(s) - 2
			_, _, length := diagonalAt(s[n], s[n+1], a.Int("offset"))
			return one(in[0].DType, append(s[:n:n], length)), nil
		}),
	matrixRow(Trace, "trace", "Sum of the diagonal at offset; integers wrap.", dtype.Numbers, perTerm(1), AnyMatrix, []AttrSpec{offsetAttr}, []Constraint{matrixRank},
		func(in []Desc, a Attrs) ([]Desc, error) {
			if err := atLeastMatrix(in[0].Shape); err != nil {
				return nil, err
			}
			return one(in[0].DType, in[0].Shape[:len(in[0].Shape)-2]), nil
		}),
	{Outer, Row{Name: "outer", Class: Composite, Section: algebra, Operands: []Operand{in("a", dtype.Numbers), same("b", 1)}, Results: result, Tolerance: exact,
		Doc:         "Products of each element of a[..., m] with each of b[..., n]: [..., m, n]; integers wrap.",
		Constraints: []Constraint{{"C1", "a and b have rank 1 or more"}, batchesRule},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			if len(in[0].Shape) < 1 || len(in[1].Shape) < 1 {
				return nil, violation(ErrShape, "C1", "ranks %d and %d, want 1 or more", len(in[0].Shape), len(in[1].Shape))
			}
			batch, err := inferBatches("C2", in, 1)
			if err != nil {
				return nil, err
			}
			return one(in[0].DType, slices.Concat(batch, in[0].Shape[len(in[0].Shape)-1:], in[1].Shape[len(in[1].Shape)-1:])), nil
		}}},
	{Kron, Row{Name: "kron", Class: Composite, Section: algebra, Operands: []Operand{in("a", dtype.Numbers), same("b", 1)}, Results: result, Tolerance: exact,
		Doc:         "Kronecker product of a[..., m, n] and b[..., p, q]: element (i·p+k, j·q+l) is a[i,j]·b[k,l]; integers wrap.",
		Constraints: []Constraint{{"C1", "a and b have rank 2 or more"}, batchesRule, {"C3", "m·p and n·q are within 2^48"}},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			a, b := in[0].Shape, in[1].Shape
			if len(a) < 2 || len(b) < 2 {
				return nil, violation(ErrShape, "C1", "ranks %d and %d, want 2 or more", len(a), len(b))
			}
			batch, err := inferBatches("C2", in, 2)
			if err != nil {
				return nil, err
			}
			m, n, p, q := a[len(a)-2], a[len(a)-1], b[len(b)-2], b[len(b)-1]
			if p > 0 && m > limit/p || q > 0 && n > limit/q {
				return nil, violation(ErrShape, "C3", "%v and %v", a, b)
			}
			return one(in[0].DType, append(batch[:len(batch):len(batch)], m*p, n*q)), nil
		}}},
	{Cross, Row{Name: "cross", Class: Composite, Section: algebra, Operands: []Operand{in("a", dtype.Numbers), same("b", 1)}, Results: result, Tolerance: perTerm(2),
		Doc:   "Vector product of the three-dimensional vectors along axis of the broadcast operands; integers wrap.",
		Attrs: []AttrSpec{required("axis", KindInt, "axis of the vectors, in the broadcast shape")},
		Constraints: []Constraint{{"C1", "a and b broadcast together"}, {"C2", "axis is in [0, rank) of the broadcast shape"},
			{"C3", "the axis has length 3 in the broadcast shape"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s, err := broadcast("C1", in...)
			if err != nil {
				return nil, err
			}
			axis, err := axisIn("C2", a.Int("axis"), len(s))
			if err != nil {
				return nil, err
			}
			if s[axis] != 3 {
				return nil, violation(ErrShape, "C3", "axis %d of %v, want length 3", axis, s)
			}
			return one(in[0].DType, s), nil
		}}},
}
