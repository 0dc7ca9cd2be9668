package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// quantized are the types that quantize makes; their zero points add exactly in f32 wherever the sum is not saturated.
var quantized = dtype.SetOf(dtype.U8, dtype.I8, dtype.U16, dtype.I16)

// byteInts are the types that dequantize takes: the sums of quantized products too.
var byteInts = dtype.SetOf(dtype.U8, dtype.I8, dtype.U16, dtype.I16, dtype.I32)

var quantRule = []Constraint{{"C1", "axis is in [0, rank), or -1 for one scale for all"},
	{"C2", "scale and zero_point have the same shape: [] for one, [x[axis]] by axis"}}

var quantizationRows = []entry{
	{Quantize, Row{Name: "quantize", Class: Composite, Group: "quantization", Results: result, Tolerance: exact,
		Operands:    []Operand{in("x", dtype.Floats), same("scale", 1), in("zero_point", quantized)},
		Doc:         "round(x/scale)+zero_point, ties to even, saturated to the type of zero_point; NaN is 0 before the zero point.",
		Attrs:       []AttrSpec{defaults(Int("axis", -1), "axis that scale and zero_point run along")},
		Constraints: quantRule, Domain: []Domain{{}, {Lo: 0.01, Hi: 1}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if err := scaleFits(in, a); err != nil {
				return nil, err
			}
			return one(in[2].DType, in[0].Shape), nil
		}}},
	{Dequantize, Row{Name: "dequantize", Class: Composite, Group: "quantization", Results: result, Tolerance: oneULP,
		Operands:    []Operand{in("x", byteInts), in("scale", dtype.Floats), same("zero_point", 1)},
		Doc:         "(x-zero_point)·scale.",
		Attrs:       []AttrSpec{defaults(Int("axis", -1), "axis that scale and zero_point run along")},
		Constraints: quantRule, Domain: []Domain{{}, {Lo: 0.01, Hi: 1}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if err := scaleFits(in, a); err != nil {
				return nil, err
			}
			return one(in[1].DType, in[0].Shape), nil
		}}},
}

func scaleFits(in []Desc, a Attrs) error {
	want := shape.Shape{}
	if axis := a.Int("axis"); axis != -1 {
		if _, err := axisIn("C1", axis, len(in[0].Shape)); err != nil {
			return err
		}
		want = shape.Of(in[0].Shape[axis])
	}
	for i, name := range []string{"scale", "zero_point"} {
		if err := sameShape("C2", name, in[1+i].Shape, want); err != nil {
			return err
		}
	}
	return nil
}

var quantizationRules = map[Code]Decomposition{
	Quantize: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		v := b.Do(Round, b.Do(Div, wide(b, x[0]), along(b, wide(b, x[1]), x[0], a)))
		v = b.Do(Where, b.Do(IsNaN, v), b.Like(v, 0), v)
		v = b.Do(Add, v, along(b, b.Cast(x[2], v.DType), x[0], a))
		return b.Cast(v, x[2].DType) // saturates
	}),
	Dequantize: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		scale := wide(b, x[1])
		diff := b.Do(Sub, b.Cast(x[0], dtype.I32), along(b, b.Cast(x[2], dtype.I32), x[0], a))
		return b.Cast(b.Do(Mul, b.Cast(diff, scale.DType), along(b, scale, x[0], a)), x[1].DType)
	}),
}

// along shapes a scale so that it broadcasts along the attribute axis of x.
func along(b *Builder, s, x Desc, a Attrs) Desc {
	axis := a.Int("axis")
	if axis < 0 || b.Err() != nil {
		return s
	}
	dims := make(shape.Shape, len(x.Shape)-axis)
	for i := range dims {
		dims[i] = 1
	}
	dims[0] = s.Shape[0]
	return b.Reshape(s, dims)
}
