package nn

import (
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/tensor"
)

// AttentionConfig holds the settings of attention layers.
type AttentionConfig struct {
	Dropout  float64 // probability of dropping an attention weight, in training
	NoBias   bool
	Quiet    bool // quiet softmax: exp(x)/(1+sum(exp(x))), so that all weights of a query can be near zero
	Init     Init // initialization of the projections; by default XavierUniform, for MultiHeadAttention.OutProj the default of Linear
	KVHeads  int  // for CrossAttention: number of heads of keys and values, which groups of query heads share; 0 means all
	HeadSize int  // for CrossAttention: features of a head; 0 means size/heads
}

// AttendOptions configures one call of an attention layer. With the zero value every query sees every key.
type AttendOptions struct {
	Mask    *tensor.Tensor // broadcasts to [B, heads, S, T]: bools select the keys that are seen, floats are added to scores; may be nil
	KeyMask *tensor.Tensor // bools [B, T], true for real keys and false for padding; may be nil
	Causal  bool           // later keys are masked
	Cache   *KVCache       // keys and values of earlier positions, which the new ones extend; may be nil
}

// mask combines Mask and KeyMask. m does not record masks that the caller passed.
func (o AttendOptions) mask(m *temps) *tensor.Tensor {
	if o.KeyMask == nil {
		return o.Mask
	}
	if o.KeyMask.Rank() != 2 {
		fail("attention: key mask %v, want [B, T]: %w", o.KeyMask.Desc(), core.ErrShape)
	}
	if o.KeyMask.DType() != dtype.Bool { // floats are added to scores
		fail("attention: key mask %v, want bools, true where a key is seen: %w", o.KeyMask.Desc(), core.ErrDType)
	}
	keys := m.of(o.KeyMask.Reshape(o.KeyMask.Shape()[0], 1, 1, o.KeyMask.Shape()[1]))
	switch {
	case o.Mask == nil:
		return keys
	case o.Mask.DType().IsFloat():
		return m.of(o.Mask.MaskFill(m.of(keys.Not()), math.Inf(-1)))
	}
	return m.of(o.Mask.And(keys))
}

// scores is the part of attention layers between the projections.
type scores struct {
	mode
	Dropout float64
	Quiet   bool
}

// attend returns the weighted values v[B, H, T, E] for the scores of q[B, Hq, S, D] and k[B, H, T, D]; past keys precede the
// first query. The result is [B, S, Hq·E].
func (a *scores) attend(m *temps, q, k, v *tensor.Tensor, o AttendOptions, past int) *tensor.Tensor {
	var y *tensor.Tensor
	mask, drop := o.mask(m), a.Dropout > 0 && !a.inference
	added := mask != nil && mask.DType().IsFloat()
	// Training on a device without the op attention_gradient costs less with explicit weights and the gradient of softmax.
	if a.Quiet || drop || !a.inference && !added && !q.Device().Claims(op.AttentionGradient, q.DType()) {
		y = a.explicit(m, q, k, v, mask, o.Causal, past)
	} else {
		y = m.of(q.Attention(k, v, tensor.AttentionOptions{Mask: mask, Causal: o.Causal, Past: past}))
	}
	s := y.Shape()
	return m.of(m.of(y.Permute(0, 2, 1, 3)).Reshape(s[0], s[2], s[1]*s[3]))
}

// explicit computes attention with explicit weights. As in the op, the result of a query that sees no key is 0.
func (a *scores) explicit(m *temps, q, k, v, mask *tensor.Tensor, causal bool, past int) *tensor.Tensor {
	w, seen := a.weights(m, q, k, mask, causal, past)
	if a.Dropout > 0 && !a.inference {
		w = m.of(w.Dropout(a.Dropout))
	}
	y := m.of(w.MatMul(m.of(shared(v, q))))
	if mask != nil && seen != nil {
		y = m.of(y.MaskFill(m.of(m.of(seen.AnyKeep(-1)).Not()), 0))
	}
	return y
}

// shared repeats the heads of k for the heads of q that share them.
func shared(k, q *tensor.Tensor) *tensor.Tensor {
	if n := q.Shape()[1] / max(1, k.Shape()[1]); n > 1 {
		return k.RepeatInterleave(1, n)
	}
	return k.Reshape(k.Shape()...) // a separate handle
}

// weights returns the attention weights [B, Hq, S, T] of queries [B, Hq, S, D] for keys, and the mask seen of the keys that each query
// sees. In a float mask, an element other than -Inf means that the key is seen. seen is nil if there is neither a mask nor causal masking.
func (a *scores) weights(m *temps, q, k, mask *tensor.Tensor, causal bool, past int) (w, seen *tensor.Tensor) {
	w = m.of(m.of(q.MulScalar(1/math.Sqrt(float64(q.Shape()[3])))).MatMulT(m.of(shared(k, q)), false, true))
	if mask != nil {
		if seen = mask; mask.DType().IsFloat() {
			w, seen = m.of(m.of(w.Add(mask)).ClampMin(lowest(w))), m.of(m.of(mask.EqualScalar(math.Inf(-1))).Not())
		}
	}
	if causal {
		earlier := m.of(q.Device().TrilMask(past, q.Shape()[2], k.Shape()[2]))
		if seen == nil {
			seen = earlier
		} else {
			seen = m.of(seen.And(earlier))
		}
	}
	if seen != nil {
		w = m.of(w.MaskFill(m.of(seen.Not()), lowest(w)))
	}
	if a.Quiet {
		return m.of(w.QuietSoftmax(-1)), seen
	}
	return m.of(w.Softmax(-1)), seen
}

// lowest returns the score of masked keys: finite, so that the weights of a query that sees no key are finite.
func lowest(w *tensor.Tensor) float64 {
	if w.DType() == dtype.F16 {
		return -65504
	}
	return -3e38
}

// heads reshapes x[B, S, n·D] to [B, n, S, D].
func heads(m *temps, x *tensor.Tensor, n int) *tensor.Tensor {
	s := x.Shape()
	return m.of(m.of(x.Reshape(s[0], s[1], n, s[2]/n)).Permute(0, 2, 1, 3))
}

// MultiHeadAttention splits the features into Heads parts, with projections before and after attention. The projections of
// queries, keys and values are one weight [3·size, size], as in PyTorch's layer, so that self-attention needs one product.
type MultiHeadAttention struct {
	scores
	InWeight *Param `nn:"in_proj_weight"`
	InBias   *Param `nn:"in_proj_bias"` // [3·size], or nil
	OutProj  *Linear
	Heads    int
}

// NewMultiHeadAttention returns attention over size features; heads must divide size.
func NewMultiHeadAttention(d *tensor.Device, size, heads int, c AttentionConfig) *MultiHeadAttention {
	positive("attention", size, heads)
	if size%heads != 0 {
		fail("attention: %d heads of %d features, want a number that divides them: %w", heads, size, core.ErrShape)
	}
	l := &MultiHeadAttention{Heads: heads}
	l.Dropout, l.Quiet = fraction("attention", c.Dropout), c.Quiet
	l.InWeight = NewParam(c.Init.or(XavierUniform(1)).New(d, size, 3*size, 3*size, size))
	if !c.NoBias {
		l.InBias = NewParam(Zeros().New(d, 0, 0, 3*size))
	}
	l.OutProj = NewLinear(d, size, size, LinearConfig{NoBias: c.NoBias, Init: c.Init, BiasInit: Zeros()})
	return l
}

// Forward returns the self-attention of x[B, S, size].
func (l *MultiHeadAttention) Forward(x *tensor.Tensor) *tensor.Tensor {
	return l.Attend(x, x, x, AttendOptions{})
}

// Attend returns the attention of queries q[B, S, size] to k and v[B, T, size] as [B, S, size].
func (l *MultiHeadAttention) Attend(q, k, v *tensor.Tensor, o AttendOptions) *tensor.Tensor {
	m := keeping(q, k, v, o.Mask, o.KeyMask)
	qh, kh, vh := l.project(m, q, k, v)
	past := o.Cache.Len()
	if o.Cache != nil {
		kh, vh = o.Cache.extend(m, m.own(kh), m.own(vh))
	}
	return m.done(l.OutProj.Forward(l.attend(m, qh, kh, vh, o, past)))
}

// Weights returns the attention weight of each query for each key, without dropout, as [B, Heads, S, T]. o.Cache is not used.
func (l *MultiHeadAttention) Weights(q, k *tensor.Tensor, o AttendOptions) *tensor.Tensor {
	m := keeping(q, k, o.Mask, o.KeyMask)
	qh, kh, _ := l.project(m, q, k, k)
	w, _ := l.weights(m, qh, kh, o.mask(m), o.Causal, 0)
	return m.done(w)
}

// project returns the heads of queries, keys and values.
func (l *MultiHeadAttention) project(m *temps, q, k, v *tensor.Tensor) (qh, kh, vh *tensor.Tensor) {
	switch {
	case q == k && k == v:
		p := l.parts(m, q, 0, 3)
		return p[0], p[1], p[2]
	case k == v:
		p := l.parts(m, k, 1, 2)
		return l.parts(m, q, 0, 1)[0], p[0], p[1]
	}
	return l.parts(m, q, 0, 1)[0], l.parts(m, k, 1, 1)[0], l.parts(m, v, 2, 1)[0]
}

// parts returns the heads of the projections first to first+n-1 of x, computed as one product.
func (l *MultiHeadAttention) parts(m *temps, x *tensor.Tensor, first, n int) []*tensor.Tensor {
	w, b, size := l.InWeight.Value(), l.InBias.get(), l.InWeight.Shape()[1]
	if x.Rank() != 3 {
		fail("attention: %v, want [B, S, %d]: %w", x.Desc(), size, core.ErrShape)
	}
	if n < 3 {
		w = m.of(w.Narrow(0, first*size, n*size))
		if b != nil {
			b = m.of(b.Narrow(0, first*size, n*size))
		}
	}
	y := m.of(x.LinearT(w, b))
	if n == 1 {
		return []*tensor.Tensor{heads(m, y, l.Heads)}
	}
	s := x.Shape()
	y = m.of(m.of(y.Reshape(s[0], s[1], n, l.Heads, size/l.Heads)).Permute(2, 0, 3, 1, 4))
	out := make([]*tensor.Tensor, n)
	for i := range out {
		out[i] = m.of(y.Select(0, i))
	}
	return out
}

// toMemory returns the attention of x to a memory. With a cache, the keys and values of the memory are computed once and kept there.
func (l *MultiHeadAttention) toMemory(x, memory *tensor.Tensor, o AttendOptions) *tensor.Tensor {
	m := keeping(x, memory, o.Mask, o.KeyMask)
	var k, v *tensor.Tensor
	if o.Cache.Len() > 0 {
		k, v = o.Cache.get(m)
	} else {
		p := l.parts(m, memory, 1, 2)
		if k, v = p[0], p[1]; o.Cache != nil {
			k, v = o.Cache.extend(m, m.own(k), m.own(v))
		}
	}
	return m.done(l.OutProj.Forward(l.attend(m, l.parts(m, x, 0, 1)[0], k, v, o, 0)))
}

// CrossAttention is attention of x[B, S, size] to a context[B, T, contextSize], optionally with grouped keys and values.
type CrossAttention struct {
	scores
	Query, Key, Value, Output *Linear
	Heads, KVHeads            int
}

// NewCrossAttention returns attention of size features to a context of contextSize.
func NewCrossAttention(d *tensor.Device, size, contextSize, heads int, c AttentionConfig) *CrossAttention {
	positive("cross_attention", size, contextSize, heads)
	kv, each := or(c.KVHeads, heads), or(c.HeadSize, size/heads)
	if kv < 1 || heads%kv != 0 || each < 1 {
		fail("cross_attention: %d heads of %d features, %d heads of keys: want the number of heads of keys to divide the number of heads: %w", heads, each, kv, core.ErrShape)
	}
	lc := LinearConfig{NoBias: c.NoBias, Init: c.Init.or(XavierUniform(1)), BiasInit: Zeros()}
	l := &CrossAttention{Heads: heads, KVHeads: kv, Query: NewLinear(d, size, heads*each, lc), Key: NewLinear(d, contextSize, kv*each, lc),
		Value: NewLinear(d, contextSize, kv*each, lc), Output: NewLinear(d, heads*each, size, lc)}
	l.Dropout, l.Quiet = fraction("cross_attention", c.Dropout), c.Quiet
	return l
}

// Attend computes the layer. A cache holds the keys and values of the context, so that later calls do not read the context.
func (l *CrossAttention) Attend(x, context *tensor.Tensor, o AttendOptions) *tensor.Tensor {
	m := keeping(x, context, o.Mask, o.KeyMask)
	var k, v *tensor.Tensor
	if o.Cache.Len() > 0 {
		k, v = o.Cache.get(m)
	} else {
		k = heads(m, m.of(l.Key.Forward(context)), l.KVHeads)
		v = heads(m, m.of(l.Value.Forward(context)), l.KVHeads)
		if o.Cache != nil {
			k, v = o.Cache.extend(m, m.own(k), m.own(v))
		}
	}
	return m.done(l.Output.Forward(l.attend(m, heads(m, m.of(l.Query.Forward(x)), l.Heads), k, v, o, 0)))
}
