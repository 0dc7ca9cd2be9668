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
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// settings holds the device, the number of threads and the precision with which burn trains.
type settings struct {
	device  string
	threads int
	fusion  bool
	narrow  dtype.DType // type of autocast; F32 means none
	options map[string]string
}

// The learning rates of the optimiser of both sides. The other settings are PyTorch's defaults, and for language models the usual
// ones.
const (
	rate         = 1e-4
	languageRate = 3e-4
)

// trainer is burn's side of a contest: a bench.Contestant.
type trainer struct {
	settings
	dev     *tensor.Device
	model   model
	params  []nn.Named
	x, y    *tensor.Tensor
	opt     optim.Optimizer
	rate    float64
	samples []time.Duration
	used    time.Duration    // processor time of the turns
	reads   []*tensor.Tensor // losses of a curve that have not been read yet
	most    int64            // greatest number of bytes that the device had allocated from the system at a call of memory
}

// host returns the options of the host; BURN_PLUGIN_CONTAINMENT has the same effect as for the command.
func (s *settings) host() host.Options {
	return host.Options{Config: core.Config{Threads: s.threads, Options: s.options}, Containment: os.Getenv("BURN_PLUGIN_CONTAINMENT")}
}

// newTrainer returns burn's side of a contest. more contains additional options of the device; its decorators are applied below
// the one for gradients.
func newTrainer(ctx context.Context, c contest, s settings, more ...burn.Option) (*trainer, error) {
	options := append(more, burn.WithGradients(), burn.WithHost(s.host()))
	if !s.fusion {
		options = append(options, burn.WithoutFusion())
	}
	dev, err := burn.Open(ctx, s.device, options...)
	if err != nil {
		return nil, err
	}
	t := &trainer{settings: s, dev: dev, opt: optim.NewAdam(optim.AdamConfig{}), rate: rate}
	if c.words != nil {
		t.opt, t.rate = optim.NewAdamW(optim.AdamWConfig{Beta2: 0.95, WeightDecay: 0.1}), languageRate
	}
	err = tensor.Try(func() {
		dev.Seed(1)
		t.model = c.model(dev)
		t.x, t.y = c.batch(dev)
	})
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	t.params = nn.Trained(t.model)
	return t, nil
}

func (t *trainer) close() error { return t.dev.Close() }

// step runs a training step and reads the loss at its end.
func (t *trainer) step(ctx context.Context) (loss float64, err error) {
	mean, err := t.queue(t.x, t.y)
	if err != nil {
		return 0, err
	}
	defer mean.Release()
	return mean.Float64(ctx)
}

// queue queues a training step without waiting, and returns the loss. The update runs after the tape of the step has ended: only
// the model refers to the parameters then, so that they are updated in place.
func (t *trainer) queue(x, y *tensor.Tensor) (mean *tensor.Tensor, err error) {
	var grads *tensor.Gradients
	work := func(d *tensor.Device) []*tensor.Tensor {
		l := t.model.Loss(x.In(d), y.In(d))
		if grads, err = l.Backward(); err != nil {
			return nil
		}
		for _, p := range t.params {
			grads.Of(p.Value()).Keep()
		}
		mean = l.Detach().Keep()
		return nil
	}
	terr := tensor.Try(func() { tensor.Autocast(t.dev, t.narrow, work) })
	if err = errors.Join(err, terr); err != nil {
		return nil, err
	}
	defer grads.GiveUp().Release()
	if err := t.opt.Step(t.rate, t.params, grads); err != nil {
		mean.Release()
		return nil, err
	}
	return mean, nil
}

// many measures n steps with one wait at the end, and returns the time per step.
func (t *trainer) many(ctx context.Context, n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		mean, err := t.queue(t.x, t.y)
		if err != nil {
			return 0, err
		}
		mean.Release()
	}
	err := t.dev.Sync(ctx)
	return time.Since(start) / time.Duration(n), err
}

// curve trains on the batches and returns the loss of each step. The rate increases linearly over the first warmup steps.
func (t *trainer) curve(ctx context.Context, c *text, tokens [][]int64, warmup int) (losses []float64, err error) {
	rate := t.rate
	defer func() { t.rate = rate }()
	for s := 0; s < len(tokens); s += 2 {
		t.rate = rate * min(1, float64(s/2+1)/float64(max(1, warmup)))
		x, y := tensor.From(t.dev, tokens[s], c.batch, c.length), tensor.From(t.dev, tokens[s+1], c.batch, c.length)
		mean, err := t.queue(x, y)
		if err != nil {
			return losses, fmt.Errorf("step %d: %w", s/2, err)
		}
		x.Release()
		y.Release()
		t.reads = append(t.reads, mean)
		if len(t.reads) < 10 && s+2 < len(tokens) {
			continue
		}
		for _, r := range t.reads {
			v, err := r.Float64(ctx)
			if err != nil {
				return losses, fmt.Errorf("step %d: %w", len(losses), err)
			}
			losses = append(losses, v)
			r.Release()
		}
		t.reads = t.reads[:0]
	}
	return losses, nil
}

// Turn implements bench.Contestant.
func (t *trainer) Turn(ctx context.Context, d time.Duration) error {
	before := processorTime()
	defer func() { t.used += processorTime() - before }()
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

// files writes the parameters and the batch as .npy files to dir, and returns their paths. If counted is set, for a language
// model, it writes only the batch, because the parameters are computed from a counter.
func (t *trainer) files(ctx context.Context, dir string, counted bool) (params map[string]string, x, y string, err error) {
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
		if counted {
			break
		}
		if params[p.Name], err = save(p.Name, p.Value(), "f32"); err != nil {
			return nil, "", "", err
		}
	}
	if x, err = save("x", t.x, t.x.DType().String()); err == nil {
		y, err = save("y", t.y, "i64")
	}
	return params, x, y, err
}

// agree compares the loss and the gradients with the peer's, without dropout and in f32. Each difference must be within the
// tolerance, relative to the greatest element of its tensor. agree returns the greatest relative difference.
func (t *trainer) agree(ctx context.Context, a answer) (worst float64, err error) {
	const tolerance = 1e-3
	nn.Eval(t.model)
	defer nn.Train(t.model)
	terr := tensor.Try(func() {
		tensor.Scope(t.dev, func(d *tensor.Device) []*tensor.Tensor {
			worst, err = t.compare(ctx, d, a)
			return nil
		})
	})
	if err = errors.Join(err, terr); err == nil && !(worst <= tolerance) {
		err = fmt.Errorf("loss and gradients differ by %.2g of the greatest element, want at most %g", worst, tolerance)
	}
	return worst, err
}

func (t *trainer) compare(ctx context.Context, d *tensor.Device, a answer) (worst float64, err error) {
	l := t.model.Loss(t.x.In(d), t.y.In(d))
	grads, err := l.Backward()
	if err != nil {
		return 0, err
	}
	loss, err := l.Float64(ctx)
	if err != nil {
		return 0, err
	}
	worst = math.Abs(loss-a.Loss) / math.Abs(a.Loss)
	for _, p := range t.params {
		got, err := tensor.Data[float32](ctx, grads.Of(p.Value()))
		if err != nil {
			return worst, err
		}
		want, err := floats(a.Grads[p.Name])
		if err != nil || len(got) != len(want) {
			return worst, errors.Join(err, fmt.Errorf("%s: %d gradients here, %d there", p.Name, len(got), len(want)))
		}
		most, off := 0., 0.
		for i := range want {
			most, off = max(most, math.Abs(float64(want[i]))), max(off, math.Abs(float64(got[i]-want[i])))
		}
		worst = max(worst, off/most)
	}
	return worst, nil
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
