// Command customloop trains a small classifier with its own loop, without train.Learner: loader, forward, loss, backward,
// optimiser, accuracy. The data are generated points on three spirals.
//
//	go run ./examples/customloop
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
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

func main() {
	if _, err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customloop:", err)
		os.Exit(1)
	}
}

const arms = 3

// point is a point in the plane and the spiral that it belongs to.
type point struct {
	XY  [2]float32
	Arm int32
}

// spirals generates n points, with noise.
func spirals(n int, seed uint64) data.Memory[point] {
	rng := data.Random(seed)
	points := make(data.Memory[point], n)
	for i := range points {
		arm, r := rng.IntN(arms), rng.Float64()
		a := 2*math.Pi*float64(arm)/arms + 4*r + 0.15*rng.NormFloat64()
		points[i] = point{[2]float32{float32(r * math.Cos(a)), float32(r * math.Sin(a))}, int32(arm)}
	}
	return points
}

type batch struct{ X, Y *tensor.Tensor } // f32 [N, 2], i32 [N]

func (b batch) Release() { b.X.Release(); b.Y.Release() }

func batches(points []point, dev *tensor.Device) (b batch, err error) {
	if b.X, err = data.Stack(dev, points, func(p point) []float32 { return p.XY[:] }, 2); err == nil {
		b.Y, err = data.Scalars(dev, points, func(p point) int32 { return p.Arm })
	}
	return b, err
}

// run returns the share of validation points that are classified correctly.
func run(ctx context.Context, args []string, out io.Writer) (accuracy float64, err error) {
	flags := flag.NewFlagSet("customloop", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings")
	epochs := flags.Int("epochs", 40, "how often to go through the data")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	n := 6000
	if *quick {
		n, *epochs = 2000, 15
	}
	dev, err := burn.Open(ctx, *device, burn.WithGradients())
	if err != nil {
		return 0, err
	}
	defer dev.Close()
	dev.Seed(1)

	model := nn.Sequential{
		nn.NewLinear(dev, 2, 64, nn.LinearConfig{}), &nn.Relu{},
		nn.NewLinear(dev, 64, 64, nn.LinearConfig{}), &nn.Relu{},
		nn.NewLinear(dev, 64, arms, nn.LinearConfig{}),
	}
	params := nn.Trained(model)
	train, err := data.NewLoader(spirals(n, 1), batches, dev, data.Options{Batch: 64, Shuffle: true, Seed: 1})
	if err != nil {
		return 0, err
	}
	valid, err := data.NewLoader(spirals(n/5, 2), batches, dev, data.Options{Batch: 500})
	if err != nil {
		return 0, err
	}
	opt := optim.NewAdamW(optim.AdamWConfig{WeightDecay: 1e-4})
	rate := schedule.Cosine(1e-2, 1e-4, *epochs*train.Len())

	for epoch := range *epochs {
		var last float64
		for b, err := range train.Batches(ctx) {
			if err != nil {
				return 0, err
			}
			// Tensors made in a scope are released at its end. The optimiser keeps the parameters.
			tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
				loss := model.Forward(b.X.In(d)).CrossEntropyLoss(b.Y.In(d), tensor.ClassOptions{})
				grads, e := loss.Backward()
				if e == nil {
					e = opt.Step(schedule.Next(rate), params, grads)
				}
				last, err = loss.Float64(ctx) // the only wait of a step: without it, steps are queued ahead
				err = errors.Join(err, e)
				return nil
			})
			b.Release()
			if err != nil {
				return 0, err
			}
		}
		right := 0.
		for b, err := range valid.Batches(ctx) {
			if err != nil {
				return 0, err
			}
			hits := tensor.NoGrad(dev, func(d *tensor.Device) []*tensor.Tensor {
				return []*tensor.Tensor{model.Forward(b.X.In(d)).ArgMax(-1).Cast(dtype.I32).Equal(b.Y).Cast(dtype.F32).Sum()}
			})[0]
			k, err := hits.Float64(ctx)
			hits.Release()
			b.Release()
			if right += k; err != nil {
				return 0, err
			}
		}
		accuracy = right / float64(n/5)
		fmt.Fprintf(out, "epoch %2d: last loss %.4f, validation accuracy %.1f %%\n", epoch+1, last, 100*accuracy)
	}
	return accuracy, nil
}
