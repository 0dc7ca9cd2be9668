// Command customgrad shows a module with a custom gradient: an activation with the values -1 and 1, whose derivative is zero
// wherever it exists, so that the layers below it would never learn. Its backward pass uses the derivative of the identity near
// zero (Bengio, Léonard and Courville, Estimating or propagating gradients through stochastic neurons, 2013; Courbariaux and
// others, 2016).
//
//	go run ./examples/customgrad
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
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

func main() {
	if _, _, err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customgrad:", err)
		os.Exit(1)
	}
}

// Binary is an activation: 1 for x of at least 0, else -1.
type Binary struct{ Straight bool } // the gradient passes through unchanged where |x| is at most 1; else it is 0

// Forward implements nn.Module.
func (b *Binary) Forward(x *tensor.Tensor) *tensor.Tensor {
	return tensor.Function{
		Name: "binary",
		Forward: func(x []*tensor.Tensor) (y, saved []*tensor.Tensor) {
			return []*tensor.Tensor{signs(x[0])}, x
		},
		Backward: func(saved, grads []*tensor.Tensor) []*tensor.Tensor {
			if grads[0] == nil || !b.Straight {
				return []*tensor.Tensor{nil}
			}
			return []*tensor.Tensor{grads[0].Mul(saved[0].Abs().LessEqualScalar(1).Cast(grads[0].DType()))}
		},
	}.Apply(x)[0]
}

func signs(x *tensor.Tensor) *tensor.Tensor {
	return x.GreaterEqualScalar(0).Cast(x.DType()).MulScalar(2).SubScalar(1)
}

// points returns n random points in a square, and for each 1 if it is in a ring around the centre, else 0.
func points(d *tensor.Device, n int) (xy, in *tensor.Tensor) {
	xy = d.Uniform(dtype.F32, -1, 1, n, 2)
	r := xy.Square().Sum(1).Sqrt()
	return xy, r.GreaterScalar(0.4).And(r.LessScalar(0.8)).Cast(dtype.I32)
}

const hidden = 32

// accuracy trains a network with the activation for a number of steps, and returns the share of new points that it classifies
// correctly.
func accuracy(ctx context.Context, dev *tensor.Device, act *Binary, steps int) (share float64, err error) {
	dev.Seed(1)
	model := nn.Sequential{
		nn.NewLinear(dev, 2, hidden, nn.LinearConfig{}), act,
		nn.NewLinear(dev, hidden, hidden, nn.LinearConfig{}), act,
		nn.NewLinear(dev, hidden, 2, nn.LinearConfig{}),
	}
	params, opt := nn.Trained(model), optim.NewAdam(optim.AdamConfig{})
	for range steps {
		tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
			xy, in := points(d, 512)
			grads, e := model.Forward(xy).CrossEntropyLoss(in, tensor.ClassOptions{}).Backward()
			if err = e; err == nil {
				err = opt.Step(1e-2, params, grads)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	tensor.NoGrad(dev, func(d *tensor.Device) []*tensor.Tensor {
		xy, in := points(d, 4000)
		share, err = model.Forward(xy).ArgMax(-1).Cast(dtype.I32).Equal(in).Cast(dtype.F32).Mean().Float64(ctx)
		return nil
	})
	return share, err
}

// run returns the accuracies with and without the custom gradient.
func run(ctx context.Context, args []string, out io.Writer) (with, without float64, err error) {
	flags := flag.NewFlagSet("customgrad", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings")
	steps := flags.Int("steps", 3000, "updates")
	if err := flags.Parse(args); err != nil {
		return 0, 0, err
	}
	if *quick {
		*steps = 700
	}
	dev, err := burn.Open(ctx, *device, burn.WithGradients())
	if err != nil {
		return 0, 0, err
	}
	defer dev.Close()

	with, err = accuracy(ctx, dev, &Binary{Straight: true}, *steps)
	without, other := accuracy(ctx, dev, &Binary{}, *steps)
	if err := errors.Join(err, other); err != nil {
		return 0, 0, err
	}
	fmt.Fprintf(out, "is a point in the ring? binary activations, %d steps\n", *steps)
	fmt.Fprintf(out, "with a gradient straight through: %.1f %% right\n", 100*with)
	fmt.Fprintf(out, "with the derivative, which is 0:  %.1f %% right (only the last layer learns)\n", 100*without)
	return with, without, nil
}
