package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var contractionRows = []entry{
	{MatMul, Row{Name: "matmul", Section: "contraction", Results: result, Operands: []Operand{in("a", dtype.Numbers), same("b", 1)},
		Doc: "Matrix product of the last two dimensions, the others broadcast: a[...,m,k] · b[...,k,n]. Narrow floats accumulate in " +
			"f32 or wider and round once; integers wrap. Zero times NaN or Inf is NaN, never skipped.",
		Attrs: []AttrSpec{defaults(Flag("transpose_a", false), "a is [...,k,m]"), defaults(Flag("transpose_b", false), "b is [...,n,k]")},
		Constraints: []Constraint{{"C1", "a and b have rank 2 or more"}, {"C2", "the inner dimensions are equal"},
			{"C3", "the batch dimensions broadcast"}},
		Tolerance: perTerm(1), Infer: inferMatMul}},
	{Conv, Row{Name: "conv", Section: "contraction", Results: result, Operands: []Operand{in("x", dtype.Numbers), same("w", 1)},
		Doc: "Cross-correlation of x[N, C, spatial...] with w[O, C/groups, kernel...]. x is first dilated (input_dilation-1 zeros between " +
			"elements), then padded with zeros or cropped by a negative padding; " +
			"these zeros are elements like others, so that with an infinite or NaN weight they give NaN. Narrow floats accumulate in f32 or wider.",
		Attrs: []AttrSpec{required("strides", KindInts, "per spatial dimension"), required("pad_lo", KindInts, "per spatial dimension, may be negative"),
			required("pad_hi", KindInts, "per spatial dimension, may be negative"), required("kernel_dilation", KindInts, "per spatial dimension"),
			required("input_dilation", KindInts, "per spatial dimension"), defaults(Int("groups", 1), "channel groups")},
		Constraints: []Constraint{{"C1", "x and w have the same rank, 3 or more"}, {"C2", "one entry per spatial dimension; strides and dilations at least 1"},
			{"C3", "groups divides C and O"}, {"C4", "w[1] is C/groups"}, {"C5", "kernels are not empty and no padded dimension is negative"}},
		Tolerance: perTerm(1), Infer: inferConv}},
	{WindowReduce, Row{Name: "window_reduce", Section: "contraction", Results: []string{"y", "indices"}, Operands: []Operand{in("x", dtype.Numbers)},
		Doc: "Sum or maximum of a window sliding over the trailing dimensions of x. Padding counts as the identity. With indices, max " +
			"also returns the position (i64) of the maximum in the row-major order of the trailing dimensions: the first of equal ones (-0 equals +0), the first NaN " +
			"if there is one, -1 for a window of padding alone.",
		Attrs: []AttrSpec{{Name: "reduce", Kind: KindString, OneOf: []string{"sum", "max"}, Doc: "reduction of a window"},
			required("window", KindInts, "size per trailing dimension; its length says how many there are"),
			required("strides", KindInts, "per trailing dimension"), required("pad_lo", KindInts, "per trailing dimension, may be negative"),
			required("pad_hi", KindInts, "per trailing dimension, may be negative"), required("dilation", KindInts, "per trailing dimension"),
			defaults(Flag("indices", false), "give indices too; max only")},
		Constraints: []Constraint{{"C1", "window has 1 to rank entries"}, {"C2", "one entry per window dimension; window, strides and dilation at least 1"},
			{"C3", "no padded dimension is negative"}, {"C4", "indices needs max"}},
		Tolerance: perTerm(1), Infer: inferWindow}},
}

func inferMatMul(in []Desc, a Attrs) ([]Desc, error) {
	x, y := in[0].Shape, in[1].Shape
	if len(x) < 2 || len(y) < 2 {
		return nil, violation(ErrShape, "C1", "ranks %d and %d, want 2 or more", len(x), len(y))
	}
	m, k := x[len(x)-2], x[len(x)-1]
	if a.Bool("transpose_a") {
		m, k = k, m
	}
	k2, n := y[len(y)-2], y[len(y)-1]
	if a.Bool("transpose_b") {
		k2, n = n, k2
	}
	if k != k2 {
		return nil, violation(ErrShape, "C2", "inner dimensions are %d and %d", k, k2)
	}
	batch, err := shape.Broadcast(x[:len(x)-2], y[:len(y)-2])
	if err != nil {
		return nil, violation(ErrShape, "C3", "%v", err)
	}
	return one(in[0].DType, append(slices.Clone(batch), m, n)), nil
}

func inferConv(in []Desc, a Attrs) ([]Desc, error) {
	x, w := in[0].Shape, in[1].Shape
	if len(x) < 3 || len(x) != len(w) {
		return nil, violation(ErrShape, "C1", "ranks %d and %d, want the same, 3 or more", len(x), len(w))
	}
	n := len(x) - 2
	for _, l := range []struct {
		name  string
		least int
	}{{"strides", 1}, {"kernel_dilation", 1}, {"input_dilation", 1}, {"pad_lo", -1 << 40}, {"pad_hi", -1 << 40}} {
		if err := perSpatial("C2", a, l.name, n, l.least); err != nil {
			return nil, err
		}
	}
	g := a.Int("groups")
	if g < 1 || x[1]%g != 0 || w[0]%g != 0 {
		return nil, violation(ErrShape, "C3", "%d groups for %d input and %d output channels", g, x[1], w[0])
	}
	if w[1] != x[1]/g {
		return nil, violation(ErrShape, "C4", "w has %d channels, want %d/%d", w[1], x[1], g)
	}
	out := make(shape.Shape, len(x))
	out[0], out[1] = x[0], w[0]
	for i := range n {
		d, spread := x[2+i], a.Ints("input_dilation")[i]
		if d > limit/spread {
			return nil, violation(ErrShape, "C5", "spatial dimension %d: %d elements %d apart", i, d, spread)
		}
		if d > 0 {
			d = (d-1)*spread + 1
		}
		o, ok := windowed(d, w[2+i], a.Ints("strides")[i], a.Ints("kernel_dilation")[i], a.Ints("pad_lo")[i], a.Ints("pad_hi")[i])
		if !ok {
			return nil, violation(ErrShape, "C5", "spatial dimension %d: kernel %d over %d padded by %d and %d", i, w[2+i], d,
				a.Ints("pad_lo")[i], a.Ints("pad_hi")[i])
		}
		out[2+i] = o
	}
	return one(in[0].DType, out), nil
}

func inferWindow(in []Desc, a Attrs) ([]Desc, error) {
	s, window := in[0].Shape, a.Ints("window")
	n := len(window)
	if n < 1 || n > len(s) {
		return nil, violation(ErrShape, "C1", "window %v over rank %d, want 1 to %d entries", window, len(s), len(s))
	}
	for _, l := range []struct {
		name  string
		least int
	}{{"window", 1}, {"strides", 1}, {"dilation", 1}, {"pad_lo", -1 << 40}, {"pad_hi", -1 << 40}} {
		if err := perSpatial("C2", a, l.name, n, l.least); err != nil {
			return nil, err
		}
	}
	out := s.Clone()
	for i := range n {
		d := len(s) - n + i
		o, ok := windowed(s[d], window[i], a.Ints("strides")[i], a.Ints("dilation")[i], a.Ints("pad_lo")[i], a.Ints("pad_hi")[i])
		if !ok {
			return nil, violation(ErrShape, "C3", "dimension %d: %d padded by %d and %d", d, s[d], a.Ints("pad_lo")[i], a.Ints("pad_hi")[i])
		}
		out[d] = o
	}
	outs := one(in[0].DType, out)
	if a.Bool("indices") {
		if a.Str("reduce") != "max" {
			return nil, violation(ErrAttr, "C4", "indices with reduce %q", a.Str("reduce"))
		}
		outs = append(outs, Desc{DType: dtype.I64, Shape: out})
	}
	return outs, nil
}
