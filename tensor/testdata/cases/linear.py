"""Cases of products and of linear algebra."""

import torch

from .base import case, inf, m, n, rnd, x, y
from .elementwise import even, row, slope

# products and linear algebra
ma, mb = rnd(2, 3, 4), rnd(2, 4, 5)
sq = rnd(2, 3, 3)
spd = sq @ sq.mT + 3 * torch.eye(3)
case("MatMul", ma @ mb, ma, mb)
case("MatMul/int", torch.from_numpy(n.numpy() @ m.numpy().T), n, m.T)
case("MatMulT", ma.mT.contiguous().mT @ mb, ma.mT, mb.mT)
case("MatVec", (ma @ mb[:, :, :1]).squeeze(-1), ma, mb[:, :, 0])
case("Dot", row @ slope, row, slope)
case("Outer", torch.einsum("bm,bn->bmn", x, even), x, even)
case("Kron", torch.kron(x, y), x, y)
case("Cross", torch.linalg.cross(x, y), x, y)
case("Einsum", torch.einsum("bij,bjk->bki", ma, mb), ma, mb)
case("Einsum/ellipsis", torch.einsum("...ij->...ji", ma), ma)
case("Cholesky", torch.linalg.cholesky(spd), spd)
case("Cholesky/upper", torch.linalg.cholesky(spd, upper=True), spd)
case("TriangularSolve", torch.linalg.solve_triangular(sq.tril(), ma, upper=False), sq, ma)
case("TriangularSolve/options", torch.linalg.solve_triangular(sq.triu(1).mT + torch.eye(3), ma, upper=False), sq, ma)
p, l, u = torch.linalg.lu(ma)
case("LUDecomposition", [p, l, u], ma)
LU, piv = torch.linalg.lu_factor(ma)
case("LU", [LU, (piv - 1).long(), p.argmax(-2)], ma)
case("Det", torch.linalg.det(sq), sq)
case("SlogDet", list(torch.linalg.slogdet(sq)), sq)
case("Inverse", torch.linalg.inv(sq), sq)
case("PInv", torch.linalg.pinv(ma), ma)
case("Solve", torch.linalg.solve(sq, ma), sq, ma)
case("LstSq", torch.linalg.pinv(mb) @ torch.ones(2, 4, 1), mb, torch.ones(2, 4, 1))
case("MatrixPower", torch.linalg.matrix_power(sq, -3), sq)
q, r = torch.linalg.qr(ma)
s = torch.sign(torch.diagonal(r, dim1=-2, dim2=-1))
case("QR", [q * s[:, None, :], r * s[:, :, None]], ma)
w, v = torch.linalg.eigh(spd)
s = torch.sign(v.gather(-2, v.abs().argmax(-2, keepdim=True)))
case("Eigh", [w, v * s], spd)
u, sv, vt = torch.linalg.svd(ma, full_matrices=False)
s = torch.sign(u.gather(-2, u.abs().argmax(-2, keepdim=True)))
case("SVD", [u * s, sv, vt * s.mT], ma)
for o in ["fro", "nuc", 2, -2, 1, -1, inf, -inf]:
    case("MatrixNorm/%s" % o, torch.linalg.matrix_norm(ma, o), ma)
