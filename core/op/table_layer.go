package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var direction = choice("direction", "forward", "order of the steps; bidirectional has both", "forward", "reverse", "bidirectional")

var layerRows = []entry{
	{Linear, Row{Name: "linear", Class: Composite, Section: "layer", Results: result, Tolerance: perTerm(1),
		Operands: []Operand{in("x", dtype.Numbers), same("w", 1), optional(same("bias", 1))},
		Doc:      "x[..., K] · w[K, N] + bias[N].",
		Attrs:    []AttrSpec{defaults(Flag("transpose_w", false), "w is [N, K]")},
		Constraints: []Constraint{{"C1", "x has rank 1 or more and w rank 2"}, {"C2", "the inner dimensions are equal"},
			{"C3", "bias has shape [N]"}},
		Infer: inferLinear}},
	{AvgPool, Row{Name: "avg_pool", Class: Composite, Section: "layer", Results: result, Tolerance: perTerm(2), Operands: []Operand{in("x", dtype.Floats)},
		Doc: "Mean of a window sliding over the trailing dimensions of x. A window's divisor counts its elements inside x, or inside x " +
			"and its padding; elements in the overhang never count.",
		Attrs: []AttrSpec{required("window", KindInts, "size per trailing dimension"), required("strides", KindInts, "per trailing dimension"),
			required("pad_lo", KindInts, "per trailing dimension"), required("pad_hi", KindInts, "per trailing dimension"),
			required("overhang", KindInts, "more padding at the end, so that the last window fits (ceil mode)"),
			required("dilation", KindInts, "per trailing dimension"), defaults(Flag("count_pad", false), "padding counts in the divisor")},
		Constraints: []Constraint{{"C1", "window has 1 to rank entries"}, {"C2", "one entry per window dimension; window, strides and dilation at least 1"},
			{"C3", "no padding or overhang is negative, and no window or padded dimension overflows"}},
		Infer: inferAvgPool}},
	{LSTM, recurrent("lstm", "Long short-term memory over x[T, B, I] from state h0, c0 [D, B, H]: gates i, o, f, c stacked in w[D, 4H, I], "+
		"r[D, 4H, H] and bias[D, 4H]; D is 2 when bidirectional. Returns all h [T, D, B, H] and the last h and c.", 4,
		[]string{"y", "h", "c"}, direction)},
	{GRU, recurrent("gru", "Gated recurrent unit over x[T, B, I] from state h0 [D, B, H]: gates z, r, h stacked in w[D, 3H, I], r[D, 3H, H], "+
		"bias[D, 3H] (of w) and bias_r[D, 3H] (of r). Returns all h [T, D, B, H] and the last h.", 3,
		[]string{"y", "h"}, direction, defaults(Flag("reset_after", false), "apply the reset gate to r·h+bias_r instead of to h"))},
}

func inferLinear(in []Desc, a Attrs) ([]Desc, error) {
	x, w := in[0].Shape, in[1].Shape
	if len(x) < 1 || len(w) != 2 {
		return nil, violation(ErrShape, "C1", "ranks %d and %d, want 1 or more and 2", len(x), len(w))
	}
	k, n := w[0], w[1]
	if a.Bool("transpose_w") {
		k, n = n, k
	}
	if x[len(x)-1] != k {
		return nil, violation(ErrShape, "C2", "inner dimensions are %d and %d", x[len(x)-1], k)
	}
	if len(in) > 2 {
		if err := sameShape("C3", "bias", in[2].Shape, shape.Of(n)); err != nil {
			return nil, err
		}
	}
	return one(in[0].DType, append(slices.Clone(x[:len(x)-1]), n)), nil
}

func inferAvgPool(in []Desc, a Attrs) ([]Desc, error) {
	n := len(a.Ints("window"))
	for _, name := range []string{"pad_lo", "pad_hi", "overhang"} {
		if l := a.Ints(name); len(l) != n {
			return nil, violation(ErrAttr, "C2", "%s has %d entries, want %d", name, len(l), n)
		}
		if err := perSpatial("C3", a, name, n, 0); err != nil {
			return nil, err
		}
	}
	return inferWindow(in, windowAttrs("sum", a, a.Ints("pad_lo"), plus(a.Ints("pad_hi"), a.Ints("overhang"))))
}

func windowAttrs(reduce string, a Attrs, lo, hi []int) Attrs {
	return Attrs{Str("reduce", reduce), Ints("window", a.Ints("window")...), Ints("strides", a.Ints("strides")...),
		Ints("pad_lo", lo...), Ints("pad_hi", hi...), Ints("dilation", a.Ints("dilation")...)}
}

func plus(a, b []int) []int {
	s := make([]int, len(a))
	for i := range a {
		s[i] = a[i] + b[i]
	}
	return s
}

func recurrent(name, doc string, gates int, results []string, attrs ...AttrSpec) Row {
	ops := []Operand{in("x", dtype.Floats), same("w", 1), same("r", 1), same("bias", 1)}
	if gates == 3 {
		ops = append(ops, same("bias_r", 1), same("h0", 1))
	} else {
		ops = append(ops, same("h0", 1), same("c0", 1))
	}
	return Row{Name: name, Class: Composite, Section: "layer", Doc: doc, Operands: ops, Results: results, Attrs: attrs, Tolerance: perTerm(16),
		Domain:      slices.Repeat([]Domain{{Lo: -1, Hi: 1}}, len(ops)),
		Constraints: []Constraint{{"C1", "x has rank 3"}, {"C2", "h0 has shape [D, B, H]"}, {"C3", "the other operands fit x and h0"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			return inferRecurrent(in, a, gates)
		}}
}

func inferRecurrent(in []Desc, a Attrs, gates int) ([]Desc, error) {
	x, state := in[0].Shape, in[4].Shape
	if gates == 3 {
		state = in[5].Shape
	}
	if len(x) != 3 {
		return nil, violation(ErrShape, "C1", "rank %d, want 3", len(x))
	}
	d := 1
	if a.Str("direction") == "bidirectional" {
		d = 2
	}
	if len(state) != 3 || state[0] != d || state[1] != x[1] {
		return nil, violation(ErrShape, "C2", "h0 is %v, want [%d,%d,hidden]", state, d, x[1])
	}
	h := state[2]
	want := []shape.Shape{x, {d, gates * h, x[2]}, {d, gates * h, h}, {d, gates * h}}
	switch gates {
	case 1:
		want = append(want, state)
	case 3:
		want = append(want, shape.Of(d, gates*h), state)
	case 4:
		want = append(want, state, state)
	}
	for i := range want {
		if err := sameShape("C3", "operand "+string(rune('0'+i)), in[i].Shape, want[i]); err != nil {
			return nil, err
		}
	}
	outs := []Desc{{DType: in[0].DType, Shape: shape.Of(x[0], d, x[1], h)}, {DType: in[0].DType, Shape: state}}
	if gates == 4 {
		outs = append(outs, outs[1])
	}
	return outs, nil
}

var layerRules = map[Code]Decomposition{
	Linear: func(b *Builder, in []Desc, a Attrs) []Desc {
		if len(in) > 2 {
			return inWide(product)(b, in, a) // product and bias may have opposite signs
		}
		return product(b, in, a)
	},
	AvgPool: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		lo, hi, over := a.Ints("pad_lo"), a.Ints("pad_hi"), a.Ints("overhang")
		end := plus(hi, over)
		sum := b.Un(WindowReduce, x[0], windowAttrs("sum", a, lo, end)...)
		spatial := x[0].Shape[len(x[0].Shape)-len(lo):]
		inner, clo, chi := spatial, lo, end
		if a.Bool("count_pad") {
			inner, clo, chi = plus(plus(spatial, lo), hi), make([]int, len(lo)), over
		}
		ones := b.Expand(b.Like(x[0], 1), inner)
		return b.Do(Div, sum, b.Un(WindowReduce, ones, windowAttrs("sum", a, clo, chi)...))
	}),
	LSTM: inWide(func(b *Builder, in []Desc, a Attrs) []Desc {
		return unroll(b, in, a, in[4:], func(b *Builder, xw Desc, r, _ Desc, state []Desc) []Desc {
			hidden := state[0].Shape[1]
			g := b.Do(Add, xw, b.With(MatMul, []Desc{state[0], r}, Flag("transpose_b", true)))
			i, o := b.Do(Sigmoid, b.Narrow(g, 1, 0, hidden)), b.Do(Sigmoid, b.Narrow(g, 1, hidden, hidden))
			f, c := b.Do(Sigmoid, b.Narrow(g, 1, 2*hidden, hidden)), b.Do(Tanh, b.Narrow(g, 1, 3*hidden, hidden))
			cell := b.Do(Add, b.Do(Mul, f, state[1]), b.Do(Mul, i, c))
			return []Desc{b.Do(Mul, o, b.Do(Tanh, cell)), cell}
		})
	}),
	GRU: inWide(func(b *Builder, in []Desc, a Attrs) []Desc {
		after := a.Bool("reset_after")
		return unroll(b, in, a, in[5:], func(b *Builder, xw Desc, r, rb Desc, state []Desc) []Desc {
			h, n := state[0], state[0].Shape[1]
			rows := func(x Desc, k int) Desc { return b.Narrow(x, 0, k*n, n) }
			dot := func(x Desc, k int) Desc {
				return b.Do(Add, b.With(MatMul, []Desc{x, rows(r, k)}, Flag("transpose_b", true)), rows(rb, k))
			}
			gate := func(k int) Desc { return b.Do(Sigmoid, b.Do(Add, b.Narrow(xw, 1, k*n, n), dot(h, k))) }
			z, reset := gate(0), gate(1)
			var inner Desc
			if after {
				inner = b.Do(Mul, reset, dot(h, 2))
			} else {
				inner = dot(b.Do(Mul, reset, h), 2)
			}
			next := b.Do(Tanh, b.Do(Add, b.Narrow(xw, 1, 2*n, n), inner))
			// (1-z)·next + z·h
			return []Desc{b.Do(Add, next, b.Do(Mul, z, b.Do(Sub, h, next)))}
		})
	}),
}

// unroll runs a recurrent cell over the steps of in[0] in each direction. step receives the projected input of the step [B, gates·H], r
// [gates·H, H], the bias of r (a zero Desc if there is none) and the state, h first. It returns the next state. unroll returns h of all steps
// [T, D, B, H] and then the last state.
func unroll(b *Builder, in []Desc, a Attrs, initial []Desc, step func(b *Builder, xw, r, rb Desc, state []Desc) []Desc) []Desc {
	x := in[0]
	t, batch := x.Shape[0], x.Shape[1]
	dirs := in[1].Shape[0]
	gates, hidden := in[1].Shape[1], initial[0].Shape[2]
	pick := func(v Desc, d int) Desc { return b.Reshape(b.Narrow(v, 0, d, 1), v.Shape[1:]) }
	var ys []Desc
	lasts := make([][]Desc, len(initial))
	for d := range dirs {
		reverse := a.Str("direction") == "reverse" || d == 1
		w, r, bias, rb := pick(in[1], d), pick(in[2], d), pick(in[3], d), Desc{}
		if len(in) == 6 && len(initial) == 1 {
			rb = pick(in[4], d)
		}
		flat := b.Reshape(x, shape.Of(t*batch, x.Shape[2]))
		xw := b.Reshape(b.All(Linear, []Desc{flat, w, bias}, Flag("transpose_w", true))[0], shape.Of(t, batch, gates))
		state := make([]Desc, len(initial))
		for i := range initial {
			state[i] = pick(initial[i], d)
		}
		hs := make([]Desc, t)
		for k := range t {
			at := k
			if reverse {
				at = t - 1 - k
			}
			state = step(b, b.Reshape(b.Narrow(xw, 0, at, 1), shape.Of(batch, gates)), r, rb, state)
			if b.Err() != nil {
				return make([]Desc, 1+len(initial))
			}
			hs[at] = b.Reshape(state[0], shape.Of(1, 1, batch, hidden))
		}
		if t == 0 {
			ys = append(ys, b.Expand(b.Like(x, 0), shape.Of(0, 1, batch, hidden)))
		} else {
			ys = append(ys, b.Concat(0, hs...))
		}
		for i := range state {
			lasts[i] = append(lasts[i], b.Reshape(state[i], shape.Of(1, batch, hidden)))
		}
	}
	outs := []Desc{b.Concat(1, ys...)}
	for _, l := range lasts {
		outs = append(outs, b.Concat(0, l...))
	}
	return outs
}

// product is x·w, plus the bias if there is one.
var product = elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
	v := x[0]
	vector := len(v.Shape) == 1
	if vector {
		v = b.Reshape(v, shape.Of(1, v.Shape[0]))
	}
	y := b.With(MatMul, []Desc{v, x[1]}, Flag("transpose_b", a.Bool("transpose_w")))
	if len(x) > 2 {
		y = b.Do(Add, y, x[2])
	}
	if vector && b.Err() == nil {
		y = b.Reshape(y, y.Shape[1:])
	}
	return y
})
