package libtorch

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var sequences = map[op.Code]rule{
	op.Attention:         {run: attention, types: floats, needs: needsAdd},
	op.AttentionGradient: {run: attentionGradient, types: floats, needs: needsFlash},
}

var (
	opAttention     = aten("scaled_dot_product_attention")
	opFlash         = aten("_scaled_dot_product_flash_attention_for_cpu")
	opFlashBackward = aten("_scaled_dot_product_flash_attention_for_cpu_backward")
	opTanh          = aten("tanh")
	opExp           = aten("exp")
)

// scaleOf returns the factor of the scores of an attention node.
func scaleOf(n *op.Node, q val) float64 {
	scale := n.Attrs.Float("scale")
	if q.s[3] == 0 {
		return 1 // all scores are 0
	}
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.s[3]))
	}
	return scale
}

// attention calls torch's operator if the scores are plain products and every query sees a key. Otherwise it computes the scores
// explicitly.
func attention(w *worker) {
	q, k, v, d, a := w.in[0], w.in[1], w.in[2], w.n.Outputs[0], w.n.Attrs
	scale := scaleOf(w.n, q)
	if f, ok := w.flash(w.in[3:]); ok {
		if f.mask.h != 0 && short(q.d) { // torch would round scores and mask
			f.q, f.k, f.v, f.mask = w.wide(q), w.wide(k), w.wide(v), w.wide(f.mask)
		}
		y, sums := w.flashForward(f)
		w.out[0] = w.to(y, d.DType)
		if !short(q.d) {
			w.aside = &aside{h: sums.h, q: w.from[0], k: w.from[1], mask: f.mask.h != 0}
		}
		return
	}
	s, n := q.s[2], k.s[2]
	causal, past, window := a.Bool("causal"), a.Int("past"), a.Int("window")
	top := causal && past == 0 && window == 0
	free := (!causal || past >= n-1) && window == 0
	if a.Float("softcap") != 0 || len(w.in) > 3 || !top && !free || d.Shape.Size() == 0 || n == 0 || q.s[3] == 0 {
		w.scores(scale)
		return
	}
	w.out[0] = w.call(opAttention, q.d, d.Shape, func(t *torch.Thread) {
		t.Tensor(q.h)
		t.Tensor(k.h)
		t.Tensor(v.h)
		t.None()
		t.Float(0)
		t.Bool(top && s > 0 && !free)
		t.SomeFloat(scale)
		t.Bool(q.s[1] != k.s[1])
	})
}

// seenKeys returns a mask [S, T] of the keys that each query sees under the attributes causal and window, and whether any key is hidden.
func (w *worker) seenKeys(s, n int) (val, bool) {
	a := w.n.Attrs
	causal, past, window := a.Bool("causal"), a.Int("past"), a.Int("window")
	if !causal && window == 0 {
		return val{}, false
	}
	mask, hides := make([]byte, s*n), false
	for i := range s {
		for j := range n {
			distance := i + past - j
			if distance < 0 && causal || window > 0 && max(distance, -distance) >= window {
				hides = true
				continue
			}
			mask[i*n+j] = 1
		}
	}
	if !hides {
		return val{}, false
	}
	return w.host(dtype.Bool, shape.Of(s, n), mask), true
}

// scores computes attention by its definition, in f32 or wider.
func (w *worker) scores(scale float64) {
	q, k, v, d, a := w.in[0], w.in[1], w.in[2], w.n.Outputs[0], w.n.Attrs
	if d.Shape.Size() == 0 || k.s[2] == 0 {
		w.out[0] = w.fill(d.DType, d.Shape, op.ScalarInt("", 0).Value)
		return
	}
	b, heads, group := q.s[0], k.s[1], q.s[1]/k.s[1]
	s, n := q.s[2], k.s[2]
	q, k, v = w.wide(q), w.wide(k), w.wide(v)
	t := q.d
	full := shape.Of(b, heads, group, s, n)
	q = w.reshape(q, shape.Of(b, heads, group, s, q.s[3]))
	k = w.reshape(k, shape.Of(b, heads, 1, n, k.s[3]))
	v = w.reshape(v, shape.Of(b, heads, 1, n, v.s[3]))
	x := w.product(q, w.permute(k, swapped(5)), full)
	x = w.bin(opMul, x, w.real(t, scale), t)
	if c := a.Float("softcap"); c != 0 {
		x = w.bin(opMul, w.un(opTanh, w.bin(opDiv, x, w.real(t, c), t)), w.real(t, c), t)
	}
	least := w.real(t, math.Inf(-1))
	if len(w.in) > 3 {
		m := w.in[3]
		m = w.reshape(w.expand(m, shape.Of(b, heads*group, s, n)), full)
		if m.d == dtype.Bool {
			x = w.where(m, x, least)
		} else {
			x = w.add(x, w.to(m, t))
		}
	}
	if m, ok := w.seenKeys(s, n); ok {
		x = w.where(m, x, least)
	}
	// Weights are exp(x - max) over their sum; where all scores are -Inf they are 0.
	top := w.outerOfAny(opAmax, x, []int{4}, shape.Of(b, heads, group, s, 1))
	none := w.bin(opEqual, top, least, dtype.Bool)
	e := w.un(opExp, w.sub(x, w.where(none, w.real(t, 0), top)))
	sum := w.where(none, w.real(t, 1), w.sums(e, []int{4}))
	y := w.product(w.bin(opDiv, e, sum, t), v, shape.Of(b, heads, group, s, v.s[4]))
	w.out[0] = w.to(w.reshape(y, d.Shape), d.DType)
}
