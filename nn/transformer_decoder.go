package nn

import "github.com/goburn/burn/tensor"

// TransformerDecoderLayer is self-attention, attention to a memory, and two linear layers, each with a residual, a norm and dropout.
// Its parameters have PyTorch's names.
type TransformerDecoderLayer struct {
	SelfAttn  *MultiHeadAttention
	CrossAttn *MultiHeadAttention `nn:"multihead_attn"`
	FeedForward
	Norm1, Norm2, Norm3 *LayerNorm
}

// NewTransformerDecoderLayer returns a layer of size features and heads.
func NewTransformerDecoderLayer(d *tensor.Device, size, heads int, c TransformerConfig) *TransformerDecoderLayer {
	norm := func() *LayerNorm { return NewLayerNorm(d, []int{size}, NormConfig{Epsilon: c.Epsilon}) }
	a := AttentionConfig{Dropout: c.Dropout, Quiet: c.Quiet, Init: c.Init}
	return &TransformerDecoderLayer{SelfAttn: NewMultiHeadAttention(d, size, heads, a), CrossAttn: NewMultiHeadAttention(d, size, heads, a),
		FeedForward: newFeedForward(d, size, c), Norm1: norm(), Norm2: norm(), Norm3: norm()}
}

// DecodeOptions configures one call of a decoder. With the zero value every position sees every other; most calls set
// Target.Causal.
type DecodeOptions struct {
	Target AttendOptions // attention among the positions of x; its Cache is not used
	Memory AttendOptions // attention to the memory; its Cache is not used
	Cache  *DecoderCache // for TransformerDecoder: caches of earlier positions; may be nil
}

// DecoderCache holds the caches of a decoder's layers: of decoded positions, and of the memory, which is read in the first step
// only. The zero value is empty.
type DecoderCache struct{ self, memory []KVCache }

// Len returns the number of decoded positions.
func (c *DecoderCache) Len() int {
	if len(c.self) == 0 {
		return 0
	}
	return c.self[0].Len()
}

// Reset empties the cache and releases its memory.
func (c *DecoderCache) Reset() {
	for i := range c.self {
		c.self[i].Reset()
		c.memory[i].Reset()
	}
}

// Forward computes the layer on x[B, S, size] with memory[B, T, size].
func (l *TransformerDecoderLayer) Forward(x, memory *tensor.Tensor, o DecodeOptions) *tensor.Tensor {
	o.Target.Cache, o.Memory.Cache = nil, nil
	return l.decode(x, memory, o)
}

func (l *TransformerDecoderLayer) decode(x, memory *tensor.Tensor, o DecodeOptions) *tensor.Tensor {
	m := keeping(x, memory)
	y := l.residual(m, x, l.Norm1, func(x *tensor.Tensor) *tensor.Tensor { return m.of(l.SelfAttn.Attend(x, x, x, o.Target)) })
	y = l.residual(m, y, l.Norm2, func(x *tensor.Tensor) *tensor.Tensor { return m.of(l.CrossAttn.toMemory(x, memory, o.Memory)) })
	return m.done(l.residual(m, y, l.Norm3, func(x *tensor.Tensor) *tensor.Tensor { return l.forward(m, x) }))
}

// TransformerDecoder is a stack of layers.
type TransformerDecoder struct {
	Layers []*TransformerDecoderLayer
	Norm   *LayerNorm // may be nil
}

// NewTransformerDecoder returns n layers of size features and heads.
func NewTransformerDecoder(d *tensor.Device, n, size, heads int, c TransformerConfig) *TransformerDecoder {
	e := &TransformerDecoder{}
	for range n {
		e.Layers = append(e.Layers, NewTransformerDecoderLayer(d, size, heads, c))
	}
	if c.FinalNorm {
		e.Norm = NewLayerNorm(d, []int{size}, NormConfig{Epsilon: c.Epsilon})
	}
	return e
}

// Forward computes the layers on x[B, S, size] with memory[B, T, size]. With a cache, x holds the positions after the positions of earlier
// calls, and each position sees all earlier ones, as with Target.Causal; memory must be the same in each call.
func (e *TransformerDecoder) Forward(x, memory *tensor.Tensor, o DecodeOptions) *tensor.Tensor {
	m := keeping(x, memory)
	if c := o.Cache; c != nil && c.self == nil {
		c.self, c.memory = make([]KVCache, len(e.Layers)), make([]KVCache, len(e.Layers))
	}
	o.Target.Cache, o.Memory.Cache = nil, nil
	y := x
	for i, l := range e.Layers {
		if o.Cache != nil {
			o.Target.Cache, o.Target.Causal, o.Memory.Cache = &o.Cache.self[i], true, &o.Cache.memory[i]
		}
		y = m.of(l.decode(y, memory, o))
	}
	if e.Norm != nil {
		y = m.of(e.Norm.Forward(y))
	}
	return m.done(y)
}
