package movement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// desk is the environment of kernels under test.
type desk struct {
	*testing.T
	env kernel.Env
}

func newDesk(t *testing.T) *desk {
	pool := par.New(2)
	t.Cleanup(pool.Close)
	return &desk{t, kernel.Env{Pool: pool, Account: mem.NewPool(1<<20, 1<<20).NewAccount()}}
}

func arrayOf[T dtype.Native](d *desk, dims []int, v ...T) kernel.Array {
	a := kernel.Array{DType: dtype.Of[T](), View: shape.Contiguous(dims)}
	b, err := d.env.Account.New(a.Size() * a.DType.Size())
	require.NoError(d, err)
	a.Buf = b
	copy(kernel.Flat[T](a), v)
	return a
}

// write runs cache_write along axis. own is the mask of operands that the call releases.
func (d *desk) write(axis int, own uint64, in ...kernel.Array) (kernel.Array, error) {
	var descs []op.Desc
	for _, a := range in {
		descs = append(descs, op.Desc{DType: a.DType, Shape: a.View.Shape})
	}
	n, err := op.New(op.CacheWrite, descs, op.Int("axis", axis))
	require.NoError(d, err)
	var c kernel.Call
	out := make([]kernel.Array, 1)
	c.Begin(&d.env, in, own, n.Outputs, out)
	err = Rules()[op.CacheWrite].Prepare(&n, descs)(&c)
	c.End(err != nil)
	return out[0], err
}

func TestCacheWrite(t *testing.T) {
	d := newDesk(t)
	cache := arrayOf[float32](d, []int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)
	y, err := d.write(1, 0, cache, arrayOf[int64](d, nil, 2), arrayOf[float32](d, []int{2, 2}, -1, -2, -3, -4))
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, -1, -2, 5, 6, -3, -4}, kernel.Flat[float32](y))
	require.NotSame(t, cache.Buf, y.Buf)
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, kernel.Flat[float32](cache), "the cache was not donated")

	y, err = d.write(1, 0, cache, arrayOf[int32](d, []int{2}, 3, 0), arrayOf[float32](d, []int{2, 1}, -1, -2))
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, -1, -2, 6, 7, 8}, kernel.Flat[float32](y), "a position for each entry")

	update := arrayOf[float32](d, []int{2, 2}, -1, -2, -3, -4)
	update.View = update.View.Permute([]int{1, 0}) // -1 -3; -2 -4
	y, err = d.write(0, 1, cache, arrayOf[int64](d, nil, 0), arrayOf[float32](d, []int{1, 4}, -5, -6, -7, -8))
	require.NoError(t, err)
	require.Same(t, cache.Buf, y.Buf, "written in place")
	require.Equal(t, []float32{-5, -6, -7, -8, 5, 6, 7, 8}, kernel.Flat[float32](y))
	cache.Buf.Release() // as the executor does with a donated operand
	y2, err := d.write(1, 1, y, arrayOf[int64](d, nil, 1), update)
	require.NoError(t, err)
	require.Same(t, y.Buf, y2.Buf)
	require.Equal(t, []float32{-5, -1, -3, -8, 5, -2, -4, 8}, kernel.Flat[float32](y2), "an update that is a view")
}

// A buffer with another reference, or of which the update is a view, is not written in place.
func TestCacheWriteShared(t *testing.T) {
	d := newDesk(t)
	cache := arrayOf[int32](d, []int{4}, 1, 2, 3, 4)
	cache.Buf.Retain() // another view still refers to it
	y, err := d.write(0, 1, cache, arrayOf[int64](d, nil, 1), arrayOf[int32](d, []int{2}, -1, -2))
	require.NoError(t, err)
	require.NotSame(t, cache.Buf, y.Buf)
	require.Equal(t, []int32{1, -1, -2, 4}, kernel.Flat[int32](y))
	cache.Buf.Release()

	part := cache
	part.View = cache.View.Slice([]int{0}, []int{1}, shape.Of(3))
	y, err = d.write(0, 1, cache, arrayOf[int64](d, nil, 1), part)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 1, 2, 3}, kernel.Flat[int32](y))
	require.Equal(t, []int32{1, 2, 3, 4}, kernel.Flat[int32](cache))
}

func TestCacheWriteOutside(t *testing.T) {
	d := newDesk(t)
	for _, at := range []int64{-1, 3, 4, 1 << 62, -1 << 63} {
		cache := arrayOf[float32](d, []int{4}, 1, 2, 3, 4)
		_, err := d.write(0, 1, cache, arrayOf[int64](d, nil, at), arrayOf[float32](d, []int{2}, 8, 9))
		require.ErrorIs(t, err, core.ErrIndex, "position %d", at)
		require.Equal(t, []float32{1, 2, 3, 4}, kernel.Flat[float32](cache), "nothing was written")
	}
	cache := arrayOf[float32](d, []int{2, 2}, 1, 2, 3, 4)
	_, err := d.write(1, 1, cache, arrayOf[int64](d, []int{2}, 0, 2), arrayOf[float32](d, []int{2, 1}, 8, 9))
	require.ErrorIs(t, err, core.ErrIndex)
	require.Equal(t, []float32{1, 2, 3, 4}, kernel.Flat[float32](cache), "nothing was written, not even the first entry")
	y, err := d.write(0, 0, cache, arrayOf[int64](d, nil, 99), arrayOf[float32](d, []int{0, 2}))
	require.NoError(t, err, "an empty update is legal at any position")
	require.Equal(t, []float32{1, 2, 3, 4}, kernel.Flat[float32](y))
}
