package cpu

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/sdk/engine"
)

func TestWriteComputeRead(t *testing.T) {
	b := newBed(t)
	x, y := put(b, []float32{1, 2, 3}, 3), put(b, []float32{10}, 1)
	z := b.do(op.Add, list(x, y))[0]
	require.Equal(t, []float32{11, 12, 13}, get[float32](b, z))
	require.NoError(t, b.Sync(ctx))
}

func TestPoison(t *testing.T) {
	b := newBed(t)
	x := put(b, []float32{1, 2}, 2)
	bad := b.do(op.Gather, list(x, put(b, []int64{5}, 1)), op.Int("axis", 0))[0]
	after := b.do(op.Neg, list(bad))[0]
	good := b.do(op.Neg, list(x))[0]
	var first, second *core.NodeError
	buf := make([]byte, 4)
	require.ErrorAs(t, b.Read(ctx, bad.ID, buf), &first)
	require.ErrorIs(t, first, core.ErrIndex)
	require.ErrorAs(t, b.Read(ctx, after.ID, buf), &second)
	require.Same(t, first, second, "the error names the first node")
	require.Equal(t, "gather", first.Op)
	require.Equal(t, []float32{-1, -2}, get[float32](b, good), "other tensors stay good")
	require.ErrorIs(t, b.Sync(ctx), core.ErrIndex)
	require.NoError(t, b.Sync(ctx), "Sync reports it once")
	require.ErrorIs(t, b.Read(ctx, after.ID, buf), core.ErrIndex, "Read every time")
	require.NoError(t, b.Free([]op.TensorID{bad.ID, after.ID}))
	require.NoError(t, b.Sync(ctx))
}

func TestUnknownTensors(t *testing.T) {
	b := newBed(t)
	require.ErrorIs(t, b.Read(ctx, 99, nil), core.ErrUnknownTensor)
	require.NoError(t, b.Free([]op.TensorID{99}))
	require.ErrorIs(t, b.Sync(ctx), core.ErrUnknownTensor)
	n := b.node(op.Neg, list(op.Desc{ID: 77, DType: dtype.F32, Shape: shape.Of(1)}))
	require.NoError(t, b.Submit([]op.Node{n}))
	require.ErrorIs(t, b.Read(ctx, n.Outputs[0].ID, make([]byte, 4)), core.ErrUnknownTensor)
	require.ErrorIs(t, b.Sync(ctx), core.ErrUnknownTensor)

	d := op.Desc{ID: op.NewTensorID(3, 1), DType: dtype.F32, Shape: shape.Of(1)}
	require.NoError(t, b.Write(ctx, d, make([]byte, 4)))
	require.ErrorIs(t, b.Read(ctx, op.NewTensorID(2, 1), nil), core.ErrStale)
}

func TestReadWriteChecks(t *testing.T) {
	b := newBed(t)
	x := put(b, []float32{1, 2}, 2)
	require.ErrorIs(t, b.Read(ctx, x.ID, make([]byte, 4)), core.ErrShape)
	require.ErrorIs(t, b.Write(ctx, op.DescOf(dtype.F32, 2), make([]byte, 4)), core.ErrShape)
	require.ErrorIs(t, b.Write(ctx, op.DescOf(dtype.Invalid, 2), make([]byte, 4)), core.ErrDType)
	flags := op.Desc{ID: b.id(), DType: dtype.Bool, Shape: shape.Of(3)}
	require.NoError(t, b.Write(ctx, flags, []byte{0, 1, 7}))
	require.Equal(t, []bool{false, true, true}, get[bool](b, flags))
}

func TestOutOfMemory(t *testing.T) {
	_, b := open(t, core.Config{Threads: 1, Options: map[string]string{"memory_limit": "1M"}})
	x := put(b, make([]float32, 1<<16), 1<<16) // 256 KiB
	big := b.do(op.Expand, list(x), dims(64, 1<<16))[0]
	huge := b.do(op.Neg, list(big))[0] // 16 MiB
	require.ErrorIs(t, b.Sync(ctx), core.ErrOutOfMemory)
	require.ErrorIs(t, b.Read(ctx, huge.ID, make([]byte, 64<<18)), core.ErrOutOfMemory)
	small := b.do(op.Neg, list(x))[0]
	require.Len(t, get[float32](b, small), 1<<16, "the stream goes on")
	require.ErrorIs(t, b.Write(ctx, op.DescOf(dtype.U8, 1<<20), make([]byte, 1<<20)), core.ErrOutOfMemory)
	require.NoError(t, b.Free([]op.TensorID{x.ID, big.ID, huge.ID, small.ID}))
	d := op.DescOf(dtype.U8, 1<<20)
	d.ID = b.id()
	require.NoError(t, b.Write(ctx, d, make([]byte, 1<<20)), "frees in the queue make room")
}

func TestNothingLeaks(t *testing.T) {
	b := newBed(t)
	m := extension[core.MemoryStats](b)
	x := put(b, seq[float32](24), 2, 3, 4)
	y := b.do(op.Permute, list(x), op.Ints("axes", 2, 0, 1))[0]
	z := b.do(op.Neg, list(y))[0]
	w := b.do(op.Reshape, list(y), dims(24))[0] // a copy
	bad := b.do(op.Gather, list(x, put(b, []int64{9}, 1)), op.Int("axis", 0))[0]
	require.Error(t, b.Sync(ctx))
	require.EqualValues(t, 6, m.Memory().Tensors)
	require.Positive(t, m.Memory().InUse)
	require.NoError(t, b.Free([]op.TensorID{x.ID, y.ID, z.ID, w.ID, bad.ID, bad.ID - 1}))
	require.NoError(t, b.Sync(ctx))
	require.Zero(t, m.Memory().InUse)
	require.Zero(t, m.Memory().Tensors)
	require.Positive(t, m.Memory().Reserved, "freed memory is kept")
}

func TestDropReusesTheBuffer(t *testing.T) {
	b := newBed(t)
	x := put(b, seq[float32](1000), 1000)
	require.NoError(t, b.Sync(ctx))
	before := b.address(x.ID)
	n := b.node(op.Neg, list(x))
	n.Drop = 1
	require.NoError(t, b.Submit([]op.Node{n}))
	y := get[float32](b, n.Outputs[0])
	require.EqualValues(t, -999, y[999])
	require.Equal(t, before, b.address(n.Outputs[0].ID))
	require.ErrorIs(t, b.Read(ctx, x.ID, nil), core.ErrUnknownTensor)

	// A view of the result that is still in use must keep its elements.
	v := b.do(op.Reshape, list(n.Outputs[0]), dims(10, 100))[0]
	m := b.node(op.Abs, list(n.Outputs[0]))
	m.Drop = 1
	require.NoError(t, b.Submit([]op.Node{m}))
	require.EqualValues(t, 999, get[float32](b, m.Outputs[0])[999])
	require.EqualValues(t, -999, get[float32](b, v)[999])
}

func TestClose(t *testing.T) {
	b := newBed(t)
	put(b, seq[float32](1000), 1000)
	m := extension[core.MemoryStats](b)
	require.NoError(t, b.dev.Close())
	require.Zero(t, m.Memory().InUse)
	require.ErrorIs(t, b.Submit(nil), core.ErrClosed)
	require.ErrorIs(t, b.Sync(ctx), core.ErrClosed)
	require.ErrorIs(t, b.Read(ctx, 1, nil), core.ErrClosed)
	require.ErrorIs(t, b.dev.Close(), core.ErrClosed)
}

func TestCancel(t *testing.T) {
	d, err := newDriver(core.Config{Threads: 2})
	require.NoError(t, err)
	w := &watched{driver: d, gate: make(chan struct{})}
	be := engine.New[kernel.Array](w)
	t.Cleanup(func() { be.Close() })
	release := sync.OnceFunc(func() { close(w.gate) })
	t.Cleanup(release) // before Close, which waits for the nodes
	b := openBed(t, be, w)
	x := put(b, seq[float32](1<<20), 1<<20)
	nodes := make([]op.Node, 60)
	for i := range nodes {
		nodes[i] = b.node(op.Neg, list(x))
		x = nodes[i].Outputs[0]
		nodes[i].Drop = 1
	}
	require.NoError(t, b.Submit(nodes))
	short, stop := context.WithTimeout(ctx, 5*time.Millisecond)
	defer stop()
	require.ErrorIs(t, b.Sync(short), core.ErrCanceled)
	require.ErrorIs(t, b.Read(short, x.ID, make([]byte, 4<<20)), core.ErrCanceled)
	release()
	require.NoError(t, b.Sync(ctx), "the stream stays usable")
	require.Equal(t, seq[float32](1<<20), get[float32](b, x), "an even number of negations")
}
