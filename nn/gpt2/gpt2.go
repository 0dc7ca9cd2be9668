// Package gpt2 implements the language model GPT-2 (Radford and others 2019) with the layers of package nn: a decoder of pre-norm
// transformer layers with learned positions and an output that shares the weights of the token embedding. Train it with package
// train, or a custom loop. It reads no files and no text: its input is token ids.
package gpt2

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Config is the size of a model. Small, Medium, Large and XL are the sizes of the paper.
type Config struct {
	Layers, Heads, Size int
	Vocabulary          int     // number of tokens
	Context             int     // greatest number of positions
	Dropout             float64 // in training, after the embedding and in the layers
}

// The sizes of the paper: 124, 355, 774 and 1558 million parameters. They have no dropout; the dropout of the paper is 0.1.
var (
	Small  = Config{Layers: 12, Heads: 12, Size: 768, Vocabulary: 50257, Context: 1024}
	Medium = Config{Layers: 24, Heads: 16, Size: 1024, Vocabulary: 50257, Context: 1024}
	Large  = Config{Layers: 36, Heads: 20, Size: 1280, Vocabulary: 50257, Context: 1024}
	XL     = Config{Layers: 48, Heads: 25, Size: 1600, Vocabulary: 50257, Context: 1024}
)

// Model is GPT-2. The output layer shares the weights of Tokens.
type Model struct {
	Tokens, Positions *nn.Embedding
	Encoder           *nn.TransformerEncoder
	Dropout           *nn.Dropout
}

// New returns a model with the random weights of the paper: their standard deviation is 0.02, or 0.02/√(2·Layers) in layers that
// add to the residual stream; biases are 0.
func New(d *tensor.Device, c Config) *Model {
	weights := nn.Normal(0, 0.02)
	m := &Model{
		Tokens:    nn.NewEmbedding(d, c.Vocabulary, c.Size, nn.EmbeddingConfig{Init: weights}),
		Positions: nn.NewEmbedding(d, c.Context, c.Size, nn.EmbeddingConfig{Init: weights}),
		Encoder: nn.NewTransformerEncoder(d, c.Layers, c.Size, c.Heads, nn.TransformerConfig{FeedForward: 4 * c.Size, Dropout: c.Dropout,
			Activation: "gelu_tanh", NormFirst: true, FinalNorm: true, Init: weights}),
		Dropout: nn.NewDropout(c.Dropout),
	}
	residual := nn.Normal(0, 0.02/math.Sqrt(2*float64(c.Layers)))
	for _, l := range m.Encoder.Layers {
		for _, part := range []*nn.Linear{l.SelfAttn.OutProj, l.Linear2} {
			s := part.Weight.Shape()
			part.Weight.Set(residual.New(d, s[1], s[0], s...))
		}
		for _, part := range []*nn.Linear{l.SelfAttn.OutProj, l.Linear1, l.Linear2} {
			part.Bias.Set(nn.Zeros().New(d, 0, 0, part.Bias.Shape()...))
		}
	}
	return m
}

// Cache holds the keys and values of earlier tokens in all layers, for step-by-step generation. The zero value is empty.
type Cache struct{ nn.EncoderCache }

// Forward returns the scores [B, S, Vocabulary] of the token that follows each of tokens [B, S], integers.
func (m *Model) Forward(tokens *tensor.Tensor) *tensor.Tensor { return m.Decode(tokens, nil) }

// Decode is like Forward, for tokens that follow the tokens of earlier calls with the same cache. With a nil cache each call is separate.
func (m *Model) Decode(tokens *tensor.Tensor, c *Cache) *tensor.Tensor {
	if tokens.Rank() != 2 {
		panic(&tensor.Error{Err: fmt.Errorf("gpt2: tokens %v, want [B, S]: %w", tokens.Desc(), core.ErrShape)})
	}
	past, n, have := 0, tokens.Shape()[1], m.Positions.Weight.Shape()[0]
	var layers *nn.EncoderCache
	if c != nil {
		layers = &c.EncoderCache
		past = layers.Len()
	}
	if past+n > have {
		panic(&tensor.Error{Err: fmt.Errorf("gpt2: %d positions, want at most %d: %w", past+n, have, core.ErrShape)})
	}
	at := m.Positions.Weight.Value().Narrow(0, past, n)
	x := m.Tokens.Forward(tokens).Add(at)
	at.Release() // the scope of the weights may own it
	x = m.Dropout.Forward(x)
	return m.Encoder.Encode(x, nn.AttendOptions{Causal: true}, layers).LinearT(m.Tokens.Weight.Value(), nil)
}

// Loss returns the mean cross entropy of next [B, S], the tokens that follow each of tokens [B, S].
func (m *Model) Loss(tokens, next *tensor.Tensor) *tensor.Tensor {
	scores := m.Forward(tokens)
	rows := scores.Reshape(-1, scores.Shape()[2])
	scores.Release()
	loss := rows.CrossEntropyLoss(next.Flatten(), tensor.ClassOptions{})
	rows.Release() // the scores are the largest tensor of a model: the gradients can use their memory
	return loss
}
