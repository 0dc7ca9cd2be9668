// Command charlm trains a small transformer on tiny Shakespeare, character by character, and generates text with it. twin.py does
// the same in PyTorch.
//
//	go run ./examples/charlm
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goburn/burn"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/data/text"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

func main() {
	ctx, stop := train.Interrupt(context.Background())
	defer stop()
	if _, err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "charlm:", err)
		os.Exit(1)
	}
}

const layers, size, heads, seen, batch, rate = 3, 128, 4, 64, 32, 2e-3 // seen: context length in characters

// Model computes, for each position of a text, scores for the next character.
type Model struct {
	Embed, Places *nn.Embedding
	Encoder       *nn.TransformerEncoder
	Head          *nn.Linear
}

func newModel(d *tensor.Device, alphabet int) *Model {
	small := nn.EmbeddingConfig{Init: nn.Normal(0, 0.02)}
	return &Model{
		nn.NewEmbedding(d, alphabet, size, small), nn.NewEmbedding(d, seen, size, small),
		nn.NewTransformerEncoder(d, layers, size, heads, nn.TransformerConfig{FeedForward: 4 * size, Activation: "gelu", NormFirst: true, FinalNorm: true}),
		nn.NewLinear(d, size, alphabet, nn.LinearConfig{}),
	}
}

// Forward returns scores [N, T, alphabet] of ids [N, T].
func (m *Model) Forward(ids *tensor.Tensor) *tensor.Tensor {
	x := m.Embed.Forward(ids).Add(m.Places.Weight.Value().Narrow(0, 0, ids.Shape()[1]))
	return m.Head.Forward(m.Encoder.Encode(x, nn.AttendOptions{Causal: true}, nil))
}

type pair struct{ X, Y *tensor.Tensor } // i64 [N, T]: ids, and the ids one position later

func pairs(items []text.Next, d *tensor.Device) (p pair, err error) {
	if p.X, err = data.Stack(d, items, func(n text.Next) []int64 { return n.Input }); err == nil {
		p.Y, err = data.Stack(d, items, func(n text.Next) []int64 { return n.Target })
	}
	return p, err
}

func step(_ context.Context, m *Model, p pair) (train.Output, error) {
	loss := m.Forward(p.X).FlattenFrom(0, 1).CrossEntropyLoss(p.Y.Flatten(), tensor.ClassOptions{})
	return train.Output{Loss: loss, Items: p.X.Shape()[0]}, nil
}

// run returns the final loss in validation.
func run(ctx context.Context, args []string, out io.Writer) (loss float64, err error) {
	flags := flag.NewFlagSet("charlm", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings, and a text of its own")
	epochs := flags.Int("epochs", 3, "how often to go through the text")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	play, err := source.TinyShakespeare(ctx, source.Options{Offline: *quick})
	if *quick {
		play, *epochs, err = strings.Repeat("to be, or not to be, that is the question:\n", 1000), 1, nil
	}
	if err != nil {
		return 0, err
	}
	chars := text.Chars(text.Alphabet(play))
	ids, held := chars.Encode(play), len(play)/10
	before, err := text.NewStream(ids[:len(ids)-held], seen, seen)
	after, other := text.NewStream(ids[len(ids)-held:], seen, seen)
	if err = errors.Join(err, other); err != nil {
		return 0, err
	}
	learner := &train.Learner[*Model, pair]{
		Name: "charlm", TrainStep: step, Epochs: *epochs, ReadEvery: 10, Clip: &optim.Clip{Norm: 1},
		Listeners: []train.Listener{train.NewPlain(out, train.PlainOptions{})},
		Open: func(ctx context.Context) (*train.Parts[*Model, pair], error) {
			dev, err := burn.Open(ctx, *device, burn.WithGradients())
			if err != nil {
				return nil, err
			}
			dev.Seed(1)
			fit, err := data.NewLoader(before, pairs, dev, data.Options{Batch: batch, Shuffle: true, DropLast: true, Seed: 1})
			valid, other := data.NewLoader(after, pairs, dev, data.Options{Batch: batch})
			return &train.Parts[*Model, pair]{
				Device: dev, Model: newModel(dev, chars.Size()), Optimizer: optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01}),
				Rate: schedule.Cosine(rate, rate/10, *epochs*fit.Len()), Train: fit, Valid: valid,
			}, errors.Join(err, other)
		},
	}
	res, err := learner.Run(ctx)
	if err != nil {
		return 0, err
	}
	defer res.Close()
	loss = float64(res.History[len(res.History)-1].Values["loss"])
	sample, err := write(ctx, res.Model, res.Device, chars, 300)
	fmt.Fprintf(out, "validation loss %.4f\n\n%s\n", loss, sample)
	return loss, err
}

// write generates n characters after a line break.
func write(ctx context.Context, m *Model, dev *tensor.Device, chars *text.Pieces, n int) (_ string, err error) {
	nn.Eval(m)
	ids := chars.Encode("\n")
	for range n {
		var next []int64
		last := ids[max(0, len(ids)-seen):]
		tensor.NoGrad(dev, func(d *tensor.Device) []*tensor.Tensor {
			scores := m.Forward(tensor.From(d, last, 1, len(last))).Select(1, -1)
			next, err = tensor.DataAs[int64](ctx, scores.Softmax(-1).Multinomial(1, true))
			return nil
		})
		if err != nil {
			return "", err
		}
		ids = append(ids, next...)
	}
	return chars.Decode(ids)
}
