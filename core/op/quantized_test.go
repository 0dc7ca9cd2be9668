package op_test

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func u8(dims ...int) op.Desc { return op.DescOf(dtype.U8, dims...) }
func i8(dims ...int) op.Desc { return op.DescOf(dtype.I8, dims...) }

func init() {
	blocks := with(op.Int("axis", 1), op.Int("block", 2))
	for _, c := range []op.Code{op.Quantize, op.Dequantize, op.FakeQuantize, op.Requantize} {
		x, scale, zero := f(2, 3), f, u8
		switch c {
		case op.Dequantize:
			x = u8(2, 3)
		case op.Requantize:
			x = op.DescOf(dtype.I32, 2, 3)
		}
		add := func(constraint string, s, z op.Desc, is error, attrs ...op.Attr) {
			violations = append(violations, violation{c, constraint, ins(x, s, z), attrs, is})
		}
		add("C1", scale(3), zero(3), op.ErrShape, op.Int("axis", 2))
		add("C2", scale(3), zero(), op.ErrShape, op.Int("axis", 1))
		add("C2", scale(2, 3), zero(2, 3), op.ErrShape, blocks...)
		add("C3", scale(3), zero(3), op.ErrAttr, op.Int("axis", 1), op.Int("block", -1))
		add("C3", scale(), zero(), op.ErrAttr, op.Int("block", 2))
		if c != op.Dequantize {
			add("C4", scale(), zero(), op.ErrAttr, op.Int("bits", 1))
			add("C4", scale(), zero(), op.ErrAttr, op.Int("bits", 9))
		}
		samples = append(samples, sample{c, ins(x, scale(2, 2), zero(2, 2)), blocks}, sample{c, ins(x, scale(3), zero(3)), axis(1)}, sample{c, ins(x, scale(), zero()), nil})
		if c != op.Dequantize {
			samples = append(samples, sample{c, ins(x, scale(2, 2), zero(2, 2)), append(with(op.Int("bits", 4)), blocks...)})
		}
	}
	violations = append(violations, []violation{
		{op.MatMulInteger, "C1", ins(u8(3), u8(3, 2)), nil, op.ErrShape}, {op.MatMulInteger, "C2", ins(u8(2, 3), u8(2, 3)), nil, op.ErrShape}, {op.MatMulInteger, "C3", ins(u8(2, 2, 3), u8(3, 3, 2)), nil, op.ErrShape},
		{op.MatMulInteger, "C4", ins(u8(2, 3), u8(3, 2), u8(4)), nil, op.ErrShape}, {op.MatMulInteger, "C4", ins(u8(2, 3), i8(3, 2), u8(), i8(3)), nil, op.ErrShape},
		{op.ConvInteger, "C1", ins(u8(1, 2), u8(1, 2)), conv(0, 1, 0), op.ErrShape}, {op.ConvInteger, "C2", ins(u8(1, 2, 5), u8(1, 2, 3)), conv(2, 1, 0), op.ErrAttr}, {op.ConvInteger, "C3", ins(u8(1, 3, 5), u8(2, 3, 3)), conv(1, 2, 0), op.ErrShape},
		{op.ConvInteger, "C4", ins(u8(1, 4, 5), u8(2, 4, 3)), conv(1, 2, 0), op.ErrShape}, {op.ConvInteger, "C5", ins(u8(1, 2, 3), u8(1, 2, 0)), conv(1, 1, 0), op.ErrShape},
		{op.ConvInteger, "C6", ins(u8(1, 2, 5), u8(4, 2, 3), u8(4)), conv(1, 1, 0), op.ErrShape}, {op.ConvInteger, "C6", ins(u8(1, 2, 5), u8(4, 2, 3), u8(), u8(2)), conv(1, 1, 0), op.ErrShape},
	}...)
	product := func(a, b op.Desc, as, bz, ys op.Desc) []op.Desc { return ins(a, as, u8(), b, f(), bz, ys, u8()) }
	convolved := func(x, w, ws, yz op.Desc, more ...op.Desc) []op.Desc {
		return append(ins(x, f(), u8(), w, ws, u8(), f(), yz), more...)
	}
	x, w := u8(1, 2, 5), u8(4, 2, 3)
	violations = append(violations, []violation{
		{op.QLinearMatMul, "C1", product(u8(3), u8(3, 2), f(), u8(), f()), nil, op.ErrShape}, {op.QLinearMatMul, "C2", product(u8(2, 3), u8(2, 3), f(), u8(), f()), nil, op.ErrShape},
		{op.QLinearMatMul, "C3", product(u8(2, 2, 3), u8(3, 3, 2), f(), u8(), f()), nil, op.ErrShape}, {op.QLinearMatMul, "C4", product(u8(2, 3), u8(3, 2), f(), u8(3), f()), nil, op.ErrShape},
		{op.QLinearMatMul, "C5", product(u8(2, 3), u8(3, 2), f(3, 1), u8(), f()), nil, op.ErrShape}, {op.QLinearMatMul, "C5", product(u8(2, 3), u8(3, 2), f(), u8(), f(1, 2, 2)), nil, op.ErrShape},
		{op.QLinearConv, "C1", convolved(u8(1, 2), u8(1, 2), f(), u8()), conv(0, 1, 0), op.ErrShape}, {op.QLinearConv, "C2", convolved(x, w, f(), u8()), conv(2, 1, 0), op.ErrAttr}, {op.QLinearConv, "C3", convolved(u8(1, 3, 5), u8(2, 3, 3), f(), u8()), conv(1, 2, 0), op.ErrShape},
		{op.QLinearConv, "C4", convolved(u8(1, 4, 5), u8(2, 4, 3), f(), u8()), conv(1, 2, 0), op.ErrShape}, {op.QLinearConv, "C5", convolved(x, u8(4, 2, 0), f(), u8()), conv(1, 1, 0), op.ErrShape},
		{op.QLinearConv, "C6", convolved(x, w, f(2), u8()), conv(1, 1, 0), op.ErrShape}, {op.QLinearConv, "C6", convolved(x, w, f(), u8(4)), conv(1, 1, 0), op.ErrShape},
		{op.QLinearConv, "C6", convolved(x, w, f(), u8(), op.DescOf(dtype.I32)), conv(1, 1, 0), op.ErrShape},
	}...)
	samples = append(samples, []sample{
		{op.DynamicQuantize, ins(f(2, 3)), nil}, {op.DynamicQuantize, ins(f(0)), nil}, {op.MatMulInteger, ins(u8(2, 3), i8(3, 2)), nil}, {op.MatMulInteger, ins(u8(2, 3), i8(3, 2), u8(2, 1), i8(2)), nil},
		{op.ConvInteger, ins(u8(1, 2, 5), i8(2, 2, 3)), conv(1, 1, 1)}, {op.ConvInteger, ins(u8(1, 2, 5), i8(2, 2, 3), u8(), i8(2)), conv(1, 1, 1)},
		{op.QLinearMatMul, ins(u8(2, 3), f(2, 1), u8(2, 1), i8(3, 2), f(2), i8(2), f(), u8()), nil}, {op.QLinearConv, convolved(x, w, f(4), u8(), op.DescOf(dtype.I32, 4)), conv(1, 1, 1)},
	}...)
	inferences = append(inferences, []inference{
		{op.Quantize, ins(f(2, 5), f(2, 3), i8(2, 3)), with(op.Int("axis", 1), op.Int("block", 2), op.Int("bits", 4)), ins(i8(2, 5))}, {op.DynamicQuantize, ins(op.DescOf(dtype.F64, 2)), nil, ins(u8(2), op.DescOf(dtype.F64), u8())},
		{op.MatMulInteger, ins(u8(5, 2, 3), i8(3, 4)), nil, ins(op.DescOf(dtype.I32, 5, 2, 4))}, {op.ConvInteger, ins(u8(1, 2, 5), i8(4, 2, 3)), conv(1, 1, 0), ins(op.DescOf(dtype.I32, 1, 4, 3))},
		{op.QLinearMatMul, ins(u8(2, 3), f(), u8(), i8(3, 2), f(), i8(), f(), i8()), nil, ins(i8(2, 2))}, {op.QLinearConv, ins(u8(1, 2, 5), f(), u8(), u8(4, 2, 3), f(), u8(), f(), i8()), conv(1, 1, 0), ins(i8(1, 4, 3))},
		{op.Requantize, ins(op.DescOf(dtype.I32, 2), f(), i8()), nil, ins(i8(2))}, {op.FakeQuantize, ins(f(2), f(), i8()), nil, ins(f(2))},
	}...)
}
