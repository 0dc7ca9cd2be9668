// Command textclassification trains a transformer to classify texts by topic. With -file it reads AG News (train.csv: class,
// title, text); else it generates sentences whose class depends on two words and their order.
//
//	go run ./examples/textclassification
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
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/data/text"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

func main() {
	ctx, stop := train.Interrupt(context.Background())
	defer stop()
	if _, err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "textclassification:", err)
		os.Exit(1)
	}
}

const size, longest = 64, 48 // features, words of a text

// Model is a transformer whose outputs are averaged over the positions that hold a word.
type Model struct {
	Words   *nn.Embedding
	Places  *nn.PositionalEncoding
	Encoder *nn.TransformerEncoder
	Head    *nn.Linear
}

func newModel(d *tensor.Device, words int) *Model {
	layers := nn.TransformerConfig{FeedForward: 2 * size, Dropout: 0.1, NormFirst: true}
	return &Model{nn.NewEmbedding(d, words, size, nn.EmbeddingConfig{}), nn.NewPositionalEncoding(d, size, nn.PositionConfig{MaxLength: longest}),
		nn.NewTransformerEncoder(d, 2, size, 4, layers), nn.NewLinear(d, size, len(source.AGClasses), nn.LinearConfig{})}
}

// Forward returns scores [N, classes] of ids [N, T]; words [N, T] is true for words and false for padding.
func (m *Model) Forward(ids, words *tensor.Tensor) *tensor.Tensor {
	x := m.Encoder.Encode(m.Places.Forward(m.Words.Forward(ids)), nn.AttendOptions{KeyMask: words}, nil)
	weight := words.Cast(dtype.F32).Unsqueeze(-1)
	return m.Head.Forward(x.Mul(weight).Sum(1).Div(weight.Sum(1)))
}

// words splits an article at spaces.
func words(a source.Article) []string { return strings.Fields(strings.ToLower(a.Title + " " + a.Text)) }

type batch struct{ IDs, Mask, Labels *tensor.Tensor }

func step(_ context.Context, m *Model, b batch) (train.Output, error) {
	y := m.Forward(b.IDs, b.Mask)
	return train.Output{Loss: y.CrossEntropyLoss(b.Labels, tensor.ClassOptions{}), Predictions: y, Targets: b.Labels, Items: b.Labels.Size()}, nil
}

// run returns the accuracy in validation, in percent.
func run(ctx context.Context, args []string, out io.Writer) (accuracy float64, err error) {
	flags := flag.NewFlagSet("textclassification", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings")
	epochs := flags.Int("epochs", 4, "how often to go through the data")
	file := flags.String("file", "", "articles in the format of AG News; empty: sentences of its own")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	articles := sentences(4000)
	if *quick {
		articles = articles[:2000]
	} else if *file != "" {
		if articles, err = source.AGNews(*file); err != nil {
			return 0, err
		}
	}
	var counter text.Counter
	for _, a := range articles {
		counter.Add(words(a))
	}
	vocabulary, err := counter.Vocabulary(1, 20000, "<unknown>", "<pad>") // 0 and 1
	if err != nil {
		return 0, err
	}
	batches := func(items []source.Article, d *tensor.Device) (batch, error) {
		texts := make([][]int64, len(items))
		for i, a := range items {
			for _, w := range words(a) {
				id, _ := vocabulary.ID(w) // 0 is <unknown>
				texts[i] = append(texts[i], id)
			}
		}
		labels, err := data.Scalars(d, items, func(a source.Article) int64 { return int64(a.Label) })
		p, other := text.Pad(d, texts, 1, longest)
		if err = errors.Join(err, other); err != nil {
			return batch{}, err
		}
		return batch{p.IDs, p.KeyMask, labels}, nil
	}
	split, err := data.RandomSplit(data.Dataset[source.Article](articles), 1, 0.9, 0.1)
	if err != nil {
		return 0, err
	}
	learner := &train.Learner[*Model, batch]{
		Name: "textclassification", Epochs: *epochs, ReadEvery: 10, Metrics: []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})},
		Listeners: []train.Listener{train.NewPlain(out, train.PlainOptions{})},
		TrainStep: step,
		Open: func(ctx context.Context) (*train.Parts[*Model, batch], error) {
			dev, err := burn.Open(ctx, *device, burn.WithGradients())
			if err != nil {
				return nil, err
			}
			dev.Seed(1)
			fit, err := data.NewLoader(split[0], batches, dev, data.Options{Batch: 32, Shuffle: true, Seed: 1})
			valid, other := data.NewLoader(split[1], batches, dev, data.Options{Batch: 100})
			return &train.Parts[*Model, batch]{
				Device: dev, Model: newModel(dev, vocabulary.Len()), Optimizer: optim.NewAdam(optim.AdamConfig{}),
				Rate: schedule.OneCycle(2e-3, *epochs*fit.Len(), schedule.OneCycleConfig{}), Train: fit, Valid: valid,
			}, errors.Join(err, other)
		},
	}
	res, err := learner.Run(ctx)
	if err != nil {
		return 0, err
	}
	return float64(res.History[len(res.History)-1].Values["accuracy"]), res.Close()
}
