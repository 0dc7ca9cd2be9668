package main

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// contest is a model and a batch that it learns from. Parameters have the names of the twin in peer.py.
type contest struct {
	name, text string
	model      func(d *tensor.Device) model
	batch      func(d *tensor.Device) (x, y *tensor.Tensor)
}

type model interface {
	// Loss is the mean loss of a batch.
	Loss(x, y *tensor.Tensor) *tensor.Tensor
}

var contests = []contest{
	{"mnist_cnn", "the Burn Book's CNN on MNIST, batch 64", func(d *tensor.Device) model { return newCNN(d) }, func(d *tensor.Device) (x, y *tensor.Tensor) {
		return d.Uniform(dtype.F32, 0, 1, 64, 1, 28, 28), d.RandomInt(dtype.I64, 0, 10, 64)
	}},
	{"transformer", "a language model of 6 layers, d 256, 8 heads, sequence 128, batch 16", func(d *tensor.Device) model { return newTransformer(d) },
		func(d *tensor.Device) (x, y *tensor.Tensor) {
			return d.RandomInt(dtype.I64, 0, pieces, 16, 128), d.RandomInt(dtype.I64, 0, pieces, 16, 128)
		}},
}

func find(name string) (contest, error) {
	for _, c := range contests {
		if c.name == name {
			return c, nil
		}
	}
	return contest{}, fmt.Errorf("no case %q, want mnist_cnn or transformer", name)
}

// cnn is the network of the Burn Book's guide.
type cnn struct {
	Conv1, Conv2     *nn.Conv2d
	Linear1, Linear2 *nn.Linear
	Dropout          *nn.Dropout
}

func newCNN(d *tensor.Device) *cnn {
	return &cnn{
		Conv1: nn.NewConv2d(d, 1, 8, [2]int{3, 3}, nn.ConvConfig{}), Conv2: nn.NewConv2d(d, 8, 16, [2]int{3, 3}, nn.ConvConfig{}),
		Linear1: nn.NewLinear(d, 16*8*8, 512, nn.LinearConfig{}), Linear2: nn.NewLinear(d, 512, 10, nn.LinearConfig{}), Dropout: nn.NewDropout(0.5),
	}
}

// Loss implements model.
func (m *cnn) Loss(x, y *tensor.Tensor) *tensor.Tensor {
	x = m.Dropout.Forward(m.Conv1.Forward(x))
	x = m.Dropout.Forward(m.Conv2.Forward(x)).Relu().AdaptiveAvgPool(8, 8).FlattenFrom(1, -1)
	x = m.Dropout.Forward(m.Linear1.Forward(x)).Relu()
	return m.Linear2.Forward(x).CrossEntropyLoss(y, tensor.ClassOptions{})
}

// pieces is the size of the language model's alphabet, that of tiny Shakespeare.
const pieces = 65

// transformer is a language model of characters, without dropout.
type transformer struct {
	Embed   *nn.Embedding
	Encoder *nn.TransformerEncoder
	Head    *nn.Linear
}

func newTransformer(d *tensor.Device) *transformer {
	const size = 256
	return &transformer{
		Embed: nn.NewEmbedding(d, pieces, size, nn.EmbeddingConfig{}),
		Encoder: nn.NewTransformerEncoder(d, 6, size, 8,
			nn.TransformerConfig{FeedForward: 4 * size, Activation: "gelu", NormFirst: true, FinalNorm: true}),
		Head: nn.NewLinear(d, size, pieces, nn.LinearConfig{}),
	}
}

// Loss implements model.
func (m *transformer) Loss(x, y *tensor.Tensor) *tensor.Tensor {
	x = m.Encoder.Encode(m.Embed.Forward(x), nn.AttendOptions{Causal: true}, nil)
	return m.Head.Forward(x).Reshape(-1, pieces).CrossEntropyLoss(y.Flatten(), tensor.ClassOptions{})
}
