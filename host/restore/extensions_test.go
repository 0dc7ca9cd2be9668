package restore_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host/restore"
)

// Adopted memory stays lent while its tensor is live, so that the tensor can be restored after a loss, and is then released once.
func TestAdoptedMemory(t *testing.T) {
	var x births
	_, d, s := x.device(t, restore.Options{})
	h := extension[core.HostMemory](t, d)
	var released atomic.Int32
	require.NoError(t, h.Adopt(s, desc(1, 2), f32(1, 2), func() { released.Add(1) }))
	x.kill()
	require.Equal(t, f32(1, 2), read(t, s, desc(1, 2)))
	require.Zero(t, released.Load())
	require.ErrorIs(t, h.View(ctx, s, id(1), func([]byte) error { return nil }), core.ErrUnsupported)
	require.Error(t, h.Adopt(s, desc(2, 2), f32(1), func() { t.Error("release was called although Adopt failed") }))
	require.NoError(t, s.Submit(nil, []op.TensorID{id(1)}))
	require.NoError(t, d.Close())
	require.EqualValues(t, 1, released.Load())
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrClosed)
}

// After a loss, a copy between devices is repeated from the restored source.
func TestPeers(t *testing.T) {
	var x births
	b, d, s := x.device(t, restore.Options{})
	to, q := on(t, b)
	write(t, s, desc(1, 2), 1, 2)
	submit(t, s, node(t, "neg", id(2), desc(1, 2)))
	require.NoError(t, q.Wait(s.Signal()))
	require.NoError(t, extension[core.PeerCopy](t, to).CopyFrom(q, desc(3, 2), d, id(2)))
	require.NoError(t, s.Wait(q.Signal()))
	require.NoError(t, s.Submit(nil, []op.TensorID{id(1), id(2)}))
	x.kill()
	require.Equal(t, f32(-1, -2), read(t, q, desc(3, 2)))
	require.Zero(t, extension[core.MemoryStats](t, d).Memory().Tensors)
	require.ErrorIs(t, extension[core.PeerCopy](t, to).CopyFrom(q, desc(4, 2), nil, id(2)), core.ErrUnsupported)
	require.NoError(t, d.Close())
	x.kill()
	require.ErrorIs(t, readError(q, desc(3, 2)), core.ErrStale, "the device of its source is closed")
}

// A loss ends groups, and the results of their collectives are stale.
func TestCollectives(t *testing.T) {
	var x births
	b, d0, s0 := x.device(t, restore.Options{})
	d1, s1 := on(t, b)
	var groups [2]core.Group
	var wg sync.WaitGroup
	for i, d := range []core.Device{d0, d1} {
		wg.Go(func() {
			var err error
			groups[i], err = extension[core.Collectives](t, d).Join(ctx, "all", i, 2)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	write(t, s0, desc(1, 1), 1)
	write(t, s1, desc(2, 1), 2)
	require.NoError(t, groups[0].AllReduce(s0, core.ReduceSum, id(1), desc(3, 1)))
	require.NoError(t, groups[1].AllReduce(s1, core.ReduceSum, id(2), desc(4, 1)))
	require.Equal(t, f32(3), read(t, s0, desc(3, 1)))
	x.kill()
	require.Equal(t, f32(1), read(t, s0, desc(1, 1)))
	require.ErrorIs(t, readError(s0, desc(3, 1)), core.ErrStale)
	require.ErrorIs(t, groups[1].AllReduce(s1, core.ReduceSum, id(2), desc(5, 1)), core.ErrBackendLost)
}

// Unknown extensions are denied.
func TestExtensions(t *testing.T) {
	var x births
	b, d, s := x.device(t, restore.Options{})
	_, ok := core.Extension[core.Gradients](d)
	require.False(t, ok)
	_, ok = core.Extension[core.Pinning](d)
	require.False(t, ok)
	_, ok = core.Extension[core.Selective](d)
	require.False(t, ok)
	require.NotEmpty(t, b.Info().Devices)
	require.Contains(t, d.Capabilities().Ops, "add")
	first := d.NewIDs(3)
	require.Equal(t, first+3, d.NewIDs(1))
	require.ErrorIs(t, s.Wait(core.Failed(nil)), core.ErrAttr)
	_, err := b.Open(ctx, 7)
	require.ErrorIs(t, err, core.ErrNotFound)
}

// Supports of a Selective device restarts a lost backend and asks the new one.
func TestSelective(t *testing.T) {
	x := births{with: func(m *mortal, _ int) []ref.Option { m.picky = true; return nil }}
	b, d, _ := x.device(t, restore.Options{})
	n := node(t, "exp", id(2), desc(1, 1))
	x.kill()
	require.ErrorIs(t, extension[core.Selective](t, d).Supports(&n, []op.Desc{desc(1, 1)}), core.ErrUnsupported)
	require.EqualValues(t, 1, b.Restarts())
}
