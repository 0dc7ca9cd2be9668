package vector

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestStandardRows(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, rows := range []int{1, 2, 5} {
			for _, cols := range []int{1, 7, 8, 15, 16, 17, 32, 48, 64, 100} {
				for _, past := range []bool{false, true} {
					x, d := fence(t, r, rows*cols), fence(t, r, rows*cols)
					mean, factor, bias := fence(t, r, rows), fence(t, r, rows), fence(t, r, rows)
					StandardRows(d, x, cols, mean, factor, bias, past)
					Fence()
					for i, v := range x {
						k := i / cols
						want := (float64(v)-float64(mean[k]))*float64(factor[k]) + float64(bias[k])
						require.InDelta(t, want, d[i], 1e-6, "%d of %dx%d", i, rows, cols)
					}
				}
			}
		}
	})
}

func TestCopyAhead(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := range 100 {
			x, d := fence(t, r, n), fence(t, r, n)
			from := bytesOf(x)
			for skip := range min(3, len(from)) {
				var next unsafe.Pointer
				if n > 0 {
					next = unsafe.Pointer(&from[0])
				}
				clear(d)
				CopyAhead(bytesOf(d)[skip:], from[skip:], next)
				require.Equal(t, from[skip:], bytesOf(d)[skip:])
			}
		}
	})
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func TestToF16NonTemporal(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := range 300 {
			x, room := fence(t, r, n), fence(t, r, (n+1)/2+1)
			all := unsafe.Slice((*uint16)(unsafe.Pointer(&room[0])), 2*len(room))
			d := all[len(all)-n:]
			for i := range all {
				all[i] = 0x1234
			}
			from, to := ToF16NonTemporal(d, x)
			Fence()
			want := make([]uint16, n)
			done := ToF16(want, x)
			for i := range all {
				k := i - (len(all) - n)
				switch {
				case k < from || k >= to:
					require.EqualValues(t, 0x1234, all[i])
				case k < done:
					require.Equal(t, want[k], d[k])
				}
			}
			if n >= 4*active.lanes {
				require.Greater(t, to-from, n-4*active.lanes)
			}
		}
	})
}
