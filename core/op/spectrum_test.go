package op_test

import (
	"math"

	"github.com/goburn/burn/core/op"
)

func init() {
	for _, c := range []op.Code{op.QR, op.SVD, op.MatrixNorm, op.PInv, op.Eigh} {
		violations = append(violations, violation{c, "C1", ins(f(3)), nil, op.ErrShape}, violation{c, "C2", ins(f(3, 0)), nil, op.ErrShape})
		samples = append(samples, sample{c, ins(f(1, 1)), nil}, sample{c, ins(f(3, 3)), nil})
		if c != op.Eigh {
			samples = append(samples, sample{c, ins(f(4, 2)), nil}, sample{c, ins(f(2, 3)), nil})
		}
	}
	bad := with(op.Float("rcond", math.NaN()))
	violations = append(violations, []violation{
		{op.Eigh, "C2", ins(f(2, 3)), nil, op.ErrShape}, {op.PInv, "C3", ins(f(2, 3)), bad, op.ErrAttr}, {op.LstSq, "C5", ins(f(2, 3), f(2, 1)), bad, op.ErrAttr},
		{op.LstSq, "C1", ins(f(3), f(3, 1)), nil, op.ErrShape}, {op.LstSq, "C1", ins(f(3, 2), f(3)), nil, op.ErrShape}, {op.LstSq, "C2", ins(f(3, 0), f(3, 1)), nil, op.ErrShape},
		{op.LstSq, "C3", ins(f(3, 2), f(2, 1)), nil, op.ErrShape}, {op.LstSq, "C4", ins(f(2, 3, 2), f(3, 3, 1)), nil, op.ErrShape},
	}...)
	for _, ord := range []string{"nuc", "2", "-2", "1", "-1", "inf", "-inf"} {
		samples = append(samples, sample{op.MatrixNorm, ins(f(2, 3)), with(op.Str("ord", ord))})
	}
	complete := with(op.Flag("complete", true))
	samples = append(samples, []sample{{op.QR, ins(f(4, 2)), complete}, {op.QR, ins(f(2, 3)), complete}, {op.LstSq, ins(f(4, 2), f(4, 1)), nil}, {op.LstSq, ins(f(2, 2, 3), f(2, 2)), nil}}...)
	inferences = append(inferences, []inference{
		{op.QR, ins(f(2, 5, 3)), nil, ins(f(2, 5, 3), f(2, 3, 3))}, {op.QR, ins(f(5, 3)), complete, ins(f(5, 5), f(5, 3))}, {op.QR, ins(f(3, 5)), nil, ins(f(3, 3), f(3, 5))},
		{op.Eigh, ins(f(2, 3, 3)), nil, ins(f(2, 3), f(2, 3, 3))}, {op.SVD, ins(f(2, 3, 5)), nil, ins(f(2, 3, 3), f(2, 3), f(2, 3, 5))}, {op.MatrixNorm, ins(f(2, 3, 5)), nil, ins(f(2))},
		{op.PInv, ins(f(2, 3, 5)), nil, ins(f(2, 5, 3))}, {op.LstSq, ins(f(4, 3), f(2, 4, 7)), nil, ins(f(2, 3, 7))},
	}...)
}
