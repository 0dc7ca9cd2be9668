package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

func init() { register("LinearAttention", 27, linearAttentionNode) }

// linearAttentionNode updates a state [B, Hkv, dk, dv] step by step: it multiplies the state by exp(decay), adds the outer product
// of key and value, and multiplies the query by the state. With the delta rule, it replaces the value in the outer product by
// beta·(value - prediction), where the prediction is the product of the key and the state.
func linearAttentionNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	c, given := calc{t}, n.input(0).dtype()
	hq, hkv, rule := n.int("q_num_heads", 0), n.int("kv_num_heads", 0), n.str("update_rule", "gated_delta")
	gated, delta := rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"
	if !gated && !delta && rule != "linear" {
		t.fail("update_rule is %q", rule)
	}
	if gated != n.input(4).present() || delta != n.input(5).present() {
		t.fail("update_rule %s with decay %t and beta %t", rule, n.input(4).present(), n.input(5).present())
	}
	wide := func(i, heads int) value { return t.heads(t.widest(n.input(i)), heads, "input") }
	q, k, v := wide(0, hq), wide(1, hkv), wide(2, hkv)
	if hkv < 1 || hq%hkv != 0 {
		t.fail("%d query heads for %d heads of keys and values", hq, hkv)
	}
	batch, steps, dk, dv := q.shape()[0], q.shape()[2], q.shape()[3], v.shape()[3]
	var decay, beta value
	if gated {
		decay = c.exp(wide(4, hkv)) // [B, Hkv, T, 1 or dk]
		decay = t.permute(decay, 0, 1, 3, 2)
	}
	if delta {
		if beta = t.widest(n.input(5)); beta.rank() != 3 {
			t.fail("beta is %v, want rank 3", beta.shape())
		}
		beta = t.heads(beta, beta.shape()[2], "beta") // [B, Hkv or 1, T, 1]
	}
	scale := n.float("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	state, stateType := n.input(3), given
	if state.present() {
		stateType = state.dtype()
		state = t.widest(state)
	} else {
		state = c.zeros(q.dtype(), []int{batch, hkv, dk, dv})
	}
	t.scratch(nodeBytes, steps)
	outs := make([]value, steps)
	for i := range steps {
		at := func(v value) value { return t.narrow(v, 2, i, 1) }
		key, val := at(k), at(v)
		if gated {
			state = c.mul(state, t.narrow(decay, 3, i, 1))
		}
		if delta {
			val = c.mul(at(beta), c.sub(val, c.matmul(key, state, false, false)))
		}
		state = c.add(state, c.matmul(key, val, true, false))
		outs[i] = t.grouped(at(q), state, false)
	}
	y := c.zeros(q.dtype(), []int{batch, hq, 0, dv})
	if steps > 0 {
		y = c.mulN(t.concat(2, outs...), scale)
	}
	return []value{t.cast(t.joined(y), given), t.cast(state, stateType)}
}

// widest converts v to f32. It returns f64, and a value that is not a tensor, unchanged.
func (t *tracer) widest(v value) value {
	if !v.isTensor() || v.dtype() == dtype.F64 {
		return v
	}
	return t.cast(v, dtype.F32)
}
