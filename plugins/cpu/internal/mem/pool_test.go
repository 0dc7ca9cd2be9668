package mem

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
)

func TestClasses(t *testing.T) {
	last := -1
	for size := 1; size < 1<<20; size += 1 + size/97 {
		class, room := classOf(size)
		require.GreaterOrEqual(t, room, size)
		require.LessOrEqual(t, room, max(64, size+size/4+64), "waste of size %d", size)
		require.GreaterOrEqual(t, class, last)
		require.Zero(t, room%Align)
		again, same := classOf(room)
		require.Equal(t, class, again, "size %d", size)
		require.Equal(t, room, same)
		last = class
	}
	class, _ := classOf(1 << 60)
	require.Equal(t, -1, class)
}

func TestReuseAndLimit(t *testing.T) {
	p := NewPool(4096, 2048)
	a := p.NewAccount()
	b, err := a.New(1000)
	require.NoError(t, err)
	require.Zero(t, uintptr(b.Pointer())%Align)
	require.Len(t, b.Bytes(), 1000)
	where := unsafe.Pointer(&b.Bytes()[0])
	require.True(t, b.Sole())
	require.False(t, b.Retain().Sole())
	b.Release()
	b.Release()
	require.Zero(t, a.InUse())
	require.EqualValues(t, 1024, p.Reserved())

	c, err := a.New(990)
	require.NoError(t, err)
	require.Equal(t, where, unsafe.Pointer(&c.Bytes()[0]), "the idle buffer is used again")
	_, err = a.New(3500)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	_, err = a.New(1 << 62)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	c.Release()
	d, err := a.New(3500) // idle memory makes room
	require.NoError(t, err)
	d.Release()
	require.Zero(t, p.Reserved(), "memory beyond the limit of idle memory is not kept")
	require.Panics(t, func() { d.Release() })
}
