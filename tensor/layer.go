package tensor

import "github.com/goburn/burn/core/op"

// Linear returns t[..., K] · w[K, N] + bias[N]; bias may be nil.
func (t *Tensor) Linear(w, bias *Tensor) *Tensor {
	in := []*Tensor{t, w}
	if bias != nil {
		in = append(in, bias)
	}
	return Op(op.Linear, in)[0]
}

// LinearT is Linear with w[N, K], as PyTorch stores weights.
func (t *Tensor) LinearT(w, bias *Tensor) *Tensor {
	in := []*Tensor{t, w}
	if bias != nil {
		in = append(in, bias)
	}
	return Op(op.Linear, in, op.Flag("transpose_w", true))[0]
}

// Embedding returns the rows of the table t[V, E] at indices: [..., E].
func (t *Tensor) Embedding(indices *Tensor) *Tensor {
	return Op(op.Embedding, []*Tensor{t, indices})[0]
}

// EmbeddingPadded is Embedding with zeros for the index padding.
func (t *Tensor) EmbeddingPadded(indices *Tensor, padding int) *Tensor {
	return Op(op.Embedding, []*Tensor{t, indices}, op.Int("padding", padding))[0]
}

// AttentionOptions configures Attention. The zero value is plain scaled dot-product attention.
type AttentionOptions struct {
	Mask    *Tensor // broadcasts to [B, Hq, S, T]: bools select the keys that are seen, floats are added to scores; may be nil
	Scale   float64 // factor of the scores; 0 means 1/sqrt(D)
	Causal  bool    // whether keys after a query's position are masked
	Past    int     // number of keys before the first query
	Window  int     // distance from a query from which on keys are masked; 0 for no limit
	Softcap float64 // bound of the scores, which become Softcap·tanh(score/Softcap); 0 for none
}

// Attention returns the scaled dot-product attention of queries t[B, Hq, S, D] to k[B, H, T, D] and v[B, H, T, E] as [B, Hq, S,
// E]. H must divide Hq: query head h uses key head h/(Hq/H). The result of a query that sees no key is 0.
func (t *Tensor) Attention(k, v *Tensor, o AttentionOptions) *Tensor {
	in := []*Tensor{t, k, v}
	if o.Mask != nil {
		in = append(in, o.Mask)
	}
	return Op(op.Attention, in, op.Float("scale", o.Scale), op.Flag("causal", o.Causal), op.Int("past", o.Past),
		op.Int("window", o.Window), op.Float("softcap", o.Softcap))[0]
}

// RotaryEmbedding rotates pairs among the first 2R elements of the last axis of t by angles with the cosines cos and sines sin
// [..., R]. A pair is elements i and i+R, or 2i and 2i+1 if interleaved is set.
func (t *Tensor) RotaryEmbedding(cos, sin *Tensor, interleaved bool) *Tensor {
	return Op(op.RotaryEmbedding, []*Tensor{t, cos, sin}, op.Flag("interleaved", interleaved))[0]
}

// CacheWrite returns t with update written along axis at position: one position (rank 0), or one for each entry of axis 0. If
// update does not fit at a position, reading the result returns core.ErrIndex.
func (t *Tensor) CacheWrite(axis int, position, update *Tensor) *Tensor {
	return Op(op.CacheWrite, []*Tensor{t, position, update}, op.Int("axis", t.axis("cache_write", axis, t.Rank())))[0]
}

// WriteCache is like CacheWrite, but releases t, so that the device may write update in place, however large t is. Using t
// afterwards is a programming error. If an unreleased tensor, such as a result of Narrow, shares t's memory, the device copies t
// first, and that tensor keeps its elements.
func (t *Tensor) WriteCache(axis int, position, update *Tensor) *Tensor {
	attrs := []op.Attr{op.Int("axis", t.axis("cache_write", axis, t.Rank()))}
	return consume(op.CacheWrite, []*Tensor{t, position, update}, attrs)[0]
}

// RecurrentOptions configures RNN, GRU and LSTM.
type RecurrentOptions struct {
	Direction  string // "forward" (also ""), "reverse" or "bidirectional"
	Relu       bool   // for RNN: relu instead of tanh
	ResetAfter bool   // for GRU: the reset gate is applied after the product, as PyTorch does
}

func (o RecurrentOptions) direction() op.Attr { return op.Str("direction", or(o.Direction, "forward")) }

// RNN computes the recurrent layer h = tanh(w·x + bias + r·h) over t[T, B, I] from h0[D, B, H], with w[D, H, I], r[D, H, H] and
// bias[D, H]; D is 2 if bidirectional, else 1. It returns all h [T, D, B, H] and the last h.
func (t *Tensor) RNN(w, r, bias, h0 *Tensor, o RecurrentOptions) (y, h *Tensor) {
	act := "tanh"
	if o.Relu {
		act = "relu"
	}
	outs := Op(op.RNN, []*Tensor{t, w, r, bias, h0}, o.direction(), op.Str("activation", act))
	return outs[0], outs[1]
}

// GRU computes the gated recurrent unit over t[T, B, I] from h0[D, B, H]: gates z, r, h stacked in w[D, 3H, I], r[D, 3H, H],
// bias[D, 3H] of w and biasR[D, 3H] of r. It returns all h [T, D, B, H] and the last h.
func (t *Tensor) GRU(w, r, bias, biasR, h0 *Tensor, o RecurrentOptions) (y, h *Tensor) {
	outs := Op(op.GRU, []*Tensor{t, w, r, bias, biasR, h0}, o.direction(), op.Flag("reset_after", o.ResetAfter))
	return outs[0], outs[1]
}

// LSTM computes long short-term memory over t[T, B, I] from h0 and c0 [D, B, H]: gates i, o, f, c stacked in w[D, 4H, I], r[D,
// 4H, H] and bias[D, 4H]. It returns all h [T, D, B, H] and the last h and c.
func (t *Tensor) LSTM(w, r, bias, h0, c0 *Tensor, o RecurrentOptions) (y, h, c *Tensor) {
	outs := Op(op.LSTM, []*Tensor{t, w, r, bias, h0, c0}, o.direction())
	return outs[0], outs[1], outs[2]
}
