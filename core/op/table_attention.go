package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func sequence(c Code, name, doc string, tol Tolerance, operands []Operand, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "sequence", Doc: doc, Operands: operands, Results: result, Attrs: attrs,
		Constraints: constraints, Tolerance: tol, Infer: infer}}
}

// attentionAttrs and attentionConstraints are shared by attention and its gradient.
var (
	attentionAttrs = []AttrSpec{defaults(Float("scale", 0), "factor of the scores; 0 stands for 1/sqrt(D)"), defaults(Flag("causal", false), "later keys are not seen"),
		defaults(Int("past", 0), "number of keys before the first query"), defaults(Int("window", 0), "keys this far away are not seen; 0 for no limit"),
		defaults(Float("softcap", 0), "scores become softcap·tanh(score/softcap); 0 for none")}
	attentionConstraints = []Constraint{{"C1", "q, k and v have rank 4"}, {"C2", "k and v agree with q in B and with each other in B, H and T, and k with q in D"},
		{"C3", "H divides Hq"}, {"C4", "mask broadcasts to [B, Hq, S, T]"}, {"C5", "window is not negative, and past is within 2^48"}}
)

var attentionRows = []entry{
	sequence(Attention, "attention", "Scaled dot-product attention of q [B, Hq, S, D] to k [B, H, T, D] and v [B, H, T, E], giving [B, Hq, S, E]; query head h "+
		"uses key head h div (Hq/H). Score of query i and key j: scale·q·k, then softcap, then a bias added. A key is seen when a bool mask says so, "+
		"with causal when j <= i+past, with a window w when |i+past-j| < w. The result is the mean of the seen values weighted by exp(score); "+
		"a query that sees none, or whose scores are all -Inf, results in 0. Narrow floats compute in f32.", perTerm(8),
		[]Operand{in("q", dtype.Floats), same("k", 1), same("v", 1), optional(in("mask", dtype.Floats|dtype.Bools))},
		attentionAttrs, attentionConstraints, inferAttention),
	{AttentionGradient, Row{Name: "attention_gradient", Class: Composite, Section: "sequence", Results: []string{"dq", "dk", "dv"}, Tolerance: perTerm(8),
		Doc: "Gradients of q, k and v of attention, which gave y, where dy is that of y; y and dy are [B, Hq, S, E]. With p the weights of the values, " +
			"dv is pᵀ·dy, that of the scores s = p·(dy·vᵀ - sum(dy·y)), through softcap and scale to that of the products q·kᵀ, dq is s·k and dk is sᵀ·q, over " +
			"all queries of a key head. A key that is not seen, or a query that sees none, gets 0. Narrow floats compute in f32.",
		Operands: []Operand{in("q", dtype.Floats), same("k", 1), same("v", 1), same("y", 1), same("dy", 1), optional(in("mask", dtype.Floats|dtype.Bools))},
		Attrs:    attentionAttrs, Domain: slices.Repeat([]Domain{{Lo: -1, Hi: 1}}, 5),
		Constraints: append(slices.Clone(attentionConstraints), Constraint{"C6", "y and dy have shape [B, Hq, S, E]"}), Infer: inferAttentionGradient}},
	{CacheWrite, Row{Name: "cache_write", Class: Composite, Section: "sequence", Results: result, Tolerance: exact,
		Operands: []Operand{in("cache", dtype.Any), in("position", dtype.Indices), same("update", 1)},
		Doc: "cache with update written along axis from position on. position is a scalar, or [cache[0]]: one for each entry of the batch. " +
			"A position at which update does not fit is ErrIndex.",
		Attrs: []AttrSpec{required("axis", KindInt, "axis that grows")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "update agrees with cache in every dimension but axis, where it is not longer"},
			{"C3", "position is a scalar, or has shape [cache[0]] and axis is not 0"}},
		Domain: []Domain{{}, {Lo: 0, Hi: 1}}, Infer: inferCacheWrite}},
	sequence(RotaryEmbedding, "rotary_embedding", "The first 2R elements of the last axis of x as R pairs, each turned by an angle given by its cosine and sine "+
		"[..., R]: (a, b) becomes (a·cos-b·sin, a·sin+b·cos). Pair i is elements i and i+R, or with interleaved 2i and 2i+1. The rest stays.", perTerm(2),
		[]Operand{in("x", dtype.Floats), same("cos", 1), same("sin", 1)}, []AttrSpec{defaults(Flag("interleaved", false), "pairs are neighbours")},
		[]Constraint{{"C1", "x and cos have rank 1 or more"}, {"C2", "sin has cos's shape"}, {"C3", "2R is at most x's last dimension, and cos broadcasts to x[..., :R]"}},
		func(in []Desc, _ Attrs) ([]Desc, error) {
			x, c := in[0].Shape, in[1].Shape
			if len(x) < 1 || len(c) < 1 {
				return nil, violation(ErrShape, "C1", "ranks %d and %d, want 1 or more", len(x), len(c))
			}
			if err := sameShape("C2", "sin", in[2].Shape, c); err != nil {
				return nil, err
			}
			r := c[len(c)-1]
			if err := shape.CanExpand(c, append(slices.Clone(x[:len(x)-1]), r)); err != nil || r > x[len(x)-1]/2 {
				return nil, violation(ErrShape, "C3", "cos is %v for x %v", c, x)
			}
			return one(in[0].DType, x), nil
		}),
	{RNN, Row{Name: "rnn", Class: Composite, Section: "layer", Results: []string{"y", "h"}, Tolerance: perTerm(16),
		Doc: "Recurrent layer h = f(w·x + bias + r·h) over x[T, B, I] from state h0 [D, B, H], with w[D, H, I], r[D, H, H], bias[D, H]; D is 2 when " +
			"bidirectional. Returns all h [T, D, B, H] and the last h.",
		Operands: []Operand{in("x", dtype.Floats), same("w", 1), same("r", 1), same("bias", 1), same("h0", 1)},
		Attrs:    []AttrSpec{direction, choice("activation", "tanh", "f", "tanh", "relu")}, Domain: slices.Repeat([]Domain{{Lo: -1, Hi: 1}}, 5),
		Constraints: []Constraint{{"C1", "x has rank 3"}, {"C2", "h0 has shape [D, B, H]"}, {"C3", "the other operands fit x and h0"}},
		Infer:       func(in []Desc, a Attrs) ([]Desc, error) { return inferRecurrent(in, a, 1) }}},
	{Embedding, Row{Name: "embedding", Class: Composite, Section: "layer", Traits: Stores, Results: result, Tolerance: exact,
		Operands:    []Operand{in("table", dtype.Any), in("indices", dtype.Indices)},
		Doc:         "Rows of table [V, E] at indices; zeros for the index padding. An index outside [0, V) is ErrIndex.",
		Attrs:       []AttrSpec{defaults(Int("padding", -1), "index in [0, V) whose result is zeros, -1 for none")},
		Constraints: []Constraint{{"C1", "table has rank 2"}, {"C2", "padding is in [0, V), or -1"}}, Domain: []Domain{{}, {Index: true}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape
			if len(s) != 2 {
				return nil, violation(ErrShape, "C1", "table is %v, want [V,E]", s)
			}
			if p := a.Int("padding"); p < -1 || p >= s[0] {
				return nil, violation(ErrAttr, "C2", "padding is %d, want one in [-1,%d)", p, s[0])
			}
			return one(in[0].DType, append(in[1].Shape.Clone(), s[1])), nil
		}}},
}

func inferAttention(in []Desc, a Attrs) ([]Desc, error) {
	q, k, v := in[0].Shape, in[1].Shape, in[2].Shape
	if len(q) != 4 || len(k) != 4 || len(v) != 4 {
		return nil, violation(ErrShape, "C1", "ranks %d, %d and %d, want 4", len(q), len(k), len(v))
	}
	if k[0] != q[0] || k[3] != q[3] || !v[:3].Equal(k[:3]) {
		return nil, violation(ErrShape, "C2", "q, k and v are %v, %v and %v", q, k, v)
	}
	if k[1] == 0 || q[1]%k[1] != 0 {
		return nil, violation(ErrShape, "C3", "%d key heads for %d query heads", k[1], q[1])
	}
	if len(in) > 3 {
		if err := shape.CanExpand(in[3].Shape, shape.Of(q[0], q[1], q[2], k[2])); err != nil {
			return nil, violation(ErrShape, "C4", "%v", err)
		}
	}
	if w, p := a.Int("window"), a.Int("past"); w < 0 || p > limit || p < -limit {
		return nil, violation(ErrAttr, "C5", "window is %d and past %d", w, p)
	}
	return one(in[0].DType, shape.Of(q[0], q[1], q[2], v[3])), nil
}

func inferAttentionGradient(in []Desc, a Attrs) ([]Desc, error) {
	y, err := inferAttention(append(slices.Clone(in[:3]), in[5:]...), a)
	if err != nil {
		return nil, err
	}
	for k, name := range []string{"y", "dy"} {
		if err := sameShape("C6", name, in[3+k].Shape, y[0].Shape); err != nil {
			return nil, err
		}
	}
	d := make([]Desc, 3)
	for k := range d {
		d[k] = Desc{DType: in[0].DType, Shape: in[k].Shape}
	}
	return d, nil
}

func inferCacheWrite(in []Desc, a Attrs) ([]Desc, error) {
	c, p, u := in[0].Shape, in[1].Shape, in[2].Shape
	axis, err := axisIn("C1", a.Int("axis"), len(c))
	if err != nil {
		return nil, err
	}
	ok := len(u) == len(c)
	for d := 0; ok && d < len(c); d++ {
		ok = u[d] == c[d] || d == axis && u[d] < c[d]
	}
	if !ok {
		return nil, violation(ErrShape, "C2", "update is %v for cache %v along axis %d", u, c, axis)
	}
	if len(p) != 0 && (axis == 0 || !p.Equal(c[:1])) {
		return nil, violation(ErrShape, "C3", "position is %v for cache %v along axis %d", p, c, axis)
	}
	return one(in[0].DType, c), nil
}
