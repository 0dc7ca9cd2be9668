package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/data/text"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

// textConfig returns the settings of a language model of 0.8 million parameters.
func textConfig() trainConfig {
	return trainConfig{Epochs: 4, Batch: 32, Seed: 42, Rate: 2e-3, Schedule: "one-cycle", WeightDecay: 0.01, Clip: 1, Accumulate: 1, Checkpoint: 500, Keep: 2, NonFinite: 3, Export: "auto", Precision: "f32", Memory: "all", ReadEvery: 10,
		Text: &textModel{Layers: 4, Size: 128, Heads: 4, Sequence: 128, Dropout: 0.1, Sample: 500}}
}

// charNet is a transformer that returns, for each position of a text, scores for the next character.
type charNet struct {
	Embed, Places *nn.Embedding
	Encoder       *nn.TransformerEncoder
	Head          *nn.Linear
}

func newCharNet(d *tensor.Device, c *textModel, pieces int) *charNet {
	small := nn.EmbeddingConfig{Init: nn.Normal(0, 0.02)}
	return &charNet{
		Embed: nn.NewEmbedding(d, pieces, c.Size, small), Places: nn.NewEmbedding(d, c.Sequence, c.Size, small),
		Encoder: nn.NewTransformerEncoder(d, c.Layers, c.Size, c.Heads,
			nn.TransformerConfig{FeedForward: 4 * c.Size, Dropout: c.Dropout, Activation: "gelu", NormFirst: true, FinalNorm: true}),
		Head: nn.NewLinear(d, c.Size, pieces, nn.LinearConfig{}),
	}
}

// Forward returns scores [N, T, pieces] of texts [N, T].
func (m *charNet) Forward(ids *tensor.Tensor) *tensor.Tensor { return m.after(nil, ids) }

// after is like Forward, for texts that continue the texts in the cache, which may be nil.
func (m *charNet) after(c *nn.EncoderCache, ids *tensor.Tensor) *tensor.Tensor {
	past := 0
	if c != nil {
		past = c.Len()
	}
	places := m.Places.Weight.Value().Narrow(0, past, ids.Shape()[1])
	return m.Head.Forward(m.Encoder.Encode(m.Embed.Forward(ids).Add(places), nn.AttendOptions{Causal: true}, c))
}

type textBatch struct{ Input, Target *tensor.Tensor } // i64 [N, T]

func (b textBatch) Release() { b.Input.Release(); b.Target.Release() }

func textBatches(items []text.Next, d *tensor.Device) (b textBatch, err error) {
	if b.Input, err = data.Stack(d, items, func(n text.Next) []int64 { return n.Input }); err == nil {
		b.Target, err = data.Stack(d, items, func(n text.Next) []int64 { return n.Target })
	}
	return b, err
}

func trainText(r *trainRun) error {
	var all string
	var err error
	if r.flags.data != "" {
		var b []byte
		if info, serr := os.Stat(r.flags.data); serr == nil && info.IsDir() {
			return usage("--data %s: a folder, want a text file", r.flags.data)
		}
		if err := newHostRoom().takeFile(r.flags.data, 16); err != nil { // characters, and numbers for each
			return fmt.Errorf("--data: %w", err)
		}
		b, err = os.ReadFile(filepath.Clean(r.flags.data))
		all = string(b)
	} else {
		all, err = source.TinyShakespeare(r.ctx, source.Options{})
	}
	if err != nil {
		return notFoundIsUsage(err)
	}
	c, alphabet := r.config, text.Chars(text.Alphabet(all))
	ids := alphabet.Encode(all)
	n := c.Text.Sequence
	if len(ids) < 20*(n+1) {
		return usage("text: %d characters, want %d or more for sequences of %d", len(ids), 20*(n+1), n)
	}
	held := len(ids) / 10
	fit, err := text.NewStream(ids[:len(ids)-held], n, n)
	if err != nil {
		return err
	}
	valid, err := text.NewStream(ids[len(ids)-held:], n, n)
	if err != nil {
		return err
	}
	vocabulary, err := alphabet.Vocabulary().MarshalJSON()
	if err != nil {
		return err
	}
	about, err := aboutText(c.Text, vocabulary)
	if err != nil {
		return err
	}
	return execute(r, trainJob[*charNet, textBatch]{
		about: about,
		open: func(dev *tensor.Device) (*train.Parts[*charNet, textBatch], error) {
			t, err := data.NewLoader(fit, textBatches, dev, data.Options{Batch: c.Batch, Shuffle: true, Seed: uint64(c.Seed)})
			if err != nil {
				return nil, err
			}
			v, err := data.NewLoader(valid, textBatches, dev, data.Options{Batch: c.Batch})
			if err != nil {
				return nil, err
			}
			return &train.Parts[*charNet, textBatch]{Model: newCharNet(dev, c.Text, alphabet.Size()), Train: t, Valid: v}, nil
		},
		step: func(_ context.Context, m *charNet, b textBatch) (train.Output, error) {
			scores := m.Forward(b.Input)
			loss := scores.FlattenFrom(0, 1).CrossEntropyLoss(b.Target.Flatten(), tensor.ClassOptions{})
			return train.Output{Loss: loss, Predictions: scores, Targets: b.Target, Items: b.Target.Shape()[0]}, nil
		},
		metrics: []metric.Metric{metric.Loss(), metric.Perplexity()},
		finish: func(ctx context.Context, m *charNet, dir string) error {
			model, err := export.Module(ctx, m, (*charNet).Forward,
				export.Input{Name: "text", DType: dtype.I64, Shape: []int{export.Any, n}}, export.Options{Name: r.name, Outputs: []string{"scores"}})
			if err == nil {
				err = export.Save(filepath.Join(dir, "model.onnx"), model)
			}
			errs := []error{err} // each file separately
			errs = append(errs, os.WriteFile(filepath.Join(dir, "vocabulary.json"), vocabulary, 0o666))
			var sample strings.Builder
			w := &textWriter{net: m, alphabet: alphabet, window: n, sampler: newSampler(int64(c.Seed))}
			if err = w.write(ctx, start(alphabet), c.Text.Sample, nil, func(s string) error { sample.WriteString(s); return nil }); err != nil {
				err = fmt.Errorf("sample: %w", err)
			} else {
				err = os.WriteFile(filepath.Join(dir, "sample.txt"), []byte(sample.String()), 0o666)
			}
			return errors.Join(append(errs, err)...)
		},
	})
}
