package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/nn/gpt2"
	"github.com/goburn/burn/tensor"
)

// contest is a model and a batch to train on. Its parameters have the same names as in peer.py.
type contest struct {
	name, text string
	model      func(d *tensor.Device) model
	batch      func(d *tensor.Device) (x, y *tensor.Tensor)
	words      *text // sizes of a language model, for which curves are compared; nil for other models
}

type model interface {
	// Loss returns the mean loss of a batch.
	Loss(x, y *tensor.Tensor) *tensor.Tensor
}

// text holds the sizes of a language model and of its training batches.
type text struct {
	gpt2.Config
	batch, length int
}

var (
	small = text{gpt2.Small, 8, 1024}
	tiny  = text{gpt2.Config{Layers: 2, Heads: 4, Size: 64, Vocabulary: 257, Context: 32}, 4, 32}
)

var contests = []contest{
	digits("mnist_cnn", 64),
	digits("mnist_cnn_1024", 1024),
	{name: "transformer", text: "a language model of 6 layers, d 256, 8 heads, sequence 128, batch 16", model: func(d *tensor.Device) model { return newTransformer(d) },
		batch: func(d *tensor.Device) (x, y *tensor.Tensor) {
			return d.RandomInt(dtype.I64, 0, pieces, 16, 128), d.RandomInt(dtype.I64, 0, pieces, 16, 128)
		}},
	language("gpt2", "GPT-2 small, 124 M parameters, 8 x 1024 tokens", small),
	language("gpt2_tiny", "GPT-2 of 2 layers, d 64, 4 x 32 tokens", tiny),
}

func find(name string) (contest, error) {
	var names []string
	for _, c := range contests {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return contest{}, fmt.Errorf("no case %q, want one of %s", name, strings.Join(names, ", "))
}

func digits(name string, batch int) contest {
	return contest{name: name, text: fmt.Sprintf("the Burn Book's CNN on MNIST, batch %d", batch), model: func(d *tensor.Device) model { return newCNN(d) },
		batch: func(d *tensor.Device) (x, y *tensor.Tensor) {
			return d.Uniform(dtype.F32, 0, 1, batch, 1, 28, 28), d.RandomInt(dtype.I64, 0, 10, batch)
		}}
}

func language(name, words string, t text) contest {
	return contest{name: name, text: words, words: &t,
		model: func(d *tensor.Device) model { return newGPT2(d, t.Config) },
		batch: func(d *tensor.Device) (x, y *tensor.Tensor) {
			tokens := t.tokens(1)
			return tensor.From(d, tokens[0], t.batch, t.length), tensor.From(d, tokens[1], t.batch, t.length)
		}}
}

// tokens returns two lists for each of the steps: the tokens of the rows of a batch, and the tokens that follow them. Each token
// of a row is one of four successors of the previous one, so that a trained model has a loss of log 4. Only a 32nd of the
// vocabulary is used; a model learns this first.
func (t *text) tokens(steps int) [][]int64 {
	used := uint32(max(8, t.Vocabulary/32))
	out := make([][]int64, 0, 2*steps)
	for s := range steps {
		var now, next []int64
		for b := range t.batch {
			r := mix(uint32(s)*7919 + uint32(b) + 1)
			at := r % used
			for range t.length {
				now = append(now, int64(at))
				r = mix(r)
				at = mix(4*at+r>>30) % used
				next = append(next, int64(at))
			}
		}
		out = append(out, now, next)
	}
	return out
}

// mix maps h by a permutation of the 32-bit numbers that looks random: the finaliser of MurmurHash3.
func mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
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

// pieces is the number of characters in the alphabet of transformer, as in tiny Shakespeare.
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

// newGPT2 returns a model whose matrices contain uniform numbers with the standard deviation of the paper. They are computed from
// a counter and the name of the parameter, so that peer.py computes the same numbers without a file.
func newGPT2(d *tensor.Device, c gpt2.Config) *gpt2.Model {
	m := gpt2.New(d, c)
	for _, p := range nn.Params(m) {
		s := p.Shape()
		if len(s) < 2 {
			continue
		}
		scale := float32(0.02 * math.Sqrt(3))
		if strings.HasSuffix(p.Name, "out_proj.weight") || strings.HasSuffix(p.Name, "linear2.weight") {
			scale = float32(0.02 * math.Sqrt(3) / math.Sqrt(2*float64(c.Layers)))
		}
		p.Set(tensor.From(d, counted(p.Name, s.Size(), scale), s...))
	}
	return m
}

// counted returns n numbers within ±scale, computed from the name.
func counted(name string, n int, scale float32) []float32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	first := h.Sum32()
	v := make([]float32, n)
	for i := range v {
		v[i] = scale * (float32(mix(first+uint32(i))>>8)*(1./(1<<23)) - 1)
	}
	return v
}
