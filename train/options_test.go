package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/optim/schedule"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

// TestCheckpointing trains on a device that recomputes values instead of keeping them: the results are equal.
func TestCheckpointing(t *testing.T) {
	ctx := context.Background()
	want, _ := run(t, ctx, newLearner("", 2))
	l := newLearner("", 2)
	l.Open = func(ctx context.Context) (*parts, error) {
		c, err := cpu()
		if err != nil {
			return nil, err
		}
		return opened(ctx, c, autodiff.WithCheckpointing(autodiff.Balanced))
	}
	got, _ := run(t, ctx, l)
	require.Equal(t, want, got)
}

// TestModes checks inside the steps that gradients and dropout are enabled in training only.
func TestModes(t *testing.T) {
	l := newLearner("", 2)
	var training, validation int
	l.TrainStep = func(ctx context.Context, m *model, b batch) (train.Output, error) {
		o, err := step(ctx, m, b)
		require.True(t, o.Loss.Tracked())
		training++
		return o, err
	}
	l.ValidStep = func(ctx context.Context, m *model, b batch) (train.Output, error) {
		o, err := step(ctx, m, b)
		require.False(t, o.Loss.Tracked())
		again, _ := step(ctx, m, b)
		same, rerr := o.Predictions.AllEqual(ctx, again.Predictions)
		require.NoError(t, rerr)
		require.True(t, same, "no random masks")
		validation++
		return o, err
	}
	run(t, context.Background(), l)
	require.Equal(t, []int{12, 6}, []int{training, validation})
}

// TestEarlyStopResumes checks that a run that was stopped early stays stopped.
func TestEarlyStopResumes(t *testing.T) {
	dir := t.TempDir()
	stop := &train.EarlyStop{Watch: train.Watch{Metric: "accuracy"}, Patience: 1}
	l := newLearner(dir, 50)
	l.Stop = stop
	want, first := run(t, context.Background(), l)
	require.Equal(t, train.StoppedEarly, first.Reason)
	l = newLearner(dir, 50)
	l.Stop, l.Resume = stop, true
	got, r := run(t, context.Background(), l)
	require.Equal(t, train.StoppedEarly, r.Reason)
	require.Equal(t, first.Epochs, r.Epochs)
	require.Equal(t, want, got)
}

// TestPlateau checks that the metric, and so the rate, continues in a resumed run.
func TestPlateau(t *testing.T) {
	rates := func(dir string, epochs int, resume bool) []float64 {
		l := newLearner(dir, epochs)
		l.Resume = resume
		l.Open = func(ctx context.Context) (*parts, error) {
			p, err := open(ctx)
			p.Rate = schedule.NewPlateau(0.01, schedule.PlateauConfig{Patience: -1, Threshold: 10, Absolute: true})
			return p, err
		}
		_, r := run(t, context.Background(), l)
		_, v := r.History.Series(train.Train, "learning rate")
		return v
	}
	whole := rates("", 4, false)
	require.InDeltaSlice(t, []float64{0.01, 0.01, 0.001, 0.0001}, whole, 1e-12)
	dir := t.TempDir()
	rates(dir, 2, false)
	require.Equal(t, whole, rates(dir, 4, true))
}

func TestLossIsNoNumber(t *testing.T) {
	l := newLearner("", 2)
	l.TrainStep = func(ctx context.Context, m *model, b batch) (train.Output, error) {
		o, err := step(ctx, m, b)
		o.Loss = o.Loss.MulScalar(math.Inf(1))
		return o, err
	}
	l.ValidStep, l.NonFinite = step, -1
	var warnings []string
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		if w, ok := e.(train.Warned); ok {
			warnings = append(warnings, w.Text)
		}
	})}
	_, r := run(t, context.Background(), l)
	require.Equal(t, train.Completed, r.Reason)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "the loss is +Inf in epoch 1, step 1")
}

// TestNoMetrics checks that the default metric is the loss.
func TestNoMetrics(t *testing.T) {
	l := newLearner("", 1)
	l.Metrics, l.TrainMetrics = nil, nil
	l.ReadEvery = 100
	var fresh []bool
	l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
		if s, ok := e.(train.Stepped); ok && s.Split == train.Train {
			fresh = append(fresh, s.Fresh)
		}
	})}
	_, r := run(t, context.Background(), l)
	require.Equal(t, []bool{false, false, false, false, false, true}, fresh)
	_, v := r.History.Series(train.Valid, "loss")
	require.Len(t, v, 1)
}

// Of two faults in the metrics, the one of training is reported.
func TestFirstFaultOfMetrics(t *testing.T) {
	for range 20 {
		l := newLearner("", 1)
		l.TrainMetrics, l.ValidMetrics = []metric.Metric{nil}, []metric.Metric{nil}
		_, err := l.Run(context.Background())
		require.ErrorContains(t, err, "in train is nil")
	}
}
