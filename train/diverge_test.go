package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

// losing returns a step that changes the loss of selected batches by spoil. bad selects them by number, counted from 1.
func losing(bad func(n int) bool, spoil func(*tensor.Tensor) *tensor.Tensor) train.Step[*model, batch] {
	n := 0
	return func(ctx context.Context, m *model, b batch) (train.Output, error) {
		o, err := step(ctx, m, b)
		if n++; err == nil && bad(n) {
			o.Loss = spoil(o.Loss)
		}
		return o, err
	}
}

func toNaN(l *tensor.Tensor) *tensor.Tensor { return l.MulScalar(math.NaN()) }

// plusInf returns an infinite loss with the gradient of l.
func plusInf(l *tensor.Tensor) *tensor.Tensor { return l.AddScalar(math.Inf(1)) }

func TestDiverged(t *testing.T) {
	dir := t.TempDir()
	l := newLearner(dir, 10)
	l.Checkpoints.Every, l.ReadEvery = 1, 1
	l.TrainStep = losing(func(n int) bool { return n >= 4 }, toNaN)
	l.ValidStep = step
	_, err := l.Run(context.Background())
	require.ErrorIs(t, err, train.ErrDiverged)
	require.ErrorContains(t, err, "the loss is NaN since step 4, for 3 batches in a row")
	require.ErrorContains(t, err, `tensor "in.weight"`)
	require.ErrorContains(t, err, "the checkpoint of step 3 is the last good one")
	steps, err := filepath.Glob(filepath.Join(dir, "checkpoint", "step-*"))
	require.NoError(t, err)
	require.Equal(t, "step-000000003", filepath.Base(steps[len(steps)-1]))
	b, err := os.ReadFile(filepath.Join(steps[len(steps)-1], "model.safetensors"))
	require.NoError(t, err)
	file, err := record.Parse(b)
	require.NoError(t, err)
	for _, name := range file.Names() {
		info, raw, err := file.Bytes(name)
		require.NoError(t, err)
		for _, v := range tensor.Float64s(info.DType, raw) {
			require.False(t, math.IsNaN(v), name)
		}
	}
}

// Losses that are not finite and do not change the parameters are tolerated, if fewer occur in a row than the patience.
func TestDivergedPatience(t *testing.T) {
	for _, c := range []struct {
		patience int
		bad      func(n int) bool
		fails    string
	}{
		{0, func(n int) bool { return n%6 == 2 || n%6 == 3 }, ""},
		{0, func(n int) bool { return n >= 2 && n <= 4 }, "the loss is +Inf since step 2, for 3 batches in a row; all parameters are finite"},
		{4, func(n int) bool { return n >= 2 && n <= 4 }, ""},
		{1, func(n int) bool { return n == 5 }, "since step 5, for 1 batches"},
		{0, func(n int) bool { return n == 12 }, "since step 12, for 1 batches"}, // the last of the run
		{-1, func(n int) bool { return n > 2 }, ""},
	} {
		for _, every := range []int{1, 4} {
			l := newLearner("", 2)
			l.NonFinite, l.ReadEvery = c.patience, every
			l.TrainStep, l.ValidStep = losing(c.bad, plusInf), step
			r, err := l.Run(context.Background())
			if c.fails != "" {
				require.ErrorIs(t, err, train.ErrDiverged)
				require.ErrorContains(t, err, c.fails)
				continue
			}
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
	}
}

// The update of the last batch is checked too.
func TestDivergedParameters(t *testing.T) {
	l := newLearner("", 1)
	l.TrainStep = func(ctx context.Context, m *model, b batch) (train.Output, error) {
		o, err := step(ctx, m, b)
		if err == nil {
			o.Loss = o.Loss.Add(m.Out.Bias.Value().Sub(m.Out.Bias.Value()).Sqrt().Sum()) // 0, where the derivative of Sqrt is infinite
		}
		return o, err
	}
	l.ValidStep, l.NonFinite = step, 100
	_, err := l.Run(context.Background())
	require.ErrorIs(t, err, train.ErrDiverged)
}
