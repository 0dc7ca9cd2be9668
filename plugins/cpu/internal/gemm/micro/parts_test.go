package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

// The inner dimension is divided into blocks of equal length, none of them longer than KC. The last may be shorter.
func TestDepth(t *testing.T) {
	for _, kc := range []int{256, 384} {
		kern := &Kernel[float32]{KC: kc}
		for k := 1; k < 5*kc; k += 1 + k/9 {
			depth := kern.Depth(k)
			blocks := CeilDiv(k, depth)
			require.LessOrEqual(t, depth, kc, "k %d", k)
			require.Equal(t, (k+kc-1)/kc, blocks, "k %d: no more blocks than are needed", k)
			require.Less(t, (blocks-1)*depth, k, "k %d: the last block is not empty", k)
			require.True(t, k <= kc || depth%8 == 0, "k %d", k)
		}
	}
	require.Equal(t, []int{0, 1, 1, 2}, []int{CeilDiv(0, 3), CeilDiv(1, 3), CeilDiv(3, 3), CeilDiv(4, 3)})
}

// Balanced divides m rows into as many tiles as the kernel, of the least height: the last tile lacks fewer rows than there are tiles.
func TestBalanced(t *testing.T) {
	tile := func(int, int, int, []float32, int, int, []float32, int, []float32, int, bool, *Epilogue[float32], int, int) {
	}
	for _, kern := range []*Kernel[float32]{{MR: 14, MC: 112, Tile: tile}, {MR: 6, MC: 120, Tile: tile}} {
		for m := 1; m < 200; m++ {
			own := kern.Balanced(m)
			tiles := CeilDiv(m, kern.MR)
			require.Equal(t, tiles, CeilDiv(m, own.MR), "m %d", m)
			require.Zero(t, own.MC%own.MR, "m %d", m)
			require.Positive(t, own.MC)
			if m > kern.MR {
				require.Less(t, tiles*own.MR-m, tiles, "m %d: tiles of %d rows", m, own.MR)
			}
		}
		require.Equal(t, MinNativeWork, kern.Grain())
	}
	plain := &Kernel[int8]{MR: 4, MC: 64}
	require.Same(t, plain, plain.Balanced(5), "plain Go computes whole tiles only")
	require.Equal(t, MinWork, plain.Grain())
}

// The epilogue of a block has the biases of the block, and the clamp of the whole. An epilogue that changes nothing is nil.
func TestEpilogueParts(t *testing.T) {
	var none *Epilogue[float64]
	require.Nil(t, none.When(true))
	require.Nil(t, none.Block(1, 2))
	require.Nil(t, (&Epilogue[float64]{}).When(true))
	e := &Epilogue[float64]{BiasRow: []float64{1, 2, 3}, BiasCol: []float64{10, 20, 30, 40}, HasClamp: true, Lo: 0, Hi: 42}
	require.Nil(t, e.When(false), "the sum is not complete")
	require.Same(t, e, e.When(true))
	require.Equal(t, &Epilogue[float64]{BiasRow: []float64{3}, BiasCol: []float64{20, 30, 40}, HasClamp: true, Hi: 42}, e.Block(2, 1))
	c := make([]float64, 3*5)
	e.ApplyRange(c, 5, 1, 3, 1, 4)
	require.Equal(t, []float64{0, 0, 0, 0, 0, 0, 22, 32, 42, 0, 0, 23, 33, 42, 0}, c, "other elements stay unchanged")
}

func TestDots(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 20 {
		x := gemmtest.Random[float64](rng, n)
		m := make([][]float64, 4)
		var want [4]float64
		for i := range m {
			m[i] = gemmtest.Random[float64](rng, n)
			for p := range x {
				want[i] += x[p] * m[i][p]
			}
		}
		s0, s1, s2, s3 := Dot4(x, m[0], m[1], m[2], m[3])
		for i, s := range []float64{s0, s1, s2, s3} {
			require.InDelta(t, want[i], s, 1e-14*float64(n+1), "length %d", n)
			require.Equal(t, s, Dot(x, m[i]), "length %d: the same bits alone", n)
		}
	}
	require.True(t, math.IsNaN(Dot([]float64{0, 1}, []float64{math.Inf(1), 1})))
	require.Equal(t, int8(-56), Dot([]int8{100, 100}, []int8{1, 1}), "integers wrap around")
}

// PackStrips does not write the elements of lines that the last panel lacks.
func TestPackStrips(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{1, 2, 3, 4, 6, 14, 32} {
		for lines := 1; lines < 70; lines += 1 + lines/5 {
			for _, depth := range []int{1, 4, 9} {
				stride := lines + rng.IntN(3)
				src := gemmtest.Random[float32](rng, (depth-1)*stride+lines)
				dst := gemmtest.Random[float32](rng, CeilDiv(lines, width)*width*depth)
				want := append([]float32(nil), dst...)
				for l := range lines {
					for p := range depth {
						want[l/width*width*depth+p*width+l%width] = src[p*stride+l]
					}
				}
				PackStrips(dst, src, lines, depth, stride, width)
				require.Equal(t, want, dst, "%d lines in panels of %d, %d deep", lines, width, depth)
			}
		}
	}
}

// One row from panels of two columns is bitwise equal to the first row of the portable kernel's tiles.
func TestRowOfPanels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, k := range []int{1, 2, 3, 4, 5, 9, 40} {
		for _, cols := range []int{0, 2, 6, 8, 10, 16, 30} {
			for _, accumulate := range []bool{false, true} {
				a, b := gemmtest.Random[float32](rng, 4*k), gemmtest.Random[float32](rng, cols*k)
				c := gemmtest.Random[float32](rng, cols+1)
				want := append([]float32(nil), c...)
				whole := cols / 8 * 8
				for j := 0; j < whole; j += 2 {
					tile := make([]float32, 8)
					copy(tile, want[j:j+2])
					portable4x2(k, a, b[j*k:][:2*k], tile, 2, accumulate)
					copy(want[j:], tile[:2])
				}
				require.Equal(t, whole, RowOfPanels(k, 4, a, b, c, 0, cols, accumulate))
				require.Equal(t, want, c, fmt.Sprint(k, cols, accumulate))
			}
		}
	}
}
