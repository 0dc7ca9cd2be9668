package train_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

// smooth is a step without random masks and batch statistics: equal on one device and on several.
func smooth(_ context.Context, m *model, b batch) (train.Output, error) {
	scores := m.Out.Forward(m.In.Forward(b.X).Relu())
	return train.Output{Loss: scores.CrossEntropyLoss(b.Y, tensor.ClassOptions{}), Predictions: scores, Targets: b.Y, Items: b.n}, nil
}

// openSeveral creates parts on n devices whose batches together have the given number of items.
func openSeveral(n int, items int) func(context.Context) (*parts, error) {
	return func(ctx context.Context) (*parts, error) {
		main, err := open(ctx)
		if err != nil {
			return nil, err
		}
		devices := []*tensor.Device{main.Device}
		closers := []func() error{main.Close}
		for range n - 1 {
			p, err := open(ctx)
			if err != nil {
				return nil, err
			}
			devices = append(devices, p.Device)
			closers = append(closers, p.Close)
			r := train.Replica[*model, batch]{Device: p.Device, Model: p.Model}
			r.Model.In.Weight.Set(r.Model.In.Weight.Value().MulScalar(2)) // training makes them equal
			r.Device.Seed(100 + n)
			main.Replicas = append(main.Replicas, r)
		}
		whole, err := data.NewLoader(points(items, 1), batcher, nil, data.Options{Batch: 24 / n, Shuffle: true, Workers: 1})
		if err != nil {
			return nil, err
		}
		shards, err := whole.Shards(devices...)
		if err != nil {
			return nil, err
		}
		main.Train = shards[0]
		for i := range main.Replicas {
			main.Replicas[i].Train = shards[i+1]
		}
		main.Optimizer = optim.NewSGD(optim.SGDConfig{Momentum: 0.9})
		main.Close = func() (err error) {
			for _, c := range closers {
				err = errors.Join(err, c())
			}
			return err
		}
		return main, nil
	}
}

func weights(t *testing.T, m any) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for _, e := range nn.StateDict(m) {
		b, err := e.Tensor.Bytes(context.Background())
		require.NoError(t, err)
		out[e.Name] = tensor.Float64s(e.Tensor.DType(), b)
	}
	return out
}

// TestDevices trains on one device and on several with the same items in each step. 89 items leave short and missing batches at
// the end of the epoch, so that the mean must be weighted by items.
func TestDevices(t *testing.T) { devices(t, dtype.Invalid, 1e-5) }

// All devices use the loss scale of the main device.
func TestDevicesScaled(t *testing.T) { devices(t, dtype.F16, 2e-3) }

func devices(t *testing.T, autocast dtype.DType, tolerance float64) {
	ctx := context.Background()
	results := map[int]*train.Result[*model, batch]{}
	for _, n := range []int{1, 2, 3} {
		l := newLearner("", 2)
		l.Open = openSeveral(n, 89)
		l.TrainStep = smooth
		l.Clip = &optim.Clip{Norm: 0.5}
		l.Autocast = autocast
		r, err := l.Run(ctx)
		require.NoError(t, err)
		defer r.Close()
		require.Equal(t, 8, r.Step)
		results[n] = r
		main := weights(t, r.Model)
		for _, x := range r.Replicas {
			for _, p := range nn.Trained(x.Model) {
				b, err := p.Value().Bytes(ctx)
				require.NoError(t, err)
				require.Equal(t, main[p.Name], tensor.Float64s(p.DType(), b), p.Name)
			}
		}
	}
	want := weights(t, results[1].Model)
	_, losses := results[1].History.Series(train.Train, "loss")
	for _, n := range []int{2, 3} {
		got := weights(t, results[n].Model)
		for name := range want {
			require.InDeltaSlice(t, want[name], got[name], tolerance, "%s on %d devices", name, n)
		}
		_, l := results[n].History.Series(train.Train, "loss")
		require.InDeltaSlice(t, losses, l, tolerance)
	}
}

// TestDevicesResume uses random masks on each device.
func TestDevicesResume(t *testing.T) {
	ctx := context.Background()
	several := func(dir string, epochs int) *learner {
		l := newLearner(dir, epochs)
		l.Open = openSeveral(2, 89)
		return l
	}
	want, whole := run(t, ctx, several("", 3))
	dir := t.TempDir()
	cctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := several(dir, 3)
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		if s, ok := e.(train.Stepped); ok && s.Step == 6 {
			cancel()
		}
	})}
	_, r := run(t, cctx, l)
	require.Equal(t, train.Interrupted, r.Reason)
	l = several(dir, 3)
	l.Resume = true
	got, r := run(t, ctx, l)
	for name := range want {
		if name != "norm.running_mean" && name != "norm.running_var" {
			require.Equal(t, want[name], got[name], name)
		}
	}
	require.Equal(t, len(whole.History), len(r.History))
	one := newLearner(dir, 3)
	one.Resume = true
	_, err := one.Run(ctx)
	require.ErrorContains(t, err, "the checkpoint is of 2 devices, want 1")
}
