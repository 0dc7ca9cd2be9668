package order

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// check compares the sorted keys, and the smallest keys, with a stable sort by comparison.
func check[T number](t *testing.T, x []T) {
	t.Helper()
	for _, reverse := range []bool{false, true} {
		items := make([]item[T], len(x))
		for i, v := range x {
			items[i] = item[T]{v, i}
		}
		less := compare[T]
		if reverse {
			less = reversed[T]
		}
		slices.SortStableFunc(items, less)
		k, buffer := make([]uint64, len(x)), make([]uint64, len(x))
		require.True(t, keys(k, x, reverse))
		for n := 1; n < len(x); n += 1 + n/2 {
			some := slices.Clone(k)
			selectSmallest(some, n)
			for j, it := range items[:n] {
				require.Equal(t, it.i, int(some[j]&math.MaxUint32), "first %d of %d, reverse %v: place %d", n, len(x), reverse, j)
			}
		}
		sortKeys(k, buffer)
		for j, it := range items {
			require.Equal(t, it.i, int(k[j]&math.MaxUint32), "of %d, reverse %v: place %d", len(x), reverse, j)
		}
	}
}

func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 3000; n += 1 + n/2 {
		f, i32, i8, u16 := make([]float32, n), make([]int32, n), make([]int8, n), make([]uint16, n)
		for i := range n {
			f[i] = math.Float32frombits(rng.Uint32())
			if i%3 == 0 {
				f[i] = []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), -float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1, -1}[rng.IntN(8)]
			}
			i32[i], i8[i], u16[i] = int32(rng.Uint32()), int8(rng.Uint32()), uint16(rng.Uint32()>>20)
		}
		check(t, f)
		check(t, i32)
		check(t, i8)
		check(t, u16)
	}
	require.False(t, keys(make([]uint64, 1), []int64{1}, false))
}

// TestSearchKeys compares the smallest keys that a search finds with a sort of all keys.
func TestSearchKeys(t *testing.T) {
	if !vector.Has() {
		t.Skip("the processor, or the level set by BURN_CPU, has no vector loops")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for kind := range 5 {
		for _, n := range []int{1, 16, 50, 333, 5000} {
			x := make([]float32, n)
			for i := range x {
				switch kind {
				case 0:
					x[i] = rng.Float32()
				case 1:
					x[i] = float32(rng.IntN(4))
				case 2:
					x[i] = []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1, -1}[rng.IntN(7)]
				case 3:
					x[i] = float32(math.NaN())
				case 4:
					x[i] = float32(i)
				}
			}
			for _, reverse := range []bool{false, true} {
				all := make([]uint64, n)
				keys(all, x, reverse)
				slices.Sort(all)
				for _, k := range []int{1, 2, 7, 50} {
					if k <= n {
						got := make([]uint64, k)
						searchKeys(got, x, reverse)
						require.Equal(t, all[:k], got, "kind %d, %d of %d, reverse %v", kind, k, n, reverse)
					}
				}
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	x := make([]float32, 1<<16)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = rng.Float32()
	}
	k, buffer := make([]uint64, len(x)), make([]uint64, len(x))
	b.SetBytes(4 << 16)
	for b.Loop() {
		keys(k, x, false)
		sortKeys(k, buffer)
	}
}
