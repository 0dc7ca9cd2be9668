// Command regression predicts house values from a CSV file with a train.Learner and early stopping. Without a file it generates
// rows from a function with noise.
//
//	go run ./examples/regression -file california_housing.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/goburn/burn"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/csv"
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
		fmt.Fprintln(os.Stderr, "regression:", err)
		os.Exit(1)
	}
}

// House is a row: a district of California, 1990.
type House struct {
	Longitude  float32 `csv:"longitude"`
	Latitude   float32 `csv:"latitude"`
	Age        float32 `csv:"housing_median_age"`
	Rooms      float32 `csv:"total_rooms"`
	People     float32 `csv:"population"`
	Households float32 `csv:"households"`
	Income     float32 `csv:"median_income"`
	Value      float32 `csv:"median_house_value"`
}

// inputs returns the inputs, scaled to the order of 1 by constants.
func (h House) inputs() []float32 {
	per := max(h.Households, 1)
	return []float32{(h.Longitude + 120) / 2, (h.Latitude - 36) / 2, h.Age/30 - 1, h.Rooms/per/5 - 1, h.People/per/3 - 1, h.Income/4 - 1}
}

const unit = 100_000 // unit of the values

// houses generates n rows of an artificial market.
func houses(n int) data.Memory[House] {
	rng := data.Random(1)
	rows := make(data.Memory[House], n)
	for i := range rows {
		h := House{Longitude: float32(-120 + 2*rng.NormFloat64()), Latitude: float32(36 + 2*rng.NormFloat64()), Age: float32(60 * rng.Float64()),
			Rooms: float32(500 * (3 + 4*rng.Float64())), People: float32(1500 * rng.Float64()), Households: 500, Income: float32(8 * rng.Float64())}
		coast := math.Exp(-math.Pow(float64(h.Longitude+h.Latitude+85), 2) / 4)
		h.Value = float32(unit * (0.5 + 0.4*float64(h.Income) + coast + 0.1*rng.NormFloat64()))
		rows[i] = h
	}
	return rows
}

// Model is a network with one output.
type Model struct{ Layers nn.Sequential }

type batch struct{ X, Y *tensor.Tensor } // f32 [N, 6], f32 [N, 1]

func batches(rows []House, d *tensor.Device) (b batch, err error) {
	if b.X, err = data.Stack(d, rows, House.inputs); err == nil {
		b.Y, err = data.Stack(d, rows, func(h House) []float32 { return []float32{h.Value / unit} })
	}
	return b, err
}

func step(_ context.Context, m *Model, b batch) (train.Output, error) {
	return train.Output{Loss: m.Layers.Forward(b.X).MSELoss(b.Y, tensor.MeanLoss), Items: b.Y.Size()}, nil
}

// run returns the root mean square error on the test rows, in units of 100,000.
func run(ctx context.Context, args []string, out io.Writer) (rmse float64, err error) {
	flags := flag.NewFlagSet("regression", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings")
	file := flags.String("file", "", "CSV file; empty: rows of its own")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	rows, epochs := houses(4000), 40
	if *file != "" {
		if rows, err = csv.Open[House](*file, csv.Options{}); err != nil {
			return 0, err
		}
	}
	if *quick {
		epochs = 15
	}
	split, err := data.RandomSplit[House](rows, 1, 0.8, 0.1, 0.1)
	if err != nil {
		return 0, err
	}
	learner := &train.Learner[*Model, batch]{
		Name: "regression", TrainStep: step, Epochs: epochs, ReadEvery: 10, Stop: &train.EarlyStop{Patience: 8},
		Listeners: []train.Listener{train.NewPlain(out, train.PlainOptions{})},
		Open: func(ctx context.Context) (*train.Parts[*Model, batch], error) {
			dev, err := burn.Open(ctx, *device, burn.WithGradients())
			if err != nil {
				return nil, err
			}
			dev.Seed(1)
			linear := func(in, out int) nn.Module { return nn.NewLinear(dev, in, out, nn.LinearConfig{}) }
			fit, err := data.NewLoader(split[0], batches, dev, data.Options{Batch: 64, Shuffle: true, Seed: 1})
			valid, other := data.NewLoader(split[1], batches, dev, data.Options{Batch: 512})
			return &train.Parts[*Model, batch]{
				Device: dev, Model: &Model{nn.Sequential{linear(6, 64), &nn.Relu{}, linear(64, 64), &nn.Relu{}, linear(64, 1)}},
				Optimizer: optim.NewAdam(optim.AdamConfig{}), Rate: schedule.Cosine(5e-3, 5e-5, epochs*fit.Len()), Train: fit, Valid: valid,
			}, errors.Join(err, other)
		},
	}
	res, err := learner.Run(ctx)
	if err != nil {
		return 0, err
	}
	defer res.Close()
	test, err := data.NewLoader(split[2], batches, res.Device, data.Options{Batch: 512})
	if err != nil {
		return 0, err
	}
	rec, err := learner.Evaluate(ctx, res.Parts, test)
	rmse = math.Sqrt(float64(rec.Values["loss"]))
	fmt.Fprintf(out, "predictions of the test rows are off by %.0f (root mean square)\n", rmse*unit)
	return rmse, err
}
