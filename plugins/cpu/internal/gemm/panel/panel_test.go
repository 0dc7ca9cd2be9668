package panel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// Panels of both widths, from matrices in every layout, contain the elements that the comment of Pack describes. The lines that the last
// panel lacks are zero.
func TestPack(t *testing.T) {
	t.Run("float32", checkPack[float32])
	t.Run("float64", checkPack[float64])
	t.Run("int32", checkPack[int32])
	t.Run("uint16", checkPack[uint16])
	t.Run("int8", checkPack[int8])
}

func checkPack[T gemmtest.Number](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kern := micro.Active[T]()
	for _, width := range []int{kern.MR, kern.NR} {
		for _, lines := range []int{1, 2, width - 1, width, width + 1, 3*width + 2} {
			for _, depth := range []int{1, 3, 17, 70} {
				for _, l := range gemmtest.Layouts {
					row, col, size := l.Strides(lines, depth)
					src := gemmtest.Random[T](rng, size)
					dst := gemmtest.Random[T](rng, micro.CeilDiv(lines, width)*width*depth)
					Pack(dst, src, lines, row, depth, col, width, kern)
					for at, got := range dst {
						line, p := at/(width*depth)*width+at%width, at%(width*depth)/width
						var want T
						if line < lines {
							want = src[line*row+p*col]
						}
						if got != want {
							t.Fatalf("width %d, %d lines, %d deep, %s: line %d, place %d: got %v, want %v", width, lines, depth, l.Name, line, p, got, want)
						}
					}
				}
			}
		}
	}
}

// Block returns the blocks of a packed operand, which may be deeper than one block. Into packs the same into memory of the caller.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	kern := micro.Active[float32]()
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, k := range []int{0, 1, kern.KC, kern.KC + 1, 2*kern.KC + 7} {
			lines, width := 2*kern.NR+3, kern.NR
			src := gemmtest.Random[float32](rng, max(1, lines*k))
			packed := New(pool, kern, width, lines, 1, k, lines, src)
			own := gemmtest.Random[float32](rng, len(packed.Data))
			into := Into(pool, own, kern, width, lines, 1, k, lines, src)
			require.True(t, slices.Equal(packed.Data, into.Data), "k %d", k)
			require.Len(t, packed.Data, packed.Padded*k)
			depth := kern.Depth(k)
			for pc := 0; pc < k; pc += depth {
				kc := min(depth, k-pc)
				for q := range micro.CeilDiv(lines, width) {
					block := packed.Block(pc, kc, q)
					for p := range kc {
						for x := range min(width, lines-q*width) {
							require.Equal(t, src[(pc+p)*lines+q*width+x], block[p*width+x], fmt.Sprint(k, pc, q, p, x))
						}
					}
				}
			}
		}
		pool.Close()
	}
}

func TestMemory(t *testing.T) {
	require.Nil(t, Aligned[float64](0))
	for _, n := range []int{1, 7, 100} {
		for range 20 {
			s := Aligned[uint8](n)
			require.Zero(t, uintptr(unsafe.Pointer(&s[0]))%line)
			require.Equal(t, make([]uint8, n), s)
			require.Equal(t, n, cap(s), "the capacity excludes the memory behind the slice")
		}
	}
	s := Aligned[float32](10)
	require.Same(t, &s[0], &Grow(s[:3], 10)[0], "memory that is large enough is kept")
	require.Len(t, Grow(s, 11), 11)
	require.Equal(t, []int{1, 2, 8}, []int{SizeOf[int8](), SizeOf[uint16](), SizeOf[float64]()})
}
