package data_test

import (
	"context"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

func open(t testing.TB) *tensor.Device {
	t.Helper()
	dev, err := tensor.Open(context.Background(), "cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

func values[E dtype.Native](t testing.TB, x *tensor.Tensor, err error) ([]int, []E) {
	t.Helper()
	require.NoError(t, err)
	v, err := tensor.Data[E](context.Background(), x)
	require.NoError(t, err)
	return x.Shape(), v
}

func self[T any](v T) T { return v }

func TestStack(t *testing.T) {
	dev := open(t)
	x, err := data.Stack(dev, [][]float32{{1, 2, 3, 4}, {5, 6, 7, 8}}, self, 2, 2)
	shape, v := values[float32](t, x, err)
	require.Equal(t, []int{2, 2, 2}, shape)
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, v)

	x, err = data.Stack(dev, [][]uint8{{1, 2, 3}}, self)
	shape, b := values[uint8](t, x, err)
	require.Equal(t, []int{1, 3}, shape)
	require.Equal(t, []uint8{1, 2, 3}, b)

	x, err = data.Scalars(dev, []int{4, 5}, func(i int) int64 { return int64(i) })
	shape, n := values[int64](t, x, err)
	require.Equal(t, []int{2}, shape)
	require.Equal(t, []int64{4, 5}, n)

	// Two channels of two pixels: v·scale + shift of the channel.
	x, err = data.StackBytes(dev, [][]byte{{0, 2, 4, 255}}, self, []float32{0.5, 2}, []float32{1, -1}, 2, 1, 2)
	shape, v = values[float32](t, x, err)
	require.Equal(t, []int{1, 2, 1, 2}, shape)
	require.Equal(t, []float32{1, 2, 7, 509}, v)
}

func TestStackFaults(t *testing.T) {
	dev := open(t)
	_, err := data.Stack(dev, [][]float32{{1, 2}, {3}}, self)
	require.ErrorIs(t, err, core.ErrShape)
	require.ErrorContains(t, err, "item 1 of the batch has 1 elements, want 2")
	_, err = data.Stack(dev, [][]float32{{1, 2}}, self, 3)
	require.ErrorIs(t, err, core.ErrShape)
	_, err = data.StackBytes(dev, [][]byte{{1, 2, 3}}, self, []float32{1, 1}, []float32{0, 0})
	require.ErrorIs(t, err, core.ErrShape)
	_, err = data.StackBytes(dev, [][]byte{{1}}, self, nil, nil)
	require.Error(t, err)
	x, err := data.Stack(dev, [][]float32{}, self, 2)
	shape, _ := values[float32](t, x, err)
	require.Equal(t, []int{0, 2}, shape)
}

// A batcher computes on the device of the loader. A wrong shape in it is an error of the loop.
func TestLoaderOnDevice(t *testing.T) {
	dev := open(t)
	sum := func(items []int, dev *tensor.Device) (*tensor.Tensor, error) {
		x, err := data.Scalars(dev, items, func(i int) float32 { return float32(i) })
		if err != nil || len(items) < 4 {
			return tensor.From(dev, []float32{1, 2}, 3), err
		}
		return x.Sum(), nil
	}
	l, err := data.NewLoader(upTo(10), sum, dev, data.Options{Batch: 4, Workers: 2})
	require.NoError(t, err)
	var sums []float32
	for x, err := range l.Batches(context.Background()) {
		if err != nil {
			require.ErrorIs(t, err, core.ErrShape)
			continue
		}
		_, v := values[float32](t, x, nil)
		sums = append(sums, v...)
	}
	require.Equal(t, []float32{6, 22}, sums)
}
