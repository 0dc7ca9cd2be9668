package op_test

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	seed := func(a ...op.Attr) []op.Attr { return append(a, op.Int("seed", -3)) }
	f32 := op.Type("dtype", dtype.F32)
	for _, c := range []op.Code{op.RandomUniform, op.RandomNormal} {
		violations = append(violations, violation{c, "C1", nil, seed(op.Ints("shape", -1)), op.ErrShape},
			violation{c, "C2", nil, seed(op.Ints("shape", 2), op.Type("dtype", dtype.I32)), op.ErrDType})
	}
	violations = append(violations, []violation{
		{op.RandomUniform, "C3", nil, seed(op.Ints("shape", 2), f32, op.Float("low", 2)), op.ErrAttr}, {op.RandomUniform, "C3", nil, seed(op.Ints("shape", 2), f32, op.Float("high", math.Inf(1))), op.ErrAttr},
		{op.RandomNormal, "C3", nil, seed(op.Ints("shape", 2), f32, op.Float("std", -1)), op.ErrAttr}, {op.RandomNormal, "C3", nil, seed(op.Ints("shape", 2), f32, op.Float("mean", math.NaN())), op.ErrAttr},
		{op.Multinomial, "C1", ins(f()), seed(op.Int("count", 1)), op.ErrShape}, {op.Multinomial, "C1", ins(f(2, 0)), seed(op.Int("count", 1)), op.ErrShape},
		{op.Multinomial, "C2", ins(f(2)), seed(op.Int("count", -1)), op.ErrAttr},
		{op.RandomBitsAt, "C1", ins(op.DescOf(dtype.I64, 2)), seed(op.Ints("shape", -1)), op.ErrShape}, {op.RandomBitsAt, "C2", ins(op.DescOf(dtype.I64, 2)), seed(op.Ints("shape", 2), f32), op.ErrDType},
		{op.RandomBitsAt, "C3", ins(op.DescOf(dtype.I64, 3)), seed(op.Ints("shape", 2)), op.ErrShape}, {op.RandomBitsAt, "C3", ins(op.DescOf(dtype.I64, 2, 1)), seed(op.Ints("shape", 2)), op.ErrShape},
	}...)
	samples = append(samples, []sample{
		{op.RandomUniform, nil, seed(op.Ints("shape", 3, 5), op.Float("low", -1), op.Float("high", 1), op.Int("counter", 7))}, {op.RandomUniform, nil, seed(op.Ints("shape"))},
		{op.RandomNormal, nil, seed(op.Ints("shape", 3, 5), op.Float("mean", 1), op.Float("std", 0.5))}, {op.RandomNormal, nil, seed(op.Ints("shape", 0, 2))},
		{op.Bernoulli, ins(f(4, 5)), seed(op.Type("dtype", dtype.I64))}, {op.Bernoulli, ins(f()), seed(op.Type("dtype", dtype.Bool))},
		{op.RandomBitsAt, ins(op.DescOf(dtype.I64, 2)), seed(op.Ints("shape", 3, 5), op.Int("counter", 7))}, {op.RandomBitsAt, ins(op.DescOf(dtype.I64, 2)), seed(op.Ints("shape"), op.Type("dtype", dtype.U32))},
		{op.Multinomial, ins(f(2, 5)), seed(op.Int("count", 7))}, {op.Multinomial, ins(f(1)), seed(op.Int("count", 0))},
	}...)
	inferences = append(inferences, []inference{
		{op.RandomNormal, nil, seed(op.Ints("shape", 2, 3), op.Type("dtype", dtype.F16)), ins(op.DescOf(dtype.F16, 2, 3))},
		{op.RandomBitsAt, ins(op.DescOf(dtype.I64, 2)), seed(op.Ints("shape", 0, 3), op.Type("dtype", dtype.U32)), ins(op.DescOf(dtype.U32, 0, 3))},
		{op.Multinomial, ins(f(2, 3, 4)), seed(op.Int("count", 9)), ins(i(2, 3, 9))}, {op.Bernoulli, ins(f(2)), seed(op.Type("dtype", dtype.U8)), ins(op.DescOf(dtype.U8, 2))},
	}...)
}
