package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

var rcondAttr = defaults(Float("rcond", 0), "singular values at most rcond times the greatest count as 0; 0 stands for the greater dimension times 2^-52 in f64, 2^-23 else")

const signRule = "Their signs are such that in each the element of largest magnitude, the first of equals, is not negative"

func factors(c Code, name, doc string, results []string, kind MatrixKind, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	e := matrixRow(c, name, doc, dtype.Floats, perTerm(64), kind, attrs, constraints, infer)
	e.row.Results = results
	return e
}

func rcond(constraint string, a Attrs) error {
	if r := a.Float("rcond"); !(r >= 0) || math.IsInf(r, 1) {
		return violation(ErrAttr, constraint, "rcond is %v", r)
	}
	return nil
}

var spectrumRows = []entry{
	factors(QR, "qr", "q with orthonormal columns and upper triangular r with q·r = x, r's diagonal not negative: q[..., m, k] and r[..., k, n] of x[..., m, n] with k = min(m, n), or m "+
		"when complete. q is the product of Householder's reflections I - 2vvᵀ/vᵀv with v = x + sign(x0)·|x|·e0 of what is left of each column, sign(0) = 1, and "+
		"then of the signs that r's diagonal asks for.", []string{"q", "r"}, FullRank, []AttrSpec{defaults(Flag("complete", false), "q is square")}, fullRule,
		func(in []Desc, a Attrs) ([]Desc, error) {
			batch, m, n, err := inferFilled(in[0].Shape)
			if err != nil {
				return nil, err
			}
			k := min(m, n)
			if a.Bool("complete") {
				k = m
			}
			return []Desc{{DType: in[0].DType, Shape: append(batch, m, k)}, {DType: in[0].DType, Shape: append(batch, k, n)}}, nil
		}),
	factors(Eigh, "eigh", "Eigenvalues of symmetric x, ascending, and orthonormal eigenvectors, which are the columns of the second result. "+signRule+". Only the lower triangle of x is read.",
		[]string{"values", "vectors"}, Symmetric, nil, squareRule, func(in []Desc, a Attrs) ([]Desc, error) {
			if _, err := inferSquare(in, a); err != nil {
				return nil, err
			}
			s := in[0].Shape
			return []Desc{{DType: in[0].DType, Shape: s[:len(s)-1]}, in[0]}, nil
		}),
	factors(SVD, "svd", "u[..., m, k], s[..., k] and vt[..., k, n] with k = min(m, n), u·diag(s)·vt = x[..., m, n], orthonormal columns of u and rows of vt, and singular values descending and not "+
		"negative. "+signRule+" of the columns of u.", []string{"u", "s", "vt"}, FullRank, nil, fullRule, func(in []Desc, _ Attrs) ([]Desc, error) {
		batch, m, n, err := inferFilled(in[0].Shape)
		if err != nil {
			return nil, err
		}
		k, d := min(m, n), in[0].DType
		return []Desc{{DType: d, Shape: append(batch, m, k)}, {DType: d, Shape: append(batch, k)}, {DType: d, Shape: append(batch, k, n)}}, nil
	}),
	factors(MatrixNorm, "matrix_norm", "Norm of the matrices: fro the root of the sum of squares, nuc the sum of singular values, 2 the greatest and -2 the least of them, 1 the greatest and -1 the least "+
		"sum of magnitudes of a column, inf and -inf of a row.", result, FullRank, []AttrSpec{choice("ord", "fro", "which norm", "fro", "nuc", "2", "-2", "1", "-1", "inf", "-inf")}, fullRule,
		func(in []Desc, _ Attrs) ([]Desc, error) {
			batch, _, _, err := inferFilled(in[0].Shape)
			return one(in[0].DType, batch), err
		}),
	factors(PInv, "pinv", "Moore-Penrose inverse by singular values: [..., n, m] of x[..., m, n].", result, FullRank, []AttrSpec{rcondAttr},
		append(fullRule[:2:2], Constraint{"C3", "rcond is finite and not negative"}), func(in []Desc, a Attrs) ([]Desc, error) {
			batch, m, n, err := inferFilled(in[0].Shape)
			if err == nil {
				err = rcond("C3", a)
			}
			return one(in[0].DType, append(batch, n, m)), err
		}),
	{LstSq, Row{Name: "lstsq", Class: Composite, Section: algebra, Operands: []Operand{in("a", dtype.Floats), same("b", 1)}, Results: []string{"x"},
		Doc:   "x[..., n, k] of least norm that minimises the norm of a·x - b: pinv(a)·b.",
		Attrs: []AttrSpec{rcondAttr}, Constraints: []Constraint{{"C1", "a and b have rank 2 or more"}, {"C2", "the matrices of a are not empty"},
			{"C3", "a and b have as many rows"}, {"C4", "the dimensions before broadcast"}, {"C5", "rcond is finite and not negative"}},
		Tolerance: perTerm(64), Domain: []Domain{{Matrix: FullRank}}, Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			_, m, n, err := inferFilled(in[0].Shape)
			if err != nil {
				return nil, err
			}
			q := in[1].Shape
			if len(q) < 2 {
				return nil, violation(ErrShape, "C1", "b has rank %d, want 2 or more", len(q))
			}
			if q[len(q)-2] != m {
				return nil, violation(ErrShape, "C3", "%d and %d rows", m, q[len(q)-2])
			}
			batch, err := inferBatches("C4", in, 2)
			if err == nil {
				err = rcond("C5", a)
			}
			return one(in[0].DType, append(batch[:len(batch):len(batch)], n, q[len(q)-1])), err
		}}},
}
