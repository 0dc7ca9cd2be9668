// Command wgan trains a Wasserstein GAN with gradient penalty (Gulrajani and others, Improved training of Wasserstein GANs, 2017)
// on eight clusters of points on a circle. The penalty depends on a gradient, so its gradient is a second derivative: the device
// is wrapped by autodiff twice.
//
//	go run ./examples/wgan
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
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

func main() {
	if _, _, err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wgan:", err)
		os.Exit(1)
	}
}

const heaps, spread, batch, noise, criticSteps, penalty = 8, 0.1, 128, 2, 5, 0.1

// real returns points of the clusters, on the unit circle.
func real(d *tensor.Device) *tensor.Tensor {
	angle := d.RandomInt(dtype.I32, 0, heaps, batch).Cast(dtype.F32).MulScalar(2 * math.Pi / heaps)
	return tensor.Stack(1, angle.Cos(), angle.Sin()).Add(d.Normal(dtype.F32, 0, spread, batch, 2))
}

func network(d *tensor.Device, in, out int) nn.Sequential {
	linear := func(in, out int) nn.Module { return nn.NewLinear(d, in, out, nn.LinearConfig{}) }
	return nn.Sequential{linear(in, 64), nn.NewLeakyRelu(), linear(64, 64), nn.NewLeakyRelu(), linear(64, out)}
}

type gan struct {
	generator, critic nn.Sequential
	gOpt, cOpt        *optim.Adam
}

// descend updates the parameters of m by the gradient of the sum of losses.
func descend(opt *optim.Adam, m nn.Sequential, losses ...*tensor.Tensor) error {
	params, sum := nn.Trained(m), &optim.Accumulator{}
	for _, loss := range losses {
		grads, err := loss.Backward()
		if err == nil {
			err = sum.Add(params, grads)
		}
		if err != nil {
			return err
		}
	}
	grads, err := sum.Take(params, false)
	if err == nil {
		err = opt.Step(1e-3, params, grads)
	}
	return err
}

// judge runs a step of the critic: higher scores for real points, lower ones for generated points, and slopes of 1 between them.
func (g *gan) judge(d *tensor.Device) error {
	x, y := real(d), g.generator.Forward(d.Normal(dtype.F32, 0, 1, batch, noise)).Detach()
	// The outer autodiff computes the slopes; the inner one records this computation.
	between := x.Lerp(y, d.Uniform(dtype.F32, 0, 1, batch, 1)).RequireGrad()
	slopes, err := tensor.Backward([]*tensor.Tensor{g.critic.Forward(between)}, nil, between)
	if err != nil {
		return err
	}
	norm := slopes.Of(between).Square().Sum(1).AddScalar(1e-12).Sqrt()
	return descend(g.cOpt, g.critic, g.critic.Forward(y).Mean().Sub(g.critic.Forward(x).Mean()), norm.SubScalar(1).Square().Mean().MulScalar(penalty))
}

// imitate runs a step of the generator.
func (g *gan) imitate(d *tensor.Device) error {
	return descend(g.gOpt, g.generator, g.critic.Forward(g.generator.Forward(d.Normal(dtype.F32, 0, 1, batch, noise))).Mean().Neg())
}

// score returns the share of generated points within three standard deviations of a cluster, and the number of clusters with at
// least half of their expected points.
func (g *gan) score(ctx context.Context, dev *tensor.Device) (share float64, found int, err error) {
	const n = 2000
	var xy []float32
	tensor.NoGrad(dev, func(d *tensor.Device) []*tensor.Tensor {
		xy, err = tensor.Data[float32](ctx, g.generator.Forward(d.Normal(dtype.F32, 0, 1, n, noise)))
		return nil
	})
	var near [heaps]int
	for i := 0; i < len(xy); i += 2 {
		x, y := float64(xy[i]), float64(xy[i+1])
		k := int(math.Round(math.Atan2(y, x)*heaps/(2*math.Pi))+heaps) % heaps
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / heaps)
		if math.Hypot(x-cos, y-sin) <= 3*spread {
			if near[k]++; near[k] == n/heaps/2 {
				found++
			}
			share += 1. / n
		}
	}
	return share, found, err
}

func run(ctx context.Context, args []string, out io.Writer) (share float64, found int, err error) {
	flags := flag.NewFlagSet("wgan", flag.ContinueOnError)
	device := flags.String("device", "cpu", "where to compute")
	quick := flags.Bool("quick", false, "small settings")
	steps := flags.Int("steps", 3000, "updates of the generator")
	if err := flags.Parse(args); err != nil {
		return 0, 0, err
	}
	if *quick {
		*steps = 300
	}
	dev, err := burn.Open(ctx, *device, burn.WithGradients(), burn.WithGradients())
	if err != nil {
		return 0, 0, err
	}
	defer dev.Close()
	dev.Seed(1)
	adam := optim.AdamConfig{Beta1: 0.5, Beta2: 0.9}
	g := &gan{network(dev, noise, 2), network(dev, 2, 1), optim.NewAdam(adam), optim.NewAdam(adam)}
	for step := 1; step <= *steps && err == nil; step++ {
		tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
			for range criticSteps {
				err = errors.Join(err, g.judge(d))
			}
			err = errors.Join(err, g.imitate(d))
			return nil
		})
		if err == nil && step%max(1, *steps/10) == 0 {
			share, found, err = g.score(ctx, dev)
			fmt.Fprintf(out, "step %4d: %.0f %% of the points on heaps, %d of %d heaps found\n", step, 100*share, found, heaps)
		}
	}
	return share, found, err
}
