package libtorch

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Attention by torch's operator for a cpu that keeps no scores, and its gradient, which needs the logarithms of the sums of their
// exponentials: the forward pass leaves them with its result.

// flash is a node that the operator computes.
type flash struct {
	q, k, v val
	mask    val // what is added to scores; handle 0 for none
	causal  bool
	scale   float64
}

// aside holds results of the forward pass of attention that its gradient needs: the logarithms of sums, and the operands that they were
// computed from.
type aside struct {
	h    torch.Handle
	q, k *tensor // to compare with
	mask bool
}

// flash returns the node as one of the operator, and whether it is: heads are not shared and as wide for keys as for values, scores have no
// cap. mask is the mask of the node, if it has one. Before torch 2.11 masks are not left to the operator, as a query that sees no key may be
// NaN.
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

// bias returns a mask as what is added to scores of type d.
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

// attentionGradient is torch's for nodes of flash. Where y is not the result of attention to the same operands on this device, the sums are
// computed first. Narrow floats are computed in f32: torch rounds between the products.
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
