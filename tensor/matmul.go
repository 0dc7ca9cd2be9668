package tensor

import "github.com/goburn/burn/core/op"

// MatMul returns the matrix product over the last two dimensions; the others broadcast. Integers wrap.
func (t *Tensor) MatMul(o *Tensor) *Tensor { return t.bin(op.MatMul, o) }

// MatMulT is MatMul with the last two dimensions of t, of o, or of both transposed first, without moving elements.
func (t *Tensor) MatMulT(o *Tensor, transposeT, transposeO bool) *Tensor {
	return Op(op.MatMul, []*Tensor{t, o}, op.Flag("transpose_a", transposeT), op.Flag("transpose_b", transposeO))[0]
}

// MatVec returns the product of matrices t[..., M, K] and vectors o[..., K]: [..., M].
func (t *Tensor) MatVec(o *Tensor) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.MatMul(m.of(o.Unsqueeze(-1)))).Squeeze(-1))
}

// Dot returns the sum of the products of two vectors' elements.
func (t *Tensor) Dot(o *Tensor) *Tensor {
	t.wantRank("dot", 1)
	o.wantRank("dot", 1)
	if t.Size() != o.Size() {
		fail("dot: %v and %v, want the same length: %w", t.desc, o.desc, op.ErrShape)
	}
	m := temps{from: t}
	return m.done(m.of(t.Mul(o)).Sum())
}

// Outer returns the product of each element of t[..., M] with each of o[..., N]: [..., M, N].
func (t *Tensor) Outer(o *Tensor) *Tensor { return t.bin(op.Outer, o) }

// Kron returns the Kronecker product of matrices.
func (t *Tensor) Kron(o *Tensor) *Tensor { return t.bin(op.Kron, o) }

// Cross returns the cross products of the vectors of length 3 along axis of the broadcast operands.
func (t *Tensor) Cross(o *Tensor, axis int) *Tensor {
	return Op(op.Cross, []*Tensor{t, o}, op.Int("axis", t.axis("cross", axis, max(t.Rank(), o.Rank()))))[0]
}

// Einsum returns the sum of products that an equation such as "bij,bjk->bik" describes, as in NumPy; "..." means dimensions
// without a letter.
func Einsum(equation string, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		fail("einsum: no tensors, want at least one: %w", op.ErrShape)
	}
	return Op(op.Einsum, ts, op.Str("equation", equation))[0]
}
