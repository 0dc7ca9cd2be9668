package nn

import "github.com/goburn/burn/tensor"

// TransformerConfig holds the settings of transformer layers.
type TransformerConfig struct {
	FeedForward int        // features between the two linear layers; 0 means 2048
	Dropout     float64    // in training; PyTorch's and Burn's default is 0.1
	Activation  Activation // "" means "relu"; Burn's default is "gelu"
	NormFirst   bool       // normalise before each part instead of after
	Quiet       bool       // quiet softmax: see AttentionConfig.Quiet
	Epsilon     float64    // of the norms; 0 means 1e-5
	FinalNorm   bool       // for TransformerEncoder and TransformerDecoder: one more norm at the end
	Init        Init       // of all weights; by default XavierUniform for the inputs of attention, and uniform within ±1/√in elsewhere
}

// FeedForward is the part of transformer layers after attention, together with the dropout and the position of the norm that all parts of
// a layer share.
type FeedForward struct {
	Linear1, Linear2 *Linear
	Activation       Module
	Dropout          *Dropout
	NormFirst        bool
}

func newFeedForward(d *tensor.Device, size int, c TransformerConfig) FeedForward {
	hidden, lc := or(c.FeedForward, 2048), LinearConfig{Init: c.Init}
	return FeedForward{Linear1: NewLinear(d, size, hidden, lc), Linear2: NewLinear(d, hidden, size, lc), Activation: or(c.Activation, "relu").New(),
		Dropout: NewDropout(c.Dropout), NormFirst: c.NormFirst}
}

func (f *FeedForward) forward(m *temps, x *tensor.Tensor) *tensor.Tensor {
	return m.of(f.Linear2.Forward(m.of(f.Dropout.Forward(m.of(f.Activation.Forward(m.of(f.Linear1.Forward(x))))))))
}

// residual adds a part of the layer to x, with the norm before or after.
func (f *FeedForward) residual(m *temps, x *tensor.Tensor, norm *LayerNorm, part func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if f.NormFirst {
		return m.of(x.Add(m.of(f.Dropout.Forward(part(m.of(norm.Forward(x)))))))
	}
	return m.of(norm.Forward(m.of(x.Add(m.of(f.Dropout.Forward(part(x)))))))
}

// TransformerEncoderLayer is self-attention and two linear layers, each with a residual, a norm and dropout (Vaswani and others
// 2017). Its parameters have PyTorch's names.
type TransformerEncoderLayer struct {
	SelfAttn *MultiHeadAttention
	FeedForward
	Norm1, Norm2 *LayerNorm
}

// NewTransformerEncoderLayer returns a layer of size features and heads.
func NewTransformerEncoderLayer(d *tensor.Device, size, heads int, c TransformerConfig) *TransformerEncoderLayer {
	norm := NormConfig{Epsilon: c.Epsilon}
	return &TransformerEncoderLayer{
		SelfAttn:    NewMultiHeadAttention(d, size, heads, AttentionConfig{Dropout: c.Dropout, Quiet: c.Quiet, Init: c.Init}),
		FeedForward: newFeedForward(d, size, c), Norm1: NewLayerNorm(d, []int{size}, norm), Norm2: NewLayerNorm(d, []int{size}, norm)}
}

// Forward computes the layer on x[B, S, size]; every position sees every other.
func (l *TransformerEncoderLayer) Forward(x *tensor.Tensor) *tensor.Tensor {
	return l.Attend(x, AttendOptions{})
}

// Attend is like Forward, with a mask, or step by step with a cache.
func (l *TransformerEncoderLayer) Attend(x *tensor.Tensor, o AttendOptions) *tensor.Tensor {
	m := keeping(x, o.Mask, o.KeyMask)
	y := l.residual(m, x, l.Norm1, func(x *tensor.Tensor) *tensor.Tensor { return m.of(l.SelfAttn.Attend(x, x, x, o)) })
	return m.done(l.residual(m, y, l.Norm2, func(x *tensor.Tensor) *tensor.Tensor { return l.forward(m, x) }))
}

// TransformerEncoder is a stack of layers.
type TransformerEncoder struct {
	Layers []*TransformerEncoderLayer
	Norm   *LayerNorm // may be nil
}

// NewTransformerEncoder returns n layers of size features and heads.
func NewTransformerEncoder(d *tensor.Device, n, size, heads int, c TransformerConfig) *TransformerEncoder {
	e := &TransformerEncoder{}
	for range n {
		e.Layers = append(e.Layers, NewTransformerEncoderLayer(d, size, heads, c))
	}
	if c.FinalNorm {
		e.Norm = NewLayerNorm(d, []int{size}, NormConfig{Epsilon: c.Epsilon})
	}
	return e
}

// EncoderCache holds the caches of an encoder's layers, for step-by-step generation. The zero value is empty.
type EncoderCache struct{ layers []KVCache }

// Len returns the number of positions.
func (c *EncoderCache) Len() int {
	if len(c.layers) == 0 {
		return 0
	}
	return c.layers[0].Len()
}

// Reset empties the cache and releases its memory.
func (c *EncoderCache) Reset() {
	for i := range c.layers {
		c.layers[i].Reset()
	}
}

// Forward computes the layers on x[B, S, size]; every position sees every other.
func (e *TransformerEncoder) Forward(x *tensor.Tensor) *tensor.Tensor {
	return e.Encode(x, AttendOptions{}, nil)
}

// Encode is like Forward, with masks. With a cache, x holds the positions after the positions of earlier calls, and each position sees all
// earlier ones, as with Causal. o.Cache is not used.
func (e *TransformerEncoder) Encode(x *tensor.Tensor, o AttendOptions, c *EncoderCache) *tensor.Tensor {
	m := keeping(x)
	if c != nil && c.layers == nil {
		c.layers = make([]KVCache, len(e.Layers))
	}
	y := x
	for i, l := range e.Layers {
		if o.Cache = nil; c != nil {
			o.Cache, o.Causal = &c.layers[i], true
		}
		y = m.of(l.Attend(y, o))
	}
	if e.Norm != nil {
		y = m.of(e.Norm.Forward(y))
	}
	return m.done(y)
}
