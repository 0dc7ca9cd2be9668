// Command digits trains the digit classifier of examples/digits on MNIST, with distortions, and writes it as ONNX.
//
//	go run ./tools/digits -out examples/digits/digits.onnx
//
// The test images are used once, at the end: no choice of the run depends on them. Weights, order and distortions follow from the
// seed; another processor may round differently.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/model/onnx/export"
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
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

const (
	batch  = 128
	rate   = 2e-3
	warmup = 200 // updates
)

type (
	parts   = train.Parts[*network, *source.Batch]
	learner = train.Learner[*network, *source.Batch]
)

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("digits", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	folder := flags.String("data", "", "`FOLDER` of MNIST; empty: where it is usually found")
	epochs := flags.Int("epochs", 40, "how often to go through the data")
	seed := flags.Int("seed", 1, "of weights, order and distortions")
	file := flags.String("out", "", "`FILE` to write the model to")
	share := flags.Float64("share", 1, "part of the training images that is used, for trials")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file == "" {
		return errors.New("no file: name it with -out")
	}
	images, test, err := source.MNIST(ctx, source.Options{Dir: *folder, Only: *folder != ""})
	if err != nil {
		return err
	}
	used, err := data.Partial[source.Picture](images, 0, int(*share*float64(images.Len())))
	if err != nil {
		return err
	}
	batches, err := images.Batcher(nil, nil)
	if err != nil {
		return err
	}
	mean := &average{}
	l := &learner{
		Name: "digits", TrainStep: step, Epochs: *epochs, ReadEvery: 20,
		Metrics: []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})},
		Open: func(ctx context.Context) (*parts, error) {
			dev, err := burn.Open(ctx, *device, burn.WithGradients())
			if err != nil {
				return nil, err
			}
			dev.Seed(*seed)
			fit, err := data.NewLoader(data.Augment(used, uint64(*seed), distort), batches, dev, data.Options{Batch: batch, Shuffle: true, DropLast: true, Seed: uint64(*seed)})
			if err != nil {
				return nil, errors.Join(err, dev.Close())
			}
			m := newNetwork(dev)
			mean.start(m)
			return &parts{
				Device: dev, Model: m, Optimizer: optim.NewAdam(optim.AdamConfig{}), Train: fit,
				Rate: schedule.Product(schedule.Cosine(rate, 0, *epochs*fit.Len()), schedule.Linear(1./warmup, 1, warmup)),
			}, nil
		},
		Listeners: []train.Listener{train.NewPlain(out, train.PlainOptions{}), mean},
	}
	res, err := l.Run(ctx)
	if err != nil {
		return err
	}
	defer res.Close()
	if res.Reason != train.Completed {
		return fmt.Errorf("%s after %d epochs: nothing is written", res.Reason, res.Epochs)
	}
	res.Model = mean.model
	if err := write(ctx, mean.model, *file); err != nil {
		return err
	}
	loader, err := data.NewLoader(test, batches, res.Device, data.Options{Batch: 500})
	if err != nil {
		return err
	}
	confusion := metric.NewConfusion(metric.ClassOptions{})
	l.ValidMetrics = []metric.Metric{confusion}
	if _, err := l.Evaluate(ctx, res.Parts, loader); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", confusion)
	return err
}

// write exports the network with a softmax at its end.
func write(ctx context.Context, m *network, file string) error {
	model, err := export.Module(ctx, m, func(m *network, x *tensor.Tensor) *tensor.Tensor { return m.Forward(x).Softmax(-1) },
		export.Input{Name: "image", DType: dtype.F32, Shape: []int{export.Any, 1, side, side}},
		export.Options{Name: "digits", Outputs: []string{"probabilities"}, Symbol: "N"})
	if err != nil {
		return err
	}
	return export.Save(file, model)
}

// average computes the moving average of a model's parameters over the updates.
type average struct {
	of, model *network
	updates   int
}

func (a *average) start(m *network) {
	a.of, a.model = m, nn.Clone(m)
	if _, err := nn.Freeze(a.model); err != nil {
		panic(err) // without patterns it cannot fail
	}
}

// Event adds the current parameters to the average after each update. The weight of the previous average increases to 0.998.
func (a *average) Event(e train.Event) {
	if s, ok := e.(train.Stepped); !ok || s.Split != train.Train {
		return
	}
	a.updates++
	keep := min(0.998, float64(a.updates)/float64(a.updates+10))
	now := nn.Params(a.of)
	for i, p := range nn.Params(a.model) {
		tensor.NoGrad(p.Value().Device(), func(d *tensor.Device) []*tensor.Tensor {
			p.Set(p.Value().In(d).MulScalar(keep).Add(now[i].Value().In(d).MulScalar(1 - keep)))
			return nil
		})
	}
}
