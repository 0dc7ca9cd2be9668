package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/tensor"
)

func TestWriteCache(t *testing.T) {
	d := open(t)
	c := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	part := c.Narrow(1, 0, 2) // shares memory, and keeps its elements
	y := c.WriteCache(-1, tensor.Scalar[int64](d, 1), tensor.From(d, []float32{-1, -2, -3, -4}, 2, 2))
	require.Equal(t, []float32{1, -1, -2, 4, -3, -4}, data[float32](t, y))
	require.Equal(t, []float32{1, 2, 4, 5}, data[float32](t, part))
	require.ErrorContains(t, tensor.Try(func() { c.Neg() }), "was released")
	require.ErrorContains(t, tensor.Try(func() { c.WriteCache(0, tensor.Scalar[int64](d, 0), y) }), "was released")
	c.Release() // a second Release is no error
	_, err := c.Bytes(ctx)
	require.ErrorIs(t, err, core.ErrUnknownTensor)

	y = y.WriteCache(1, tensor.From(d, []int32{2, 0}), tensor.From(d, []float32{8, 9}, 2, 1))
	require.Equal(t, []float32{1, -1, 8, 9, -3, -4}, data[float32](t, y))
	require.ErrorIs(t, tensor.Try(func() { y.WriteCache(0, tensor.Scalar[int64](d, 0), part) }), core.ErrShape)
	require.Equal(t, []float32{1, -1, 8, 9, -3, -4}, data[float32](t, y), "a call that panics gives nothing up")
}

func TestWriteCacheOutside(t *testing.T) {
	d := open(t)
	y := d.Zeros(dtype.F32, 3).WriteCache(0, tensor.Scalar[int64](d, 2), d.Zeros(dtype.F32, 2))
	_, err := y.Bytes(ctx)
	require.ErrorIs(t, err, core.ErrIndex)
}

// A cache is updated in memory that suffices for one copy of it, but not for two.
func TestWriteCacheInPlace(t *testing.T) {
	const n = 8 << 20 // elements, 32 MiB
	device, err := core.OpenPlace("cpu", core.Config{Options: map[string]string{"memory_limit": "48m"}})
	require.NoError(t, err)
	defer device.Close()
	d, err := tensor.On(ctx, device)
	require.NoError(t, err)
	defer d.Close()
	c, one := d.Zeros(dtype.F32, n), d.Full(dtype.F32, 1, 1)
	for i := range 200 { // several times the number of nodes that a device queues
		c = c.WriteCache(0, d.Full(dtype.I64, float64(i)), one)
	}
	part := c.Narrow(0, 198, 3)
	require.Equal(t, []float32{1, 1, 0}, data[float32](t, part))
	part.Release()
	copied := c.CacheWrite(0, d.Full(dtype.I64, 0), one)
	_, err = copied.Bytes(ctx)
	require.ErrorIs(t, err, core.ErrOutOfMemory, "CacheWrite copies a cache that is still in use")
}

// TestCacheWriteGradient checks the gradients of sum(y·w), where y is a cache with an update at 1. The gradient of the cache is w where
// nothing was written; the gradient of the update is w from 1 on.
func TestCacheWriteGradient(t *testing.T) {
	inner, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	defer inner.Close()
	d, err := tensor.On(ctx, autodiff.Device(inner))
	require.NoError(t, err)
	defer d.Close()
	w, at := tensor.From(d, []float32{1, 2, 3, 4}), tensor.Scalar[int64](d, 1)
	for name, write := range map[string]func(c, u tt) tt{
		"CacheWrite": func(c, u tt) tt { return c.CacheWrite(0, at, u) },
		"WriteCache": func(c, u tt) tt { return c.MulScalar(1).WriteCache(0, at, u) },
	} {
		c, u := d.Zeros(dtype.F32, 4).RequireGrad(), d.Zeros(dtype.F32, 2).RequireGrad()
		g, err := write(c, u).Mul(w).Sum().Backward()
		require.NoError(t, err, name)
		require.Equal(t, []float32{1, 0, 0, 4}, data[float32](t, g.Of(c)), name)
		require.Equal(t, []float32{2, 3}, data[float32](t, g.Of(u)), name)
	}
}
