package cpu

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// alignedBytes is memory as segments have it.
func alignedBytes(n int) []byte {
	raw := make([]byte, n+64)
	skip := -int(uintptr(unsafe.Pointer(&raw[0]))) & 63
	return raw[skip : skip+n]
}

func TestAdopt(t *testing.T) {
	b := newBed(t)
	d := b.Stream.(core.DirectIO)
	data := alignedBytes(16)
	copy(data, bytesOf([]float32{1, -2, 3, -4}))
	before := append([]byte(nil), data...)
	released := 0
	x := op.Desc{ID: b.id(), DType: dtype.F32, Shape: shape.Of(2, 2)}
	require.NoError(t, d.Adopt(ctx, x, data, func() { released++ }))
	require.EqualValues(t, 16, b.Stream.(core.MemoryStats).Memory().InUse)
	n := b.node(op.Neg, list(x))
	n.Drop = 1 // the last use may compute in place, but not in memory that is lent
	require.NoError(t, b.Submit([]op.Node{n}))
	require.Equal(t, []float32{-1, 2, -3, 4}, get[float32](b, n.Outputs[0]))
	require.Equal(t, before, data)
	require.Equal(t, 1, released)

	require.NoError(t, d.View(ctx, n.Outputs[0].ID, func(v []byte) error {
		require.Equal(t, bytesOf([]float32{-1, 2, -3, 4}), v)
		return nil
	}))
	row := b.do(op.Slice, list(n.Outputs[0]), op.Ints("start", 1, 0), op.Ints("size", 1, 2), op.Ints("step", 1, 1))[0]
	require.NoError(t, d.View(ctx, row.ID, func(v []byte) error {
		require.Equal(t, bytesOf([]float32{-3, 4}), v)
		return nil
	}))
	turned := b.do(op.Permute, list(n.Outputs[0]), op.Ints("axes", 1, 0))[0]
	require.ErrorIs(t, d.View(ctx, turned.ID, func([]byte) error { return nil }), core.ErrUnsupported)
	mine := errors.New("mine")
	require.ErrorIs(t, d.View(ctx, n.Outputs[0].ID, func([]byte) error { return mine }), mine)
	require.ErrorIs(t, d.View(ctx, x.ID, func([]byte) error { return nil }), core.ErrUnknownTensor)

	none := func() { t.Error("released what was not taken") }
	y := op.Desc{ID: b.id(), DType: dtype.F32, Shape: shape.Of(3)}
	require.ErrorIs(t, d.Adopt(ctx, y, alignedBytes(16)[4:], none), core.ErrUnsupported)
	require.ErrorIs(t, d.Adopt(ctx, y, data, none), core.ErrShape)
	y.DType, y.Shape = dtype.Bool, shape.Of(16)
	require.ErrorIs(t, d.Adopt(ctx, y, data, none), core.ErrUnsupported)
}

// TestAdoptClosed asserts that what is still queued or live is given back by Close.
func TestAdoptClosed(t *testing.T) {
	be, s := open(t, core.Config{Options: map[string]string{"memory_limit": "1K"}})
	defer be.Close()
	released := 0
	lend := func(id uint64, n int) error {
		return s.(core.DirectIO).Adopt(context.Background(), op.Desc{ID: op.NewTensorID(0, id), DType: dtype.U8, Shape: shape.Of(n)}, alignedBytes(n),
			func() { released++ })
	}
	require.NoError(t, lend(1, 512))
	require.NoError(t, s.Sync(context.Background()))
	require.ErrorIs(t, lend(2, 1024), core.ErrOutOfMemory)
	require.NoError(t, lend(3, 512))
	require.NoError(t, s.Close())
	require.Equal(t, 2, released)
	require.ErrorIs(t, lend(4, 64), core.ErrClosed)
	require.Equal(t, 2, released)
}
