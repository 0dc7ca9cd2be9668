package op_test

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	k := func(n int) []op.Attr { return with(op.Int("offset", n)) }
	for _, c := range []op.Code{op.Tril, op.Triu, op.Diagonal, op.Trace} {
		violations = append(violations, violation{c, "C1", ins(f(3)), nil, op.ErrShape})
		for _, n := range []int{0, 1, -2, 7} {
			samples = append(samples, sample{c, ins(f(2, 3, 4)), k(n)})
		}
	}
	upper, transpose, unit := op.Flag("upper", true), op.Flag("transpose", true), op.Flag("unit", true)
	for _, c := range []op.Code{op.Cholesky, op.Det, op.SlogDet, op.Inverse, op.MatrixPower} {
		var a []op.Attr
		if c == op.MatrixPower {
			a = with(op.Int("n", -3))
		}
		violations = append(violations, violation{c, "C1", ins(f(3)), a, op.ErrShape}, violation{c, "C2", ins(f(2, 3)), a, op.ErrShape}, violation{c, "C2", ins(f(0, 0)), a, op.ErrShape})
		samples = append(samples, sample{c, ins(f(3, 3)), a}, sample{c, ins(f(2, 4, 4)), a}, sample{c, ins(f(1, 1)), a})
	}
	for _, c := range []op.Code{op.Solve, op.TriangularSolve} {
		violations = append(violations, violation{c, "C1", ins(f(3), f(3, 1)), nil, op.ErrShape}, violation{c, "C1", ins(f(3, 3), f(3)), nil, op.ErrShape}, violation{c, "C2", ins(f(3, 2), f(3, 1)), nil, op.ErrShape},
			violation{c, "C3", ins(f(3, 3), f(2, 1)), nil, op.ErrShape}, violation{c, "C4", ins(f(2, 3, 3), f(3, 3, 1)), nil, op.ErrShape})
		samples = append(samples, sample{c, ins(f(3, 3), f(3, 2)), nil}, sample{c, ins(f(2, 4, 4), f(4, 1)), nil})
		inferences = append(inferences, inference{c, ins(f(2, 1, 4, 4), f(5, 4, 3)), nil, ins(f(2, 5, 4, 3))})
	}
	violations = append(violations, []violation{
		{op.Diag, "C1", ins(f()), nil, op.ErrShape}, {op.Diag, "C2", ins(f(2)), k(1 << 60), op.ErrAttr},
		{op.Outer, "C1", ins(f(), f(2)), nil, op.ErrShape}, {op.Outer, "C2", ins(f(2, 2), f(3, 2)), nil, op.ErrShape},
		{op.Kron, "C1", ins(f(2), f(2, 2)), nil, op.ErrShape}, {op.Kron, "C2", ins(f(2, 2, 2), f(3, 2, 2)), nil, op.ErrShape}, {op.Kron, "C3", ins(f(0, 1<<40), f(0, 1<<40)), nil, op.ErrShape},
		{op.Cross, "C1", ins(f(3), f(2)), axis(0), op.ErrShape}, {op.Cross, "C2", ins(f(3), f(3)), axis(1), op.ErrShape}, {op.Cross, "C3", ins(f(2), f(2)), axis(0), op.ErrShape},
		{op.LU, "C1", ins(f(3)), nil, op.ErrShape}, {op.LU, "C2", ins(f(3, 0)), nil, op.ErrShape}, {op.MatrixPower, "C3", ins(f(2, 2)), with(op.Int("n", 1<<20)), op.ErrAttr},
	}...)
	samples = append(samples, []sample{
		{op.Diag, ins(f(2, 3)), k(0)}, {op.Diag, ins(f(3)), k(2)}, {op.Diag, ins(f(3)), k(-1)}, {op.Outer, ins(f(2, 3), f(4)), nil}, {op.Kron, ins(f(2, 2, 3), f(3, 1)), nil},
		{op.Cross, ins(f(2, 1, 3), f(4, 3)), axis(2)}, {op.Cross, ins(f(3, 2), f(3, 1)), axis(0)},
		{op.Cholesky, ins(f(2, 3, 3)), with(upper)}, {op.TriangularSolve, ins(f(3, 3), f(3, 2)), with(upper)}, {op.TriangularSolve, ins(f(3, 3), f(3, 2)), with(transpose)}, {op.TriangularSolve, ins(f(3, 3), f(3, 2)), with(upper, transpose, unit)},
		{op.LU, ins(f(4, 4)), nil}, {op.LU, ins(f(2, 5, 3)), nil}, {op.LU, ins(f(3, 5)), nil}, {op.MatrixPower, ins(f(3, 3)), with(op.Int("n", 0))}, {op.MatrixPower, ins(f(3, 3)), with(op.Int("n", 5))},
	}...)
	inferences = append(inferences, []inference{
		{op.LU, ins(f(2, 5, 3)), nil, ins(f(2, 5, 3), i(2, 3), i(2, 5))}, {op.Diag, ins(f(2, 3)), k(-2), ins(f(2, 5, 5))}, {op.Diagonal, ins(f(2, 3, 4)), k(2), ins(f(2, 2))}, {op.Kron, ins(f(2, 1, 2, 3), f(5, 4, 5)), nil, ins(f(2, 5, 8, 15))},
		{op.Trace, ins(op.DescOf(dtype.I8, 2, 3, 4)), nil, ins(op.DescOf(dtype.I8, 2))}, {op.SlogDet, ins(f(2, 3, 3)), nil, ins(f(2), f(2))},
	}...)
}
