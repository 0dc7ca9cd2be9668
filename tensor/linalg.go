package tensor

import "github.com/goburn/burn/core/op"

// Matrices are the last two dimensions; the others are batches and broadcast.

// Tril returns t where column - row is at most offset, else 0.
func (t *Tensor) Tril(offset int) *Tensor { return t.un(op.Tril, op.Int("offset", offset)) }

// Triu returns t where column - row is at least offset, else 0.
func (t *Tensor) Triu(offset int) *Tensor { return t.un(op.Triu, op.Int("offset", offset)) }

// Diag returns square matrices that contain the last dimension of t on the diagonal at offset, and zeros elsewhere.
func (t *Tensor) Diag(offset int) *Tensor { return t.un(op.Diag, op.Int("offset", offset)) }

// Diagonal returns the diagonal at offset.
func (t *Tensor) Diagonal(offset int) *Tensor { return t.un(op.Diagonal, op.Int("offset", offset)) }

// Trace returns the sum of the diagonal.
func (t *Tensor) Trace() *Tensor { return t.un(op.Trace) }

// Cholesky returns the lower triangular l with l·lᵀ = t, or, if upper is set, the upper triangular u with uᵀ·u = t; the result is
// NaN where t is not positive definite.
func (t *Tensor) Cholesky(upper bool) *Tensor { return t.un(op.Cholesky, op.Flag("upper", upper)) }

// TriangularOptions describes the matrix of TriangularSolve. The zero value is lower triangular.
type TriangularOptions struct {
	Upper     bool // t is upper triangular
	Transpose bool // solve with the transpose of t
	Unit      bool // the diagonal counts as 1
}

// TriangularSolve returns the x with t·x = b for triangular t; the other triangle is not read.
func (t *Tensor) TriangularSolve(b *Tensor, o TriangularOptions) *Tensor {
	return Op(op.TriangularSolve, []*Tensor{t, b}, op.Flag("upper", o.Upper), op.Flag("transpose", o.Transpose), op.Flag("unit", o.Unit))[0]
}

// LU returns both factors in one matrix, u in the upper triangle and l below it, the row swaps that were made, and the resulting
// order of the rows of t (both i64): row i of l·u is row permutation[i] of t.
func (t *Tensor) LU() (lu, pivots, permutation *Tensor) {
	r := Op(op.LU, []*Tensor{t})
	return r[0], r[1], r[2]
}

// LUDecomposition returns p, l and u with p·l·u = t: a permutation, lower triangular with a diagonal of 1, and upper triangular.
func (t *Tensor) LUDecomposition() (p, l, u *Tensor) {
	d := temps{from: t}
	lu, pivots, order := t.LU()
	d.of(pivots)
	rank := t.Rank()
	m, n := t.desc.Shape[rank-2], t.desc.Shape[rank-1]
	k := min(m, n)
	eye := d.of(t.within().Eye(t.desc.DType, m, k))
	l = d.of(d.of(d.of(lu).Narrow(-1, 0, k)).Tril(-1)).Add(eye)
	u = d.of(lu.Narrow(-2, 0, k)).Triu(0)
	return d.done(d.of(d.of(order).OneHot(t.desc.DType, m, -1)).T()), l, u
}

// Det returns the determinant.
func (t *Tensor) Det() *Tensor { return t.un(op.Det) }

// SlogDet returns the sign of the determinant and the logarithm of its magnitude.
func (t *Tensor) SlogDet() (sign, log *Tensor) {
	r := Op(op.SlogDet, []*Tensor{t})
	return r[0], r[1]
}

// Inverse returns the inverse matrix.
func (t *Tensor) Inverse() *Tensor { return t.un(op.Inverse) }

// PInv returns the Moore-Penrose inverse, computed from the singular values. Singular values of at most rcond times the greatest
// count as 0; rcond 0 means the type's precision.
func (t *Tensor) PInv(rcond float64) *Tensor { return t.un(op.PInv, op.Float("rcond", rcond)) }

// Solve returns the x with t·x = b.
func (t *Tensor) Solve(b *Tensor) *Tensor { return t.bin(op.Solve, b) }

// LstSq returns the x of least norm that minimises the norm of t·x - b; rcond is as in PInv.
func (t *Tensor) LstSq(b *Tensor, rcond float64) *Tensor {
	return Op(op.LstSq, []*Tensor{t, b}, op.Float("rcond", rcond))[0]
}

// MatrixPower returns t multiplied with itself n times: the identity for 0, a power of the inverse for negative n.
func (t *Tensor) MatrixPower(n int) *Tensor { return t.un(op.MatrixPower, op.Int("n", n)) }

// QR returns q and r with q·r = t: q has orthonormal columns, and r is upper triangular with a diagonal that is not negative. If
// complete is set, q is square.
func (t *Tensor) QR(complete bool) (q, r *Tensor) {
	o := Op(op.QR, []*Tensor{t}, op.Flag("complete", complete))
	return o[0], o[1]
}

// Eigh returns the eigenvalues of symmetric t, ascending, and orthonormal eigenvectors as columns.
func (t *Tensor) Eigh() (values, vectors *Tensor) {
	r := Op(op.Eigh, []*Tensor{t})
	return r[0], r[1]
}

// SVD returns u, s and vt with u·diag(s)·vt = t, and s descending.
func (t *Tensor) SVD() (u, s, vt *Tensor) {
	r := Op(op.SVD, []*Tensor{t})
	return r[0], r[1], r[2]
}

// VectorNorm returns the p-norm over axes. For p +Inf it is the greatest magnitude, for -Inf the least, and for 0 the number of
// elements that are not 0.
func (t *Tensor) VectorNorm(p float64, axes ...int) *Tensor {
	return t.reduce(op.VectorNorm, false, axes, op.Float("p", p))
}

// VectorNormKeep is like VectorNorm, but keeps the axes with length 1.
func (t *Tensor) VectorNormKeep(p float64, axes ...int) *Tensor {
	return t.reduce(op.VectorNorm, true, axes, op.Float("p", p))
}

// MatrixNorm returns a norm of the matrices: "fro", "nuc", "2", "-2", "1", "-1", "inf" or "-inf".
func (t *Tensor) MatrixNorm(ord string) *Tensor { return t.un(op.MatrixNorm, op.Str("ord", ord)) }
