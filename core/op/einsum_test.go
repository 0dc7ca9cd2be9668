package op_test

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func eq(s string) []op.Attr { return with(op.Str("equation", s)) }

func init() {
	for _, v := range []struct {
		constraint, equation string
		in                   []op.Desc
		is                   error
	}{
		{"C1", "i1->i", ins(f(2)), op.ErrAttr}, {"C1", "......", ins(f(2)), op.ErrAttr}, {"C1", "i->j->i", ins(f(2)), op.ErrAttr}, {"C2", "i,j", ins(f(2)), op.ErrAttr},
		{"C3", "ij", ins(f(2)), op.ErrShape}, {"C3", "i", ins(f(2, 3)), op.ErrShape}, {"C3", "...ij", ins(f(2)), op.ErrShape},
		{"C4", "ii", ins(f(2, 3)), op.ErrShape}, {"C4", "i,i", ins(f(2), f(1)), op.ErrShape}, {"C4", "...,...", ins(f(2), f(3)), op.ErrShape},
		{"C5", "i->j", ins(f(2)), op.ErrAttr}, {"C5", "i->ii", ins(f(2)), op.ErrAttr},
		{"C6", "abcde,fghij->abcdefghij", ins(f(1, 1, 1, 1, 1), f(1, 1, 1, 1, 1)), op.ErrShape},
	} {
		violations = append(violations, violation{op.Einsum, v.constraint, v.in, eq(v.equation), v.is})
	}
	for _, s := range []struct {
		equation string
		in       []op.Desc
		want     op.Desc
	}{
		{"ij,jk->ik", ins(f(2, 3), f(3, 4)), f(2, 4)}, {"ij,jk", ins(f(2, 3), f(3, 2)), f(2, 2)}, {"ba", ins(f(2, 3)), f(3, 2)}, {"ii->i", ins(f(3, 3)), f(3)}, {"ii", ins(f(3, 3)), f()},
		{"iji->j", ins(f(2, 3, 2)), f(3)}, {"iiji->ij", ins(f(2, 2, 3, 2)), f(2, 3)}, {"...ij,...jk->...ik", ins(f(2, 1, 2, 3), f(3, 3, 2)), f(2, 3, 2, 2)}, {"...i,...i", ins(f(2, 3), f(3)), f(2)},
		{"bij,bjk,bkl->bil", ins(f(2, 2, 3), f(2, 3, 2), f(2, 2, 2)), f(2, 2, 2)}, {"i,j->", ins(f(3), f(4)), f()}, {"i->", ins(f(0)), f()}, {"ij,ij->ij", ins(f(2, 3), f(2, 3)), f(2, 3)},
		{"...->", ins(f(2, 3)), f()}, {"i...->...", ins(f(2, 3)), f(3)}, {" i j , j -> i ", ins(f(2, 3), f(3)), f(2)}, {"", ins(f()), f()}, {"a,ab,abc->abc", ins(f(2), f(2, 3), f(2, 3, 2)), f(2, 3, 2)},
		{"Ba,aC", ins(f(2, 3), f(3, 4)), f(2, 4)},
	} {
		samples = append(samples, sample{op.Einsum, s.in, eq(s.equation)})
		inferences = append(inferences, inference{op.Einsum, s.in, eq(s.equation), ins(s.want)})
	}
	// The first two operands alone would need nine dimensions.
	ones := func(n int) op.Desc { return op.DescOf(dtype.F32, rank9[:n]...) }
	inferences = append(inferences, inference{op.Einsum, ins(ones(5), ones(5), ones(5)), eq("abcde,fghij,abcdj->efghi"), ins(ones(5))})
	samples = append(samples, sample{op.Einsum, ins(f(2, 1, 2, 1, 2), f(2, 1, 1, 1, 3), f(2, 1, 2, 1, 3)), eq("abcde,fghij,abcdj->efghi")})
}
