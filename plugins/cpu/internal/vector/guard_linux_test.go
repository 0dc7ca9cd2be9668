package vector

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fence returns n numbers that end where memory begins that must not be
// accessed.
func fence(t *testing.T, rng *rand.Rand, n int) []float32 {
	page := unix.Getpagesize()
	size := (4*n + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	require.NoError(t, unix.Mprotect(memory[size:], unix.PROT_NONE))
	v := unsafe.Slice((*float32)(unsafe.Pointer(&memory[size-4*n])), n)
	copy(v, random(rng, n))
	return v
}

func TestNothingBeyondIsTouched(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for cols := 1; cols < 70; cols++ {
			r := Rows{Count: 1 + cols%5, Cols: cols, DstStep: cols, SrcStep: cols + 2}
			offsets := []int{0, 2, 5}
			src := fence(t, rng, (r.Count-1)*r.SrcStep+5+cols)
			Taps(r, fence(t, rng, r.Count*cols), src, offsets, fence(t, rng, 3), 0, -1, 1)
			Most(r, fence(t, rng, r.Count*cols), src, offsets)
			one := Rows{Count: 2, Cols: cols, DstStep: cols, SrcStep: cols}
			Copy(one, fence(t, rng, 2*cols), fence(t, rng, 2*cols))
			Split(one, fence(t, rng, cols+(cols+1)/2), fence(t, rng, cols+cols/2), fence(t, rng, 2*cols))
			Sample(one, fence(t, rng, cols+(cols+1)/2), fence(t, rng, 2*cols))
			Interleave(one, fence(t, rng, 2*cols), fence(t, rng, cols+(cols+1)/2), fence(t, rng, cols+cols/2))
			for _, size := range []int{3, 5} {
				for stride := 1; stride <= 2 && HasPlane(size, stride); stride++ {
					step := cols + size - 1
					p := Rows{Count: 4, Cols: cols, DstStep: cols, SrcStep: stride * step}
					Plane(p, size, stride, fence(t, rng, 4*cols), fence(t, rng, (3*stride+size)*step), []int{0, 1, 2, 3, 4}[:size], fence(t, rng, size*size), 0, -1, 1)
				}
			}
		}
	})
}

func TestLinesTouchNothingBeyond(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for n := 1; n < 150; n += 1 + n/20 {
			x, d := fence(t, rng, n), fence(t, rng, n)
			for f := range functions {
				f.Apply(d, x)
			}
			Elu(d, x, 1, 1, 1)
			Leaky(d, x, 0.5)
			Gate(d, x, 0.2, 0.5, true)
			Linear(d, x, 2, 1)
			Standard(d, x, 2, 1)
			Sum(x)
			Total(x)
			Squares(x, 1)
			Greatest(x)
			Least(x)
			Pow(d, x, 2)
			bytes := unsafe.Slice((*byte)(unsafe.Pointer(&d[0])), 4*n)
			Stream(bytes, unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*n))
			halves := unsafe.Slice((*uint16)(unsafe.Pointer(&bytes[2*n])), n)
			ToF16(halves, x)
			ToBF16(halves, x)
			FromF16(x, halves)
			FromBF16(x, halves)
			last := bytes[3*n:]
			Quantize(last, x, 1, 0, 0, 255)
			DequantizeU8(x, last, 1, 0)
			FromU8(x, last)
			Choose(x, last, x, x)
			for _, lines := range []int{1, 3, 16, 17} {
				Transpose(lines, n, fence(t, rng, lines*n), lines, fence(t, rng, lines*n), n)
			}
		}
	})
}
