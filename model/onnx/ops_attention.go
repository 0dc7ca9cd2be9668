package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	register("Attention", 23, attentionNode)
	registerIn("ai.onnx.preview", "FlexAttention", 1, flexAttentionNode)
	register("RotaryEmbedding", 23, rotaryNode)
}

// heads splits [B, S, heads·D] into [B, heads, S, D]; it returns a tensor of rank 4 unchanged.
func (t *tracer) heads(v value, heads int, what string) value {
	if v.rank() == 4 {
		return v
	}
	if v.rank() != 3 || heads < 1 || v.shape()[2]%heads != 0 {
		t.fail("%s is %v with %d heads, want [B, S, heads·D] or rank 4", what, v.shape(), heads)
	}
	s := v.shape()
	return t.permute(t.reshape(v, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
}

// joined returns a tensor [B, heads, S, D] as [B, S, heads·D].
func (t *tracer) joined(v value) value {
	s := v.shape()
	return t.reshape(t.permute(v, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
}

// grouped multiplies each group of query heads of a [B, Hq, S, X] by the one head of b [B, Hkv, Y, Z] that they share.
func (t *tracer) grouped(a, b value, transpose bool) value {
	s, kv := a.shape(), b.shape()[1]
	if kv < 1 || s[1]%kv != 0 {
		t.fail("%d query heads for %d heads of keys and values", s[1], kv)
	}
	y := calc{t}.matmul(t.reshape(a, s[0], kv, s[1]/kv*s[2], s[3]), b, false, transpose)
	return t.reshape(y, s[0], s[1], s[2], y.shape()[3])
}

// attentionNode converts scaled dot product attention.
func attentionNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	c := calc{t}
	q := t.heads(n.input(0), n.int("q_num_heads", 0), "query")
	k := t.heads(n.input(1), n.int("kv_num_heads", 0), "key")
	v := t.heads(n.input(2), n.int("kv_num_heads", 0), "value")
	past := 0
	if pk, pv := n.input(4), n.input(5); pk.present() != pv.present() {
		t.fail("past_key and past_value go together")
	} else if pk.present() {
		if pk.rank() != 4 || pv.rank() != 4 {
			t.fail("past_key is %v and past_value %v, want rank 4", pk.shape(), pv.shape())
		}
		past = pk.shape()[2]
		k, v = t.concat(2, pk, k), t.concat(2, pv, v)
	}
	// The scale is split: queries and keys are each multiplied by its root, so that narrow types do not overflow.
	scale := math.Sqrt(n.float("scale", 1/math.Sqrt(float64(q.shape()[3]))))
	scores := t.grouped(c.mulN(q, scale), c.mulN(k, scale), true)
	raw := scores
	if limit := n.float("softcap", 0); limit > 0 {
		scores = c.mulN(c.un(op.Tanh, c.divN(scores, limit)), limit)
	}
	capped := scores
	bias, blind := t.attentionBias(n, q, k, past)
	if bias.present() {
		scores = c.add(scores, bias)
	}
	masked := scores
	if as := n.int("softmax_precision", 0); as != 0 {
		scores = t.cast(scores, t.elementType(as))
	}
	p := t.do(op.Softmax, []value{scores}, op.Int("axis", 3))
	if blind.present() { // a query whose keys are all masked attends to nothing
		p = c.where(blind, c.like(p, 0), p)
	}
	p = t.cast(p, q.dtype())
	y := t.grouped(t.cast(p, v.dtype()), v, false)
	if n.input(0).rank() == 3 {
		y = t.joined(y)
	}
	outs := []value{t.cast(y, q.dtype()), k, v, {}}
	switch mode := n.int("qk_matmul_output_mode", 0); mode {
	case 0:
		outs[3] = raw
	case 1:
		outs[3] = capped
	case 2:
		outs[3] = masked
	case 3:
		outs[3] = p
	default:
		t.fail("qk_matmul_output_mode is %d, want 0 to 3", mode)
	}
	return outs
}

// attentionBias returns the term added to the scores [B, Hq, Sq, Sk], absent for zero, and a mask of the queries whose keys are
// all masked, absent when there can be none.
func (t *tracer) attentionBias(n *node, q, k value, past int) (bias, blind value) {
	c, d := calc{t}, q.dtype()
	rows, cols := q.shape()[2], k.shape()[2]
	var open value // bool: the keys that all limits, including a bool mask, allow
	limit := func(v value) {
		if open.present() {
			v = c.and(open, v)
		}
		open = v
	}
	filled := n.input(6)
	if filled.present() {
		filled = t.reshape(t.cast(filled, dtype.I64), -1, 1, 1, 1)
	}
	// Query i has position past+i among the keys or, if the number of filled keys is given and there are no past keys, filled-rows+i.
	t.scratch(8, rows)
	t.scratch(8, cols)
	key := t.constInts(dtype.I64, []int{1, cols}, span(0, cols))
	query := t.constInts(dtype.I64, []int{rows, 1}, span(past, past+rows))
	if filled.present() && past == 0 {
		query = c.add(query, c.addN(filled, float64(-rows)))
	}
	sure := !filled.present() // every query has a key that is not masked
	if n.int("is_causal", 0) != 0 {
		limit(c.atMost(key, query))
	}
	if left := n.int("left_window_size", -1); left >= 0 {
		limit(c.atMost(c.sub(query, key), c.like(key, float64(left))))
		sure = false
	}
	if right := n.int("right_window_size", -1); right >= 0 {
		limit(c.atMost(c.sub(key, query), c.like(key, float64(right))))
		sure = false
	}
	if filled.present() {
		limit(c.less(key, filled))
	}
	zero, shut := t.scalar(d, 0), t.scalar(d, math.Inf(-1))
	mask := n.input(3)
	if mask.present() {
		sure = false
		if mask.rank() == 0 {
			t.fail("the mask is a scalar")
		}
		last := mask.rank() - 1
		if have := mask.shape()[last]; have < cols && (have != 1 || n.opset() >= 24) { // keys beyond the mask are masked
			hi := make([]int, mask.rank())
			hi[last] = cols - have
			fill := op.ScalarFloat("value", math.Inf(-1))
			if mask.dtype() == dtype.Bool {
				fill = op.ScalarInt("value", 0)
			}
			mask = t.pad(mask, make([]int, mask.rank()), hi, fill)
		}
		if mask.dtype() == dtype.Bool {
			limit(mask)
		} else {
			bias = t.cast(mask, d)
		}
	}
	if open.present() {
		wall := c.where(open, zero, shut)
		if bias.present() {
			wall = c.add(bias, wall)
		}
		bias = wall
	}
	if bias.present() && !sure {
		blind = c.equal(t.reduce(op.ReduceMax, bias, true, bias.rank()-1), shut)
	}
	return bias, blind
}

// flexAttentionNode computes attention whose scores and probabilities are modified by graphs of the model.
func flexAttentionNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	q, k, v, c := n.input(0), n.input(1), n.input(2), calc{t}
	if q.rank() != 4 || k.rank() != 4 || v.rank() != 4 {
		t.fail("query %v, key %v and value %v, want rank 4", q.shape(), k.shape(), v.shape())
	}
	precision := dtype.F32
	if q.dtype() == dtype.F64 {
		precision = dtype.F64
	}
	if as := n.int("softmax_precision", 0); as != 0 {
		precision = t.elementType(as)
	}
	given := q.dtype()
	modified := func(attr string, v value) value {
		g := n.graph(attr)
		if g == nil {
			return v
		}
		out := t.run(g, []value{v})
		if len(out) != 1 || !out[0].isTensor() || !out[0].shape().Equal(v.shape()) {
			t.fail("%s must return one tensor of shape %v", attr, v.shape())
		}
		return out[0]
	}
	scores := t.grouped(t.cast(q, precision), t.cast(k, precision), true)
	scores = c.mulN(scores, n.float("scale", 1/math.Sqrt(float64(q.shape()[3]))))
	p := t.do(op.Softmax, []value{modified("score_mod", scores)}, op.Int("axis", 3))
	p = modified("prob_mod", p)
	return []value{t.cast(t.grouped(p, t.cast(v, p.dtype()), false), given)}
}

// rotaryNode rotates pairs of features by angles that depend on the position.
func rotaryNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x, cos, sin, c := n.input(0), n.input(1), n.input(2), calc{t}
	v := t.heads(x, n.int("num_heads", 0), "x")
	size := v.shape()[3]
	rotated := n.int("rotary_embedding_dim", 0)
	if rotated == 0 {
		rotated = size
	}
	if rotated < 0 || rotated > size || rotated%2 != 0 {
		t.fail("rotary_embedding_dim is %d for heads of %d", rotated, size)
	}
	if p := n.input(3); p.present() {
		cos, sin = c.gather(cos, p, 0, 0), c.gather(sin, p, 0, 0)
	}
	if cos.rank() != 3 || cos.shape()[2] != rotated/2 || !sin.shape().Equal(cos.shape()) {
		t.fail("caches are %v and %v, want [B, S, %d]", cos.shape(), sin.shape(), rotated/2)
	}
	cos, sin = t.unsqueeze(cos, 1), t.unsqueeze(sin, 1)
	interleaved := n.int("interleaved", 0) != 0
	half := func(k int) value {
		if !interleaved {
			return t.narrow(v, 3, k*rotated/2, rotated/2)
		}
		s := v.shape().Clone()
		s[3] = rotated / 2
		return t.slice(v, []int{0, 0, 0, k}, s, []int{1, 1, 1, 2})
	}
	a, b := half(0), half(1)
	re, im := c.sub(c.mul(cos, a), c.mul(sin, b)), c.add(c.mul(sin, a), c.mul(cos, b))
	var y value
	if interleaved {
		y = t.concat(4, t.unsqueeze(re, 4), t.unsqueeze(im, 4))
		y = t.reshape(y, append(v.shape()[:3:3], rotated)...)
	} else {
		y = t.concat(3, re, im)
	}
	if rotated < size {
		y = t.concat(3, y, t.narrow(v, 3, rotated, size-rotated))
	}
	if x.rank() == 3 {
		y = t.joined(y)
	}
	return []value{y}
}
