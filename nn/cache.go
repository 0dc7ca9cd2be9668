package nn

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// KVCache contains the keys and values of earlier positions of an attention layer, so that each decoding step computes only the keys and
// values of new positions. Keys and values are written in place into memory that doubles when it is full, so that the cost of a step does
// not grow with the number of positions. A cache belongs to one sequence or batch of sequences, and only one goroutine may use it at a
// time. The zero value is empty.
type KVCache struct {
	k, v *tensor.Tensor // [B, H, capacity, D]; the first n positions are filled
	n    int
}

// Len returns the number of positions.
func (c *KVCache) Len() int {
	if c == nil {
		return 0
	}
	return c.n
}

// Reset empties the cache and releases its memory.
func (c *KVCache) Reset() {
	if c.k != nil {
		c.k.Release()
		c.v.Release()
	}
	*c = KVCache{}
}

// extend takes ownership of k and v [B, H, T, D], appends them and returns all positions like get. The first tensors are
// kept as they are, so that a cache that never grows uses no additional memory.
func (c *KVCache) extend(m *temps, k, v *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	if c.k == nil {
		c.k, c.v, c.n = k.Keep(), v.Keep(), k.Shape()[2]
		return c.get(m)
	}
	add := k.Shape()[2]
	at := k.Device().Full(dtype.I64, float64(c.n))
	c.k, c.v = c.append(c.k, k, at), c.append(c.v, v, at)
	at.Release()
	c.n += add
	return c.get(m)
}

// append writes x after the first positions of all, and releases x.
func (c *KVCache) append(all, x, at *tensor.Tensor) *tensor.Tensor {
	if capacity, need := all.Shape()[2], c.n+x.Shape()[2]; need > capacity {
		grown := all.Pad(2, 0, max(2*capacity, need)-capacity, 0)
		all.Release()
		all = grown
	}
	all = all.WriteCache(2, at, x).Keep()
	x.Release()
	return all
}

// get returns all keys and values, [B, H, n, D]. While the memory is not full, these are views, which m releases.
func (c *KVCache) get(m *temps) (k, v *tensor.Tensor) { return c.filled(m, c.k), c.filled(m, c.v) }

func (c *KVCache) filled(m *temps, x *tensor.Tensor) *tensor.Tensor {
	if x.Shape()[2] == c.n {
		return x
	}
	return m.of(x.Narrow(2, 0, c.n))
}
