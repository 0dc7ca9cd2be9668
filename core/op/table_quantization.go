package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var byteInts = dtype.SetOf(dtype.U8, dtype.I8, dtype.U16, dtype.I16, dtype.I32)

var quantRule = []Constraint{{"C1", "axis is in [0, rank), or -1 for one scale for all"},
	{"C2", "scale and zero_point have the same shape: [] for one, [x[axis]] by axis, and by blocks that of x with ceil(x[axis]/block) along axis"},
	{"C3", "block is 0 for none, or with an axis at least 1"}}

var bitsRule = append(quantRule[:3:3], Constraint{"C4", "bits is 0 for all of the type of zero_point, or from 2 to as many as it has"})

var quantAttrs = []AttrSpec{defaults(Int("axis", -1), "axis that scale and zero_point run along"),
	defaults(Int("block", 0), "elements along axis that share a scale; 0: scale and zero_point run along axis alone")}

var bitsAttr = defaults(Int("bits", 0), "narrower range that results saturate to, of the signedness of zero_point")

var quantizationRows = []entry{
	{Quantize, Row{Name: "quantize", Version: 2, Class: Composite, Section: "quantization", Traits: Quantized, Results: result, Tolerance: exact,
		Operands:    []Operand{in("x", dtype.Floats), same("scale", 1), in("zero_point", byteInts)},
		Doc:         "round(x/scale)+zero_point, ties to even, saturated to the type of zero_point or to a range of bits; NaN is 0 before the zero point.",
		Attrs:       append(quantAttrs[:2:2], bitsAttr),
		Constraints: bitsRule, Domain: []Domain{{}, {Lo: 0.01, Hi: 1}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if err := scaleFits(in, a); err != nil {
				return nil, err
			}
			if err := bitsFit(in[2].DType, a); err != nil {
				return nil, err
			}
			return one(in[2].DType, in[0].Shape), nil
		}}},
	{Dequantize, Row{Name: "dequantize", Version: 2, Class: Composite, Section: "quantization", Traits: Quantized, Results: result, Tolerance: oneULP,
		Operands:    []Operand{in("x", byteInts), in("scale", dtype.Floats), same("zero_point", 1)},
		Doc:         "(x-zero_point)·scale.",
		Attrs:       quantAttrs,
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
	axis, block := a.Int("axis"), a.Int("block")
	if axis != -1 {
		if _, err := axisIn("C1", axis, len(in[0].Shape)); err != nil {
			return err
		}
		want = shape.Of(in[0].Shape[axis])
	}
	if block < 0 || block > 0 && axis < 0 {
		return violation(ErrAttr, "C3", "block %d along axis %d, want 0, or with an axis 1 or more", block, axis)
	}
	if block > 0 {
		want = instead(in[0].Shape, axis, blocksOf(in[0].Shape[axis], block))
	}
	for i, name := range []string{"scale", "zero_point"} {
		if err := sameShape("C2", name, in[1+i].Shape, want); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf returns the number of blocks of n elements; the last block may be shorter.
func blocksOf(n, block int) int {
	if n == 0 {
		return 0
	}
	return (n-1)/block + 1
}

func bitsFit(d dtype.DType, a Attrs) error {
	if bits := a.Int("bits"); bits != 0 && (bits < 2 || bits > 8*d.Size()) {
		return violation(ErrAttr, "C4", "bits is %d, want 0 or 2 to %d", bits, 8*d.Size())
	}
	return nil
}

var quantizationRules = map[Code]Decomposition{
	Quantize: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		v := b.Do(Round, b.Do(Div, wide(b, x[0]), along(b, wide(b, x[1]), x[0], a)))
		v = b.Do(Where, b.Do(IsNaN, v), b.Like(v, 0), v)
		return saturated(b, v, along(b, x[2], x[0], a), a.Int("bits"))
	}),
	Dequantize: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		scale := wide(b, x[1])
		diff := b.Do(Sub, b.Cast(x[0], dtype.I32), along(b, b.Cast(x[2], dtype.I32), x[0], a))
		return b.Cast(b.Do(Mul, b.Cast(diff, scale.DType), along(b, scale, x[0], a)), x[1].DType)
	}),
}

// saturated returns v plus zero, which broadcasts, saturated to the type of zero or, with bits above 0, to that many bits. v contains integers.
func saturated(b *Builder, v, zero Desc, bits int) Desc {
	v = b.Do(Add, v, b.Cast(zero, v.DType))
	if bits > 0 && b.Err() == nil {
		lo, hi := 0.0, float64(int64(1)<<bits-1)
		if zero.DType.Class() == dtype.Signed {
			lo, hi = -float64(int64(1)<<(bits-1)), float64(int64(1)<<(bits-1)-1)
		}
		v = b.Un(Clamp, v, ScalarFloat("min", lo), ScalarFloat("max", hi))
	}
	return b.Cast(v, zero.DType) // saturates
}

// along returns s, scales or zero points, in a shape that broadcasts to x: along the attribute axis, or with the entry of each block repeated
// over the elements of the block.
func along(b *Builder, s, x Desc, a Attrs) Desc {
	axis, block := a.Int("axis"), a.Int("block")
	if axis < 0 || b.Err() != nil {
		return s
	}
	if block == 0 {
		dims := make(shape.Shape, len(x.Shape)-axis)
		for i := range dims {
			dims[i] = 1
		}
		dims[0] = s.Shape[0]
		return b.Reshape(s, dims)
	}
	if block == 1 {
		return s
	}
	if s.Shape[axis] == 1 {
		return b.Expand(s, x.Shape)
	}
	c := sums{b}
	at := c.divN(c.count(x.Shape[axis], 0, 1), float64(block))
	return b.With(Gather, []Desc{s, at}, Int("axis", axis))
}
