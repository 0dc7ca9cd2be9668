package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var (
	eightBits = dtype.SetOf(dtype.U8, dtype.I8)
	smallStep = Domain{Lo: 0.01, Hi: 1}
)

func quantized(r Row) Row {
	r.Class, r.Section, r.Traits = Composite, "quantization", Quantized
	if r.Results == nil {
		r.Results = result
	}
	return r
}

var integerConvAttrs = []AttrSpec{required("strides", KindInts, "per spatial dimension"), required("pad_lo", KindInts, "per spatial dimension, may be negative"),
	required("pad_hi", KindInts, "per spatial dimension, may be negative"), required("kernel_dilation", KindInts, "per spatial dimension"),
	required("input_dilation", KindInts, "per spatial dimension"), defaults(Int("groups", 1), "channel groups")}

var integerConvRule = []Constraint{{"C1", "x and w have the same rank, 3 or more"}, {"C2", "one entry per spatial dimension; strides and dilations at least 1"},
	{"C3", "groups divides C and O"}, {"C4", "w[1] is C/groups"}, {"C5", "kernels are not empty and no padded dimension is negative"}}

var quantizedRows = []entry{
	{DynamicQuantize, quantized(Row{Name: "dynamic_quantize", Results: []string{"y", "scale", "zero_point"}, Tolerance: oneULP,
		Operands: []Operand{in("x", dtype.Floats)},
		Doc: "x quantized to u8 by one scale, computed from its range: with lo = min(0, x...) and hi = max(0, x...), scale is (hi-lo)/255, 1 where that is 0, " +
			"zero_point is round(-lo/scale), ties to even, in [0, 255], and y is quantize of x. With NaN in x all three results are undefined.",
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			return []Desc{{DType: dtype.U8, Shape: in[0].Shape}, {DType: in[0].DType, Shape: shape.Shape{}}, {DType: dtype.U8, Shape: shape.Shape{}}}, nil
		}})},
	{FakeQuantize, quantized(Row{Name: "fake_quantize", Tolerance: oneULP,
		Operands:    []Operand{in("x", dtype.Floats), same("scale", 1), in("zero_point", byteInts)},
		Doc:         "dequantize(quantize(x)): x rounded to the values of the quantized type.",
		Attrs:       append(quantAttrs[:2:2], bitsAttr),
		Constraints: bitsRule, Domain: []Domain{{}, smallStep},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if err := scaleFits(in, a); err != nil {
				return nil, err
			}
			if err := bitsFit(in[2].DType, a); err != nil {
				return nil, err
			}
			return one(in[0].DType, in[0].Shape), nil
		}})},
	{Requantize, quantized(Row{Name: "requantize", Tolerance: exact,
		Operands: []Operand{in("x", byteInts), in("scale", dtype.Floats), in("zero_point", byteInts)},
		Doc: "round(x·scale)+zero_point, ties to even, saturated to the type of zero_point or to a range of bits; x and the product are rounded as f32 or " +
			"wider. It turns sums of products into quantized results.",
		Attrs: append(quantAttrs[:2:2], bitsAttr), Constraints: bitsRule, Domain: []Domain{{}, smallStep},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if err := scaleFits(in, a); err != nil {
				return nil, err
			}
			if err := bitsFit(in[2].DType, a); err != nil {
				return nil, err
			}
			return one(in[2].DType, in[0].Shape), nil
		}})},
	{MatMulInteger, quantized(Row{Name: "matmul_integer", Tolerance: exact,
		Operands: []Operand{in("a", eightBits), in("b", eightBits), optional(same("a_zero", 1)), optional(same("b_zero", 2))},
		Doc:      "Matrix product of a-a_zero and b-b_zero as in matmul, in i32, which wraps.",
		Constraints: []Constraint{{"C1", "a and b have rank 2 or more"}, {"C2", "the inner dimensions are equal"}, {"C3", "the batch dimensions broadcast"},
			{"C4", "a_zero broadcasts to a and b_zero to b"}},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			var zeros []Desc
			if len(in) > 2 {
				zeros = in[2:]
			}
			return inferIntegerProduct(in[0], in[1], zeros)
		}})},
	{ConvInteger, quantized(Row{Name: "conv_integer", Tolerance: exact,
		Operands: []Operand{in("x", eightBits), in("w", eightBits), optional(same("x_zero", 1)), optional(same("w_zero", 2))},
		Doc:      "Convolution of x-x_zero by w-w_zero as in conv, in i32, which wraps; padding is 0 after the subtraction of x_zero.",
		Attrs:    integerConvAttrs, Constraints: append(integerConvRule[:5:5], Constraint{"C6", "x_zero is [], w_zero [] or [O]"}),
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferConv(in[:2], a)
			if err != nil {
				return nil, err
			}
			for i, z := range in[2:] {
				if len(z.Shape) > 0 && (i == 0 || !z.Shape.Equal(in[1].Shape[:1])) {
					return nil, violation(ErrShape, "C6", "zero points are %v", in[2:])
				}
			}
			return one(dtype.I32, outs[0].Shape), nil
		}})},
	{QLinearMatMul, quantized(Row{Name: "qlinear_matmul", Tolerance: exact,
		Operands: []Operand{in("a", eightBits), in("a_scale", dtype.Floats), same("a_zero", 1), in("b", eightBits), same("b_scale", 2), same("b_zero", 4),
			same("y_scale", 2), in("y_zero", eightBits)},
		Doc: "matmul_integer of a, b and their zero points, requantized with the factor a_scale·b_scale/y_scale and the zero point y_zero. The factor is rounded " +
			"after each step as f32 or wider.",
		Constraints: []Constraint{{"C1", "a and b have rank 2 or more"}, {"C2", "the inner dimensions are equal"}, {"C3", "the batch dimensions broadcast"},
			{"C4", "a_zero broadcasts to a and b_zero to b"}, {"C5", "the scales and y_zero broadcast to the result"}},
		Domain: []Domain{{}, smallStep, {}, {}, smallStep, {}, {Lo: 10, Hi: 100}},
		Infer: func(in []Desc, _ Attrs) ([]Desc, error) {
			outs, err := inferIntegerProduct(in[0], in[3], []Desc{in[2], in[5]})
			if err != nil {
				return nil, err
			}
			for _, k := range []int{1, 4, 6, 7} {
				if err := shape.CanExpand(in[k].Shape, outs[0].Shape); err != nil {
					return nil, violation(ErrShape, "C5", "%v", err)
				}
			}
			return one(in[7].DType, outs[0].Shape), nil
		}})},
	{QLinearConv, quantized(Row{Name: "qlinear_conv", Tolerance: exact,
		Operands: []Operand{in("x", eightBits), in("x_scale", dtype.Floats), same("x_zero", 1), in("w", eightBits), same("w_scale", 2), same("w_zero", 4),
			same("y_scale", 2), in("y_zero", eightBits), optional(in("bias", dtype.SetOf(dtype.I32)))},
		Doc: "conv_integer of x, w and their zero points, plus bias, requantized with the factor x_scale·w_scale/y_scale and the zero point y_zero. The factor is " +
			"rounded after each step as f32 or wider.",
		Attrs: integerConvAttrs, Constraints: append(integerConvRule[:5:5], Constraint{"C6", "w_scale and w_zero are [] or [O], bias is [O], the other scales and zero points []"}),
		Domain: []Domain{{}, smallStep, {}, {}, smallStep, {}, {Lo: 10, Hi: 100}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferConv([]Desc{in[0], in[3]}, a)
			if err != nil {
				return nil, err
			}
			o := in[3].Shape[:1]
			for k := 1; k < len(in); k++ {
				s := in[k].Shape
				if k == 3 || k < 8 && len(s) == 0 || (k == 4 || k == 5 || k == 8) && s.Equal(o) {
					continue
				}
				return nil, violation(ErrShape, "C6", "operand %d is %v", k, s)
			}
			return one(in[7].DType, outs[0].Shape), nil
		}})},
}

func inferIntegerProduct(a, b Desc, zeros []Desc) ([]Desc, error) {
	outs, err := inferMatMul([]Desc{a, b}, nil)
	if err != nil {
		return nil, err
	}
	for i, z := range zeros {
		if err := shape.CanExpand(z.Shape, []Desc{a, b}[i].Shape); err != nil {
			return nil, violation(ErrShape, "C4", "%v", err)
		}
	}
	return one(dtype.I32, outs[0].Shape), nil
}
