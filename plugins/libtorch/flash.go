package libtorch

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Attention by torch's cpu operator that does not store the scores (flash attention), and its gradient. The gradient needs, for each query,
// the logarithm of the sum of the exponentials of its scores. The forward pass keeps these logarithms with its result.

// flash contains the operands and parameters of an attention node that the operator computes.
type flash struct {
	q, k, v val
	mask    val // the bias that is added to scores; handle 0 for none
	causal  bool
	scale   float64
}

// aside contains what the gradient of attention needs from the forward pass: h, the logarithms of the sums, and the operands from which they
// were computed.
type aside struct {
	h    torch.Handle
	q, k *tensor // compared with the operands of the gradient
	mask bool    // whether scores had a mask
}

// flash returns the operands of the operator for the node, and whether the operator can compute it: key heads must not be shared, keys and
// values must have the same head size, and scores must have no cap. mask contains the mask of the node, if any. Before torch 2.11 the
// operator is not used with a mask, because it may return NaN for a query that sees no key.
func (w *worker) flash(mask []val) (flash, bool) {
	a := w.n.Attrs
	f := flash{q: w.in[0], k: w.in[1], v: w.in[2]}
	s, n := f.q.s[2], f.k.s[2]
	if !w.dev.flash || f.q.s.Size() == 0 || f.k.s.Size() == 0 || f.q.s[1] != f.k.s[1] || f.q.s[3] != f.v.s[3] || a.Float("softcap") != 0 {
		return f, false
	}
	f.scale = scaleOf(w.n, f.q)
	causal, past, window := a.Bool("causal"), a.Int("past"), a.Int("window")
	f.causal = causal && past == 0 && window == 0
	hides := !f.causal && (causal && past < n-1 || window > 0)
	if (hides || len(mask) > 0) && !w.dev.lib.Adopts() {
		return f, false
	}
	for _, m := range mask {
		if m.d != dtype.Bool && !w.settled(m) {
			return f, false
		}
		full := shape.Of(1, 1, 1, 1)
		copy(full[4-len(m.s):], m.s)
		f.mask = w.bias(w.reshape(m, full), f.q.d)
	}
	if hides {
		if seen, ok := w.seenKeys(s, n); ok {
			more := w.bias(w.reshape(seen, shape.Of(1, 1, s, n)), f.q.d)
			if f.mask.h != 0 {
				more = w.add(f.mask, more)
			}
			f.mask = more
		}
	}
	return f, w.err == nil
}

// bias converts a mask to the bias, of type d, that is added to scores.
func (w *worker) bias(m val, d dtype.DType) val {
	if m.d == dtype.Bool {
		return w.where(m, w.real(d, 0), w.real(d, math.Inf(-1)))
	}
	return w.to(m, d)
}

// flashForward returns the result and the logarithms of the sums of the exponentials of scores, [B, H, S].
func (w *worker) flashForward(f flash) (y, sums val) {
	wide := f.q.d
	if short(wide) {
		wide = dtype.F32
	}
	return w.pairOf(opFlash, f.q.d, w.n.Outputs[0].Shape, wide, f.q.s[:3], func(t *torch.Thread) {
		t.Tensor(f.q.h)
		t.Tensor(f.k.h)
		t.Tensor(f.v.h)
		t.Float(0)
		t.Bool(f.causal)
		t.SomeTensor(f.mask.h)
		t.SomeFloat(f.scale)
	})
}

// attentionGradient calls torch's operator for nodes that flash accepts. If y is not a result of attention with the same operands on this
// device, it first computes the sums. It computes 16-bit floats in f32, because torch rounds between the products.
func attentionGradient(w *worker) {
	d := w.n.Outputs
	if q, k := w.in[0].s, w.in[1].s; q[:3].Size() == 0 || k[:3].Size() == 0 {
		for i, o := range d {
			w.out[i] = w.fill(o.DType, o.Shape, op.ScalarInt("", 0).Value)
		}
		return
	}
	kind := w.in[0].d
	in, from := w.in, w.from
	defer func() { w.in, w.from = in, from }()
	if short(kind) {
		w.in = append([]val(nil), in...)
		for i := range 5 {
			w.in[i] = w.wide(w.in[i])
		}
	}
	f, ok := w.flash(w.in[5:])
	if !ok {
		w.in = in
		w.byDefinition()
		return
	}
	y, dy := w.in[3], w.in[4]
	var sums val
	if s := w.from[3].aside; s != nil && s.q == w.from[0] && s.k == w.from[1] && s.mask == (f.mask.h != 0) && !short(kind) {
		sums = val{s.h, kind, f.q.s[:3]}
	} else {
		n := *w.n
		n.Outputs = []op.Desc{{DType: y.d, Shape: y.s}}
		outer := w.n
		w.n = &n
		_, sums = w.flashForward(f)
		w.n = outer
	}
	g := w.several(opFlashBackward, []op.Desc{{DType: f.q.d, Shape: f.q.s}, {DType: f.q.d, Shape: f.k.s}, {DType: f.q.d, Shape: f.v.s}}, func(t *torch.Thread) {
		t.Tensor(dy.h)
		t.Tensor(f.q.h)
		t.Tensor(f.k.h)
		t.Tensor(f.v.h)
		t.Tensor(y.h)
		t.Tensor(sums.h)
		t.Float(0)
		t.Bool(f.causal)
		t.SomeTensor(f.mask.h)
		t.SomeFloat(f.scale)
	})
	for i := range g {
		w.out[i] = w.to(g[i], kind)
	}
}
