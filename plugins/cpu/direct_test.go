package cpu

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// alignedBytes returns n bytes with the alignment of segments.
func alignedBytes(n int) []byte {
	raw := make([]byte, n+64)
	skip := -int(uintptr(unsafe.Pointer(&raw[0]))) & 63
	return raw[skip : skip+n]
}

func TestAdopt(t *testing.T) {
	b := newBed(t)
	d := extension[core.HostMemory](b)
	data := alignedBytes(16)
	copy(data, bytesOf([]float32{1, -2, 3, -4}))
	before := append([]byte(nil), data...)
	released := 0
	x := op.Desc{ID: b.id(), DType: dtype.F32, Shape: shape.Of(2, 2)}
	require.NoError(t, d.Adopt(b.Stream, x, data, func() { released++ }))
	require.EqualValues(t, 16, b.Memory().InUse)
	n := b.node(op.Neg, list(x))
	n.Drop = 1 // the last use may compute in place, but not in memory that is lent
	require.NoError(t, b.Submit([]op.Node{n}))
	require.Equal(t, []float32{-1, 2, -3, 4}, get[float32](b, n.Outputs[0]))
	require.Equal(t, before, data)
	require.Equal(t, 1, released)

	require.NoError(t, d.View(ctx, b.Stream, n.Outputs[0].ID, func(v []byte) error {
		require.Equal(t, bytesOf([]float32{-1, 2, -3, 4}), v)
		return nil
	}))
	row := b.do(op.Slice, list(n.Outputs[0]), op.Ints("start", 1, 0), op.Ints("size", 1, 2), op.Ints("step", 1, 1))[0]
	require.NoError(t, d.View(ctx, b.Stream, row.ID, func(v []byte) error {
		require.Equal(t, bytesOf([]float32{-3, 4}), v)
		return nil
	}))
	turned := b.do(op.Permute, list(n.Outputs[0]), op.Ints("axes", 1, 0))[0]
	require.ErrorIs(t, d.View(ctx, b.Stream, turned.ID, func([]byte) error { return nil }), core.ErrUnsupported)
	mine := errors.New("mine")
	require.ErrorIs(t, d.View(ctx, b.Stream, n.Outputs[0].ID, func([]byte) error { return mine }), mine)
	require.ErrorIs(t, d.View(ctx, b.Stream, x.ID, func([]byte) error { return nil }), core.ErrUnknownTensor)

	none := func() { t.Error("released memory that was not adopted") }
	y := op.Desc{ID: b.id(), DType: dtype.F32, Shape: shape.Of(3)}
	require.ErrorIs(t, d.Adopt(b.Stream, y, data, none), core.ErrShape)

	// Memory that is not aligned, and memory of bools, is copied.
	require.NoError(t, d.Adopt(b.Stream, y, bytesOf([]float32{0, 1, 2, 3})[4:], func() { released++ }))
	require.Equal(t, []float32{1, 2, 3}, get[float32](b, y))
	flags := op.Desc{ID: b.id(), DType: dtype.Bool, Shape: shape.Of(3)}
	require.NoError(t, d.Adopt(b.Stream, flags, []byte{0, 7, 1}, func() { released++ }))
	require.Equal(t, []bool{false, true, true}, get[bool](b, flags))
	require.Equal(t, 3, released)
}

// TestAdoptClosed checks that Close releases adopted memory of queued commands and of live tensors.
func TestAdoptClosed(t *testing.T) {
	be, b := open(t, core.Config{Options: map[string]string{"memory_limit": "1K"}})
	defer be.Close()
	released := 0
	lend := func(id uint64, n int) error {
		return extension[core.HostMemory](b).Adopt(b.Stream, op.Desc{ID: op.NewTensorID(0, id), DType: dtype.U8, Shape: shape.Of(n)}, alignedBytes(n),
			func() { released++ })
	}
	require.NoError(t, lend(1, 512))
	require.NoError(t, b.Sync(ctx))
	require.ErrorIs(t, lend(2, 1024), core.ErrOutOfMemory)
	require.NoError(t, lend(3, 512))
	require.NoError(t, b.dev.Close())
	require.Equal(t, 2, released)
	require.ErrorIs(t, lend(4, 64), core.ErrClosed)
	require.Equal(t, 2, released)
}
