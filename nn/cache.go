package nn

import "github.com/goburn/burn/tensor"

// KVCache is the keys and values that an attention layer has seen, so that each step of decoding computes those of new positions
// alone. It belongs to one sequence or batch of sequences, and is used by one goroutine at a time. The zero value is empty.
type KVCache struct{ k, v *tensor.Tensor }

// Len is the number of positions.
func (c *KVCache) Len() int {
	if c == nil || c.k == nil {
		return 0
	}
	return c.k.Shape()[2]
}

// Reset empties the cache and releases its memory.
func (c *KVCache) Reset() {
	if c.k != nil {
		c.k.Release()
		c.v.Release()
		c.k, c.v = nil, nil
	}
}

// extend appends k and v [B, H, T, D], which it takes over, and gives all. They stay the cache's.
func (c *KVCache) extend(k, v *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	if c.k != nil {
		m := keeping()
		nk := tensor.Concat(2, m.of(c.k), m.of(k))
		nv := tensor.Concat(2, m.of(c.v), m.of(v))
		m.done(nil)
		k, v = nk, nv
	}
	c.k, c.v = k.Keep(), v.Keep()
	return k, v
}
