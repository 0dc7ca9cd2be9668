package train_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

// item is a point with one of two classes.
type item struct {
	x     [4]float32
	label int64
}

type batch struct {
	X, Y *tensor.Tensor
	n    int
}

// model has modules with state in addition to weights: random masks and running statistics.
type model struct {
	In   *nn.Linear
	Norm *nn.BatchNorm
	Drop *nn.Dropout
	Out  *nn.Linear
}

func (m *model) Forward(x *tensor.Tensor) *tensor.Tensor {
	return m.Out.Forward(m.Drop.Forward(m.Norm.Forward(m.In.Forward(x)).Relu()))
}

func points(n int, seed uint64) data.Memory[item] {
	r := data.Random(seed)
	out := make(data.Memory[item], n)
	for i := range out {
		var s float64
		for k := range out[i].x {
			v := r.NormFloat64()
			out[i].x[k] = float32(v)
			s += v * float64(k-1)
		}
		if s > 0.3 {
			out[i].label = 1
		}
	}
	return out
}

func batcher(items []item, d *tensor.Device) (batch, error) {
	x, err := data.Stack(d, items, func(i item) []float32 { return i.x[:] })
	if err != nil {
		return batch{}, err
	}
	y, err := data.Scalars(d, items, func(i item) int64 { return i.label })
	return batch{x, y, len(items)}, err
}

func step(_ context.Context, m *model, b batch) (train.Output, error) {
	scores := m.Forward(b.X)
	return train.Output{Loss: scores.CrossEntropyLoss(b.Y, tensor.ClassOptions{}), Predictions: scores, Targets: b.Y, Items: b.n}, nil
}

type (
	parts   = train.Parts[*model, batch]
	learner = train.Learner[*model, batch]
)

// cpu returns the device that the tests train on, with its commands checked.
func cpu() (*core.Place, error) {
	p, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	if err != nil {
		return nil, err
	}
	return verify.Device(p), nil
}

// opened creates parts on a device, always the same.
func opened(ctx context.Context, c *core.Place, options ...autodiff.Option) (*parts, error) {
	d, err := tensor.On(ctx, autodiff.Device(c, options...))
	if err != nil {
		return nil, err
	}
	d.Seed(3)
	m := &model{In: nn.NewLinear(d, 4, 16, nn.LinearConfig{}), Norm: nn.NewBatchNorm(d, 16, nn.BatchNormConfig{}), Drop: nn.NewDropout(0.2), Out: nn.NewLinear(d, 16, 2, nn.LinearConfig{})}
	fit, err := data.NewLoader(points(90, 1), batcher, d, data.Options{Batch: 16, Shuffle: true, Seed: 5, Workers: 2})
	if err != nil {
		return nil, err
	}
	valid, err := data.NewLoader(points(40, 2), batcher, d, data.Options{Batch: 16, Workers: 1})
	if err != nil {
		return nil, err
	}
	return &parts{Device: d, Model: m, Optimizer: optim.NewAdam(optim.AdamConfig{}), Rate: schedule.Cosine(0.02, 0.001, 30), Train: fit, Valid: valid,
		Close: func() error { return errors.Join(d.Close(), c.Close()) }}, nil
}

func open(ctx context.Context) (*parts, error) {
	c, err := cpu()
	if err != nil {
		return nil, err
	}
	return opened(ctx, c)
}

func newLearner(dir string, epochs int) *learner {
	return &learner{Open: open, TrainStep: step, Epochs: epochs, Dir: dir,
		Metrics: []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})}, TrainMetrics: []metric.Metric{metric.LearningRate()}}
}

// bits returns the bytes of the parameters and buffers of a model.
func bits(t *testing.T, m any) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, e := range nn.StateDict(m) {
		b, err := e.Tensor.Bytes(context.Background())
		require.NoError(t, err)
		out[e.Name] = b
	}
	return out
}

func run(t *testing.T, ctx context.Context, l *learner) (map[string][]byte, *train.Result[*model, batch]) {
	t.Helper()
	r, err := l.Run(ctx)
	require.NoError(t, err)
	require.NoError(t, r.Saved)
	b := bits(t, r.Model)
	require.NoError(t, r.Close())
	return b, r
}

// values returns a history without durations.
func values(h train.History) train.History {
	out := append(train.History(nil), h...)
	for i := range out {
		out[i].Seconds = 0
	}
	return out
}

func TestLearns(t *testing.T) {
	l := newLearner("", 5)
	_, r := run(t, context.Background(), l)
	require.Equal(t, train.Completed, r.Reason)
	require.Equal(t, 5, r.Epochs)
	require.Equal(t, 5*6, r.Step)
	_, losses := r.History.Series(train.Valid, "loss")
	require.Len(t, losses, 5)
	require.Less(t, losses[4], 0.7*losses[0])
	_, accuracy := r.History.Series(train.Valid, "accuracy")
	require.Greater(t, accuracy[4], 85.0)
}

// TestResumeIsEqual trains in one run, in two runs, and with an interruption in the middle of an epoch.
func TestResumeIsEqual(t *testing.T) { resumeIsEqual(t, newLearner) }

func resumeIsEqual(t *testing.T, newLearner func(dir string, epochs int) *learner) {
	ctx := context.Background()
	want, whole := run(t, ctx, newLearner("", 3))

	t.Run("after an epoch", func(t *testing.T) {
		dir := t.TempDir()
		first, _ := run(t, ctx, newLearner(dir, 1))
		require.NotEqual(t, want, first)
		l := newLearner(dir, 3)
		l.Resume = true
		got, r := run(t, ctx, l)
		require.Equal(t, want, got)
		require.Equal(t, values(whole.History), values(r.History))
	})
	for name, at := range map[string]func(train.Stepped) bool{
		"within an epoch":  func(s train.Stepped) bool { return s.Split == train.Train && s.Step == 8 },
		"at its end":       func(s train.Stepped) bool { return s.Split == train.Train && s.Batch == s.Batches },
		"in validation":    func(s train.Stepped) bool { return s.Split == train.Valid && s.Epoch == 1 && s.Batch == 1 },
		"after validation": func(s train.Stepped) bool { return s.Split == train.Valid && s.Batch == s.Batches },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cctx, cancel := context.WithCancel(ctx)
			defer cancel()
			l := newLearner(dir, 3)
			l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
				if s, ok := e.(train.Stepped); ok && at(s) {
					cancel()
				}
			})}
			_, r := run(t, cctx, l)
			require.Equal(t, train.Interrupted, r.Reason)
			l = newLearner(dir, 3)
			l.Resume = true
			got, r := run(t, ctx, l)
			require.Equal(t, train.Completed, r.Reason)
			require.Equal(t, want, got)
			require.Equal(t, values(whole.History), values(r.History))
		})
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	want, _ := run(t, ctx, newLearner(dir, 3))
	last := filepath.Join(dir, "checkpoint", "step-000000018", "model.safetensors")
	b, err := os.ReadFile(last)
	require.NoError(t, err)
	b[len(b)-3] ^= 1
	require.NoError(t, os.WriteFile(last, b, 0o666))
	var warnings []string
	l := newLearner(dir, 3)
	l.Resume = true
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		if w, ok := e.(train.Warned); ok {
			warnings = append(warnings, w.Text)
		}
	})}
	got, r := run(t, ctx, l)
	require.Equal(t, 18, r.Step)
	require.Equal(t, want, got) // the third epoch, again
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "step-000000018 is damaged")
	require.Contains(t, warnings[0], "going on from step 12")
}

// TestMemory counts the tensors of the device between epochs, without the garbage collector, which would hide leaks.
func TestMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, change := range map[string]func(*learner){
		"plain":       func(*learner) {},
		"accumulated": func(l *learner) { l.Accumulate = 2 },
		"clipped":     func(l *learner) { l.Clip = &optim.Clip{Norm: 1} },
		"read late":   func(l *learner) { l.ReadEvery = 3 },
		"two devices": func(l *learner) { l.Open = openSeveral(2, 96) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLearner("", 4)
			change(l)
			var devices []*tensor.Device
			opens := l.Open
			l.Open = func(ctx context.Context) (*parts, error) {
				p, err := opens(ctx)
				if err == nil {
					devices = append(devices, p.Device)
					for _, r := range p.Replicas {
						devices = append(devices, r.Device)
					}
				}
				return p, err
			}
			var held []int64
			l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
				if _, ok := e.(train.EpochEnded); !ok {
					return
				}
				var n int64
				for _, d := range devices {
					require.NoError(t, d.Sync(context.Background()))
					m, ok := d.Memory()
					require.True(t, ok)
					n += m.Tensors
				}
				held = append(held, n)
			})}
			run(t, context.Background(), l)
			require.Len(t, held, 8)
			for _, n := range held {
				require.Equal(t, held[0], n, "%v", held)
			}
		})
	}
}

func TestAccumulate(t *testing.T) {
	// Without batch norm and dropout, whole batches and accumulated halves have equal gradients.
	train2 := func(size, accumulate int) map[string][]float64 {
		l := newLearner("", 2)
		l.Accumulate = accumulate
		l.Open = func(ctx context.Context) (*parts, error) {
			p, err := open(ctx)
			if err != nil {
				return nil, err
			}
			p.Optimizer = optim.NewSGD(optim.SGDConfig{Momentum: 0.9})
			p.Train, err = data.NewLoader(points(64, 1), batcher, p.Device, data.Options{Batch: size, Workers: 1})
			return p, err
		}
		l.TrainStep = func(_ context.Context, m *model, b batch) (train.Output, error) {
			scores := m.Out.Forward(m.In.Forward(b.X).Relu())
			return train.Output{Loss: scores.CrossEntropyLoss(b.Y, tensor.ClassOptions{}), Predictions: scores, Targets: b.Y, Items: b.n}, nil
		}
		r, err := l.Run(context.Background())
		require.NoError(t, err)
		require.Equal(t, 8, r.Step)
		out := map[string][]float64{}
		for _, e := range nn.StateDict(r.Model) {
			b, err := e.Tensor.Bytes(context.Background())
			require.NoError(t, err)
			out[e.Name] = tensor.Float64s(e.Tensor.DType(), b)
		}
		require.NoError(t, r.Close())
		return out
	}
	whole, halves := train2(16, 1), train2(8, 2)
	for name := range whole {
		require.InDeltaSlice(t, whole[name], halves[name], 1e-5, name)
	}
}

func TestEarlyStop(t *testing.T) {
	l := newLearner("", 50)
	l.Stop = &train.EarlyStop{Watch: train.Watch{Metric: "accuracy"}, Patience: 2}
	_, r := run(t, context.Background(), l)
	require.Equal(t, train.StoppedEarly, r.Reason)
	require.Less(t, r.Epochs, 50)
	best, ok := r.History.Best(train.Watch{Metric: "accuracy"}, metric.Higher)
	require.True(t, ok)
	require.Equal(t, r.Epochs-3, best.Epoch)
}

func TestBestAndEvaluate(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	l := newLearner(dir, 6)
	l.Checkpoints.Keep = 1
	r, err := l.Run(ctx)
	require.NoError(t, err)
	defer r.Close()
	best, ok := r.History.Best(train.Watch{}, metric.Lower)
	require.True(t, ok)
	chosen, err := l.LoadBest(ctx, r.Parts)
	require.NoError(t, err)
	require.Equal(t, best, chosen)
	rec, err := l.Evaluate(ctx, r.Parts, r.Parts.Valid)
	require.NoError(t, err)
	require.Equal(t, train.Test, rec.Split)
	require.Equal(t, best.Values["loss"], rec.Values["loss"], "the best model has the best loss again")
}

// Saved is left out of the order of events: another goroutine sends it.
func TestEventsAndArtifacts(t *testing.T) {
	dir := t.TempDir()
	l := newLearner(dir, 2)
	l.Name = "points"
	l.Config = map[string]any{"lr": 0.02}
	var log bytes.Buffer
	var kinds strings.Builder
	plain := train.NewPlain(&log, train.PlainOptions{})
	l.Listeners = []train.Listener{plain, train.ListenerFunc(func(e train.Event) {
		switch e := e.(type) {
		case train.Started:
			kinds.WriteString("S")
		case train.EpochStarted:
			kinds.WriteString("(" + string(e.Split[0]))
		case train.Stepped:
			kinds.WriteString(".")
		case train.EpochEnded:
			kinds.WriteString(")")
		case train.Ended:
			kinds.WriteString("E")
		}
	})}
	run(t, context.Background(), l)
	require.Equal(t, "S(t......)(v...)(t......)(v...)E", kinds.String())
	require.Contains(t, log.String(), "points: 2 epochs of 6 batches on builtin:cpu:0, 146 parameters\n")
	require.Regexp(t, `epoch 2/2 valid loss 0\.\d+, accuracy [\d.]+ % in \d`, log.String())
	require.Contains(t, log.String(), "checkpoint step-000000012")
	for _, f := range []string{"config.json", "experiment.log", "summary.json", "train/epoch-1/loss.log", "train/epoch-2/learning-rate.log", "valid/epoch-2/accuracy.log", "checkpoint/best"} {
		require.FileExists(t, filepath.Join(dir, f))
	}
	b, err := os.ReadFile(filepath.Join(dir, "train", "epoch-2", "loss.log"))
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(string(b), "\n"))
	require.True(t, strings.HasPrefix(string(b), "7 "), string(b))
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	for want, change := range map[string]func(*learner){
		"without Open":       func(l *learner) { l.Open = nil },
		"0 epochs":           func(l *learner) { l.Epochs = 0 },
		"resume without":     func(l *learner) { l.Resume = true },
		"restarts without":   func(l *learner) { l.Restarts = 1 },
		`named "loss"`:       func(l *learner) { l.TrainMetrics = []metric.Metric{metric.Loss()} },
		"no metric is named": func(l *learner) { l.Stop = &train.EarlyStop{Watch: train.Watch{Metric: "f"}} },
		"returned no loss": func(l *learner) {
			l.TrainStep = func(context.Context, *model, batch) (o train.Output, err error) { return }
		},
		"batch 1: broken": func(l *learner) {
			l.TrainStep = func(context.Context, *model, batch) (o train.Output, err error) { return o, errors.New("broken") }
		},
		"want one element": func(l *learner) {
			l.TrainStep = func(_ context.Context, m *model, b batch) (o train.Output, err error) {
				return train.Output{Loss: m.Forward(b.X)}, nil
			}
		},
		"epoch 1, batch 1: ": func(l *learner) {
			l.TrainStep = func(_ context.Context, m *model, b batch) (o train.Output, err error) { b.X.Reshape(3); return }
		},
		"records no gradients": func(l *learner) { l.Open = untracked },
	} {
		l := newLearner("", 1)
		change(l)
		_, err := l.Run(ctx)
		require.ErrorContains(t, err, want)
	}
}

func untracked(ctx context.Context) (*parts, error) {
	p, err := open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := cpu()
	if err != nil {
		return nil, err
	}
	p.Device, err = tensor.On(ctx, c)
	return p, err
}

func TestKill(t *testing.T) {
	kill, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := t.TempDir()
	l := newLearner(dir, 3)
	l.Kill = kill
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		if s, ok := e.(train.Stepped); ok && s.Step == 2 {
			cancel()
		}
	})}
	_, err := l.Run(context.Background())
	require.ErrorIs(t, err, context.Canceled)
	steps, err := filepath.Glob(filepath.Join(dir, "checkpoint", "step-*"))
	require.NoError(t, err)
	require.Empty(t, steps)
}

func TestNumberJSON(t *testing.T) {
	for _, v := range []float64{0, 1.5, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 0.1} {
		b, err := train.Number(v).MarshalJSON()
		require.NoError(t, err)
		var n train.Number
		require.NoError(t, n.UnmarshalJSON(b))
		require.Equal(t, math.Float64bits(v), math.Float64bits(float64(n)), "%v", v)
	}
}
