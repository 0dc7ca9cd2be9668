package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// trainer is burn's side of a contest: a bench.Contestant.
type trainer struct {
	dev     *tensor.Device
	model   model
	params  []nn.Named
	x, y    *tensor.Tensor
	opt     *optim.Adam
	rate    float64
	samples []time.Duration
}

func newTrainer(ctx context.Context, c contest, threads int) (*trainer, error) {
	dev, err := burn.Open(ctx, "builtin:cpu", burn.WithGradients(), burn.WithHost(host.Options{Config: core.Config{Threads: threads}}))
	if err != nil {
		return nil, err
	}
	dev.Seed(1)
	t := &trainer{dev: dev, model: c.model(dev), opt: optim.NewAdam(optim.AdamConfig{}), rate: 1e-4}
	t.x, t.y = c.batch(dev)
	t.params = nn.Trained(t.model)
	return t, nil
}

func (t *trainer) close() error { return t.dev.Close() }

// step is a training step; the loss is read at its end. The update runs when the tape of the step has ended: nothing else
// holds the parameters then, and they are updated in place.
func (t *trainer) step(ctx context.Context) (loss float64, err error) {
	var grads *tensor.Gradients
	var mean *tensor.Tensor
	tensor.Scope(t.dev, func(d *tensor.Device) []*tensor.Tensor {
		l := t.model.Loss(t.x.In(d), t.y.In(d))
		if grads, err = l.Backward(); err != nil {
			return nil
		}
		for _, p := range t.params {
			grads.Of(p.Value()).Keep()
		}
		mean = l.Detach().Keep()
		return nil
	})
	if err != nil {
		return 0, err
	}
	defer mean.Release()
	defer grads.GiveUp().Release()
	if err := t.opt.Step(t.rate, t.params, grads); err != nil {
		return 0, err
	}
	return mean.Float64(ctx)
}

// Turn implements bench.Contestant.
func (t *trainer) Turn(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		start := time.Now()
		if _, err := t.step(ctx); err != nil {
			return err
		}
		t.samples = append(t.samples, time.Since(start))
		if time.Now().After(end) {
			return nil
		}
	}
}

// Stats implements bench.Contestant.
func (t *trainer) Stats() bench.Stats { return bench.Summarize(t.samples) }

// files writes the parameters and the batch as .npy into dir.
func (t *trainer) files(ctx context.Context, dir string) (params map[string]string, x, y string, err error) {
	save := func(name string, v *tensor.Tensor, as string) (string, error) {
		b, err := v.Bytes(ctx)
		if err != nil {
			return "", err
		}
		f, err := os.Create(filepath.Join(dir, name+".npy"))
		if err != nil {
			return "", err
		}
		return f.Name(), errors.Join(npy.Write(f, &npy.Array{DType: as, Shape: v.Shape(), Data: b}), f.Close())
	}
	params = map[string]string{}
	for _, p := range t.params {
		if params[p.Name], err = save(p.Name, p.Value(), "f32"); err != nil {
			return nil, "", "", err
		}
	}
	if x, err = save("x", t.x, t.x.DType().String()); err == nil {
		y, err = save("y", t.y, "i64")
	}
	return params, x, y, err
}

// agree compares loss and gradients, with dropout off, with the peer's: each within tolerance of the greatest element of its tensor. It gives
// the largest of these differences.
func (t *trainer) agree(ctx context.Context, a answer) (worst float64, err error) {
	const tolerance = 1e-3
	nn.Eval(t.model)
	defer nn.Train(t.model)
	tensor.Scope(t.dev, func(d *tensor.Device) []*tensor.Tensor {
		l := t.model.Loss(t.x.In(d), t.y.In(d))
		var grads *tensor.Gradients
		if grads, err = l.Backward(); err != nil {
			return nil
		}
		var loss float64
		if loss, err = l.Float64(ctx); err != nil {
			return nil
		}
		worst = math.Abs(loss-a.Loss) / math.Abs(a.Loss)
		for _, p := range t.params {
			var got, want []float32
			if got, err = tensor.Data[float32](ctx, grads.Of(p.Value())); err != nil {
				return nil
			}
			if want, err = floats(a.Grads[p.Name]); err != nil || len(got) != len(want) {
				err = errors.Join(err, fmt.Errorf("%s: %d gradients here, %d there", p.Name, len(got), len(want)))
				return nil
			}
			most, off := 0., 0.
			for i := range want {
				most, off = max(most, math.Abs(float64(want[i]))), max(off, math.Abs(float64(got[i]-want[i])))
			}
			worst = max(worst, off/most)
		}
		if !(worst <= tolerance) {
			err = fmt.Errorf("loss and gradients differ by %.2g of the greatest element, want at most %g; losses %v here, %v there", worst, tolerance, loss, a.Loss)
		}
		return nil
	})
	return worst, err
}

func floats(path string) ([]float32, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := npy.Read(f, 0)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(a.Data)/4)
	for i := range out {
		bits := uint32(a.Data[4*i]) | uint32(a.Data[4*i+1])<<8 | uint32(a.Data[4*i+2])<<16 | uint32(a.Data[4*i+3])<<24
		out[i] = math.Float32frombits(bits)
	}
	return out, nil
}
