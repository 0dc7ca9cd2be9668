package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// EmbeddingConfig holds the settings of Embedding.
type EmbeddingConfig struct {
	Padding *int // an index whose embedding is zero and has no gradient
	Init    Init // by default normal with standard deviation 1
}

// Embedding is a table of Weight[count, size], indexed by integers [...]; the result is [..., size].
type Embedding struct {
	Weight  *Param
	Padding *int
}

// NewEmbedding returns a table of count vectors of the given size. The row of the padding index is zero.
func NewEmbedding(d *tensor.Device, count, size int, c EmbeddingConfig) *Embedding {
	positive("embedding", count, size)
	e := &Embedding{Padding: c.Padding}
	w := c.Init.or(Normal(0, 1)).New(d, count, size, count, size)
	if c.Padding != nil {
		if p := *c.Padding; p < 0 || p >= count {
			fail("embedding: padding index %d, want one in [0, %d): %w", p, count, core.ErrAttr)
		}
		m := keeping()
		row := m.of(m.of(tensor.Scalar(d, int64(*c.Padding))).OneHot(dtype.Bool, count, 0))
		w = m.done(m.of(w).MaskFill(m.of(row.Unsqueeze(1)), 0))
	}
	e.Weight = NewParam(w)
	return e
}

// Forward reads the rows at indices.
func (e *Embedding) Forward(indices *tensor.Tensor) *tensor.Tensor {
	if e.Padding != nil {
		return e.Weight.Value().EmbeddingPadded(indices, *e.Padding)
	}
	return e.Weight.Value().Embedding(indices)
}
