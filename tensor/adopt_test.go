package tensor_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// TestAdopt checks that adopted memory is read in place or copied, and released once, after the last read.
func TestAdopt(t *testing.T) {
	for name, d := range map[string]*tensor.Device{"in place": open(t), "copied": openWith(t, &strict{})} {
		t.Run(name, func(t *testing.T) {
			var released atomic.Int64
			release := func() { released.Add(1) }
			b := dtype.Bytes([]float32{1, 2, 3, 4})
			_, err := d.Adopt(ctx, dtype.F32, shape.Of(3), b, release)
			require.ErrorIs(t, err, core.ErrShape)
			require.Zero(t, released.Load())
			x, err := d.Adopt(ctx, dtype.F32, shape.Of(4), b, release)
			require.NoError(t, err)
			require.Equal(t, name == "copied", released.Load() == 1)
			y := x.MulScalar(2)
			require.Equal(t, []float32{2, 4, 6, 8}, data[float32](t, y.On(stream(t, d))))
			x.Release()
			require.NoError(t, d.Sync(ctx))
			require.EqualValues(t, 1, released.Load())
			require.Equal(t, []float32{1, 2, 3, 4}, dtype.Slice[float32](b))
		})
	}
}
