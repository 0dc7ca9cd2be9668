package train_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

// Batches are made on another stream than the model's, while a step computes on the model's. Afterwards the loader is back on its
// previous device.
func TestBatchesHaveAStreamOfTheirOwn(t *testing.T) {
	l := newLearner("", 1)
	var mu sync.Mutex
	var made []*tensor.Device
	var own *tensor.Device
	l.Open = func(ctx context.Context) (*parts, error) {
		p, err := open(ctx)
		if err != nil {
			return nil, err
		}
		own = p.Device
		p.Train, err = data.NewLoader(points(90, 1), func(items []item, dev *tensor.Device) (batch, error) {
			mu.Lock()
			made = append(made, dev)
			mu.Unlock()
			return batcher(items, dev)
		}, own, data.Options{Batch: 16, Workers: 2})
		return p, err
	}
	l.TrainStep = func(ctx context.Context, m *model, b batch) (train.Output, error) {
		require.True(t, *own == *b.X.Device(), "seen from the model's stream")
		return step(ctx, m, b)
	}
	r, err := l.Run(context.Background())
	require.NoError(t, err)
	require.Len(t, made, 6)
	for _, d := range made {
		require.True(t, own.Core() == d.Core())
		require.False(t, *own == *d)
	}
	require.Same(t, own, r.Train.(train.Copier).Device())
	require.NoError(t, r.Close())
}
