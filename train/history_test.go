package train

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/train/metric"
)

func losses(values ...float64) (h History) {
	for i, v := range values {
		h = append(h, Record{Split: Train, Epoch: i, Values: map[string]Number{"loss": -100}}, Record{Split: Valid, Epoch: i, Values: map[string]Number{"loss": Number(v)}})
	}
	return h
}

func TestEarlyStopRule(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		stop   EarlyStop
		d      metric.Direction
		values []float64
		want   bool
	}{
		{"better all the time", EarlyStop{Patience: 1}, metric.Lower, []float64{3, 2, 1}, false},
		{"worse once", EarlyStop{Patience: 1}, metric.Lower, []float64{3, 2, 2.5}, true},
		{"equal is not better", EarlyStop{}, metric.Lower, []float64{3, 3}, true},
		{"patience", EarlyStop{Patience: 2}, metric.Lower, []float64{3, 2, 2.5}, false},
		{"patience is over", EarlyStop{Patience: 2}, metric.Lower, []float64{3, 2, 2.5, 2.1}, true},
		{"better in time", EarlyStop{Patience: 2}, metric.Lower, []float64{3, 2, 2.5, 1.9}, false},
		{"higher", EarlyStop{Patience: 1}, metric.Higher, []float64{1, 2, 3}, false},
		{"higher no more", EarlyStop{Patience: 1}, metric.Higher, []float64{1, 2, 1.5}, true},
		{"too little", EarlyStop{Patience: 1, MinDelta: 0.1}, metric.Lower, []float64{3, 2.95}, true},
		{"enough", EarlyStop{Patience: 1, MinDelta: 0.1}, metric.Lower, []float64{3, 2.85}, false},
		{"too little, higher", EarlyStop{Patience: 1, MinDelta: 0.1}, metric.Higher, []float64{3, 3.05}, true},
		{"no number is worse", EarlyStop{Patience: 2}, metric.Lower, []float64{3, nan, nan}, true},
		{"no number at first", EarlyStop{Patience: 3}, metric.Lower, []float64{nan, nan, 1, 2}, false},
		{"training is not watched", EarlyStop{Watch: Watch{Split: Test}}, metric.Lower, []float64{1, 2, 3}, false},
	} {
		h := losses(c.values...)
		if c.stop.Split == Test {
			require.False(t, (&EarlyStop{Watch: c.stop.Watch, Patience: 1}).done(nil, c.d), c.name)
			continue
		}
		require.Equal(t, c.want, c.stop.done(h, c.d), c.name)
	}
}

func TestBestRecord(t *testing.T) {
	h := losses(math.NaN(), 2, 1, 1, 3)
	best, ok := h.Best(Watch{}, metric.Lower)
	require.True(t, ok)
	require.Equal(t, 2, best.Epoch)
	best, ok = h.Best(Watch{}, metric.Higher)
	require.True(t, ok)
	require.Equal(t, 4, best.Epoch)
	_, ok = h.Best(Watch{Metric: "none"}, metric.Lower)
	require.False(t, ok)
	_, ok = losses(math.NaN()).Best(Watch{}, metric.Lower)
	require.False(t, ok)
	require.Equal(t, "valid loss", Watch{}.String())
}

func TestSummary(t *testing.T) {
	require.Equal(t, "split  metric  best  epoch  last  epoch\ntrain  loss    -100  1      -100  3\nvalid  loss    1     2      3     3\n", losses(2, 1, 3).Summary(metric.Loss().Info()))
}

func TestPlain(t *testing.T) {
	var b bytes.Buffer
	p := NewPlain(&b, PlainOptions{Every: time.Second})
	at := time.Unix(0, 0)
	s := Started{Name: "run", Device: "cpu", Epochs: 2, Batches: map[Split]int{Train: 40}, Metrics: map[Split][]metric.Info{Train: {metric.Loss().Info(), metric.Accuracy(metric.ClassOptions{}).Info()}}}
	p.Event(s)
	p.Event(EpochStarted{Split: Train})
	for i := range 40 {
		at = at.Add(100 * time.Millisecond)
		p.Event(Stepped{Split: Train, Batch: i + 1, Batches: 40, Time: at, Readings: []Reading{{"loss", 1.23456, 1}, {"accuracy", 50, 50}}})
	}
	p.Event(EpochEnded{Record: Record{Split: Train, Seconds: 4}, Readings: []Reading{{"loss", 0.5, 0.5}, {"accuracy", 97.5, 90}}, Best: true})
	p.Event(Saved{Path: "/a/step-000000040", Best: true})
	p.Event(Warned{"careful"})
	s.Step, s.Epoch = 40, 1
	p.Event(s)
	p.Event(Ended{Reason: Completed, Epochs: 2, Step: 80, Took: 3700 * time.Second})
	require.Equal(t, `run: 2 epochs of 40 batches on cpu, 0 parameters
epoch 1/2 train 11/40 loss 1.235, accuracy 50 %, 2.9s left
epoch 1/2 train 21/40 loss 1.235, accuracy 50 %, 1.9s left
epoch 1/2 train 31/40 loss 1.235, accuracy 50 %, 900ms left
epoch 1/2 train loss 0.5, accuracy 97.5 % in 4.0s (best)
checkpoint step-000000040 (best)
warning: careful
run goes on at epoch 2 of 2, step 40, on cpu
completed after 2 epochs, 80 steps, 1h01m
`, b.String())
}
