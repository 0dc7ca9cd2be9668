package quantized

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestUnits multiplies weights by channels and taps with a right operand of units, as convolutions of bytes do, and compares
// with the sums from the definition, at every level, for all signs and zero points.
func TestUnits(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 82))
		pool := par.New(2)
		defer pool.Close()
		for _, s := range []struct{ m, channels, taps, n int }{{1, 1, 1, 1}, {3, 4, 1, 33}, {5, 3, 3, 17}, {17, 9, 2, 64}, {2, 7, 5, 100}, {33, 16, 9, 31}} {
			for _, signedA := range []bool{false, true} {
				for _, signedB := range []bool{false, true} {
					checkUnits(t, rng, pool, s.m, s.channels, s.taps, s.n, signedA, signedB)
				}
			}
		}
	})
}

func checkUnits(t *testing.T, rng *rand.Rand, pool *par.Pool, m, channels, taps, n int, signedA, signedB bool) {
	t.Helper()
	name := fmt.Sprintf("m %d, channels %d, taps %d, n %d, signed %v %v", m, channels, taps, n, signedA, signedB)
	random := func(size int) []byte {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		return data
	}
	number := func(b byte, signed bool) int32 {
		if signed {
			return int32(int8(b))
		}
		return int32(b)
	}
	width := n + taps - 1 // tap t of column j is element j+t of a channel
	source := random(channels * width)
	a := Mat{Data: gemmtest.Fence(t, random(m*channels*taps)), Signed: signedA, RowStride: channels * taps, ColStride: 1, Zero: []int32{3}}
	group := Group()
	groups := micro.CeilDiv(channels, group)
	row := width + UnitSlack
	units := &Units{Units: make([]int32, groups*row), Flip: FlipsB(signedB), Zero: -5}
	fill := UnitOf(9, group, signedB)
	for i := range units.Units {
		units.Units[i] = fill // the units between rows must not matter
	}
	for g := range groups {
		rows := min(group, channels-g*group)
		PackUnits(units.Units[g*row:], gemmtest.Fence(t, source[g*group*width:][:rows*width]), width, rows, width, signedB)
	}
	for k := range taps {
		for g := range groups {
			units.Starts = append(units.Starts, g*row+k)
		}
	}
	packed := PackTaps(pool, m, channels, taps, a)
	require.Positive(t, packed.Size())
	args := &Args{M: m, N: n, K: len(units.Starts) * group, PackedA: packed, Units: units, C: gemmtest.Fence(t, make([]int32, m*n)), LDC: n}
	want := make([]int32, m*n)
	for i := range want {
		for c := range channels {
			for k := range taps {
				x := number(a.Data[i/n*channels*taps+c*taps+k], signedA) - 3
				y := number(source[c*width+i%n+k], signedB) + 5
				want[i] += x * y
			}
		}
	}
	Mul(pool, args)
	require.Equal(t, want, args.C, name)
}

// TestUnitOf checks that a unit of equal bytes equals the result of packing such bytes.
func TestUnitOf(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for _, signed := range []bool{false, true} {
			for n := 1; n <= Group(); n++ {
				for b := range 256 {
					src := make([]byte, n)
					for i := range src {
						src[i] = byte(b)
					}
					var got [1]int32
					PackUnits(got[:], src, 1, n, 1, signed)
					require.Equal(t, got[0], UnitOf(byte(b), n, signed))
				}
			}
		}
	})
}
