package source

import (
	"bytes"
	"context"
	"testing"

	"github.com/goburn/burn/data"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

func TestBatcher(t *testing.T) {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	defer dev.Close()
	s := &Images{Channels: 3, Height: 32, Width: 32, Classes: make([]string, 10)}
	for i := range 5 {
		require.NoError(t, s.append(record([]byte{byte(i)}, byte(i), 51, 255), 1))
	}
	batcher, err := s.Batcher([]float32{0, 0.2, 0.5}, []float32{1, 0.1, 0.5})
	require.NoError(t, err)
	l, err := data.NewLoader(s, batcher, dev, data.Options{Batch: 2})
	require.NoError(t, err)
	var labels []int64
	for b, err := range l.Batches(ctx) {
		require.NoError(t, err)
		first := len(labels)
		v, err := tensor.Data[int64](ctx, b.Labels)
		require.NoError(t, err)
		labels = append(labels, v...)
		require.Equal(t, []int{len(v), 3, 32, 32}, []int(b.Images.Shape()))
		x, err := tensor.Data[float32](ctx, b.Images)
		require.NoError(t, err)
		for i := range v {
			for c, want := range []float64{float64(first+i) / 255, 0, 1} {
				require.InDelta(t, want, x[i*3072+c*1024+7], 1e-6)
			}
		}
		b.Release()
	}
	require.Equal(t, []int64{0, 1, 2, 3, 4}, labels)
	plain, err := s.Batcher(nil, nil)
	require.NoError(t, err)
	_, err = plain([]Picture{{Pixels: bytes.Repeat([]byte{1}, 5)}}, dev)
	require.ErrorContains(t, err, "5 elements, want 3072")
	_, err = s.Batcher([]float32{1}, nil)
	require.ErrorContains(t, err, "one per channel")
}
