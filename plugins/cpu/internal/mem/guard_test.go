package mem

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// poke changes the byte at any distance from the start of a buffer.
func poke(b *Buffer, at int) { *(*byte)(unsafe.Add(b.Pointer(), at)) ^= 1 }

func TestGuardBands(t *testing.T) {
	for _, size := range []int{0, 1, 63, 64, 65, 1000, 5 << 20} {
		for _, at := range []int{-64, -1, size, size + 63} {
			for _, released := range []bool{false, true} {
				p := NewGuardedPool(1<<30, 1<<30, 50)
				a := p.NewAccount()
				for range 2 { // the second buffer reuses the memory of the first
					b, err := a.New(size)
					require.NoError(t, err)
					require.Zero(t, uintptr(b.Pointer())%Align)
					require.Len(t, b.Bytes(), size)
					clear(b.Bytes())
					require.NoError(t, p.CheckGuards())
					b.Release()
				}
				b, err := a.New(size)
				require.NoError(t, err)
				poke(b, at)
				if released {
					b.Release()
				}
				require.ErrorContains(t, p.CheckGuards(), "was written", "%d of %d", at, size)
			}
		}
	}
}

func TestNoGuardBands(t *testing.T) {
	p := NewGuardedPool(1<<20, 0, 0)
	b, err := p.NewAccount().New(10)
	require.NoError(t, err)
	poke(b, 10)
	require.NoError(t, p.CheckGuards())
}
