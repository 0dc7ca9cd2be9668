package conformance

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func equation(name, e string, in ...shape.Shape) variant {
	return v(name, in, op.Str("equation", e))
}

var einsumPlans = map[op.Code]plan{op.Einsum: {variants: []variant{
	equation("matmul", "ij,jk->ik", dims(3, 5), dims(5, 4)), equation("implicit", "ij,jk", dims(3, 5), dims(5, 2)), equation("transpose", "ba", dims(3, 5)),
	equation("trace", "ii", dims(4, 4)), equation("diagonal", "...ii->...i", dims(2, 3, 3)), equation("triple-diagonal", "iji,i->j", dims(3, 2, 3), dims(3)),
	equation("batch", "bij,bjk->bik", dims(2, 3, 4), dims(2, 4, 5)), equation("ellipsis", "...ij,...jk->...ik", dims(2, 1, 3, 4), dims(5, 4, 2)),
	equation("ellipsis-front", "i...,...i->...", dims(3, 2, 4), dims(2, 1, 3)), equation("ellipsis-summed", "...i,...i->i", dims(2, 3, 4), dims(3, 4)), equation("ellipsis-implicit", "...j,j...", dims(2, 3), dims(3, 2)),
	equation("three", "ij,jk,kl->il", dims(2, 3), dims(3, 4), dims(4, 5)), equation("four", "ea,fb,abcd,gc->efgd", dims(2, 3), dims(3, 2), dims(3, 2, 4, 2), dims(2, 4)),
	equation("outer", "i,j->ij", dims(3), dims(4)), equation("inner", "i,i", dims(7), dims(7)), equation("hadamard", "ij,ij->ji", dims(3, 4), dims(3, 4)),
	equation("sum-one", "ijk->j", dims(2, 3, 4)), equation("sum-each", "ij,kl->", dims(2, 3), dims(3, 2)), equation("scalars", ",->", dims(), dims()), equation("scale", ",ij->ij", dims(), dims(2, 3)),
	equation("of-none", "ij,jk->ik", dims(2, 0), dims(0, 3)), equation("empty", "ij,jk->ik", dims(0, 2), dims(2, 3)), equation("rank8", "abcdefgh->hgfedcba", dims(1, 2, 1, 2, 3, 1, 2, 1)),
	equation("attention", "bqhd,bkhd->bhqk", dims(2, 3, 2, 4), dims(2, 5, 2, 4)), equation("bilinear", "bi,oij,bj->bo", dims(2, 3), dims(4, 3, 5), dims(2, 5)),
	equation("reordered", "abcde,fghij,abcdj->efghi", dims(2, 1, 2, 1, 2), dims(2, 1, 2, 1, 3), dims(2, 1, 2, 1, 3)),
}}}

func init() { register(einsumPlans) }
