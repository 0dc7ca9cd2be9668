package micro

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

// MaskedTile calls the function for the height of the tile, or the function for half the columns if these suffice. If a slice is too
// short, it panics without a call.
func TestMaskedTile(t *testing.T) {
	if !cpuid.Active().Has(cpuid.LevelAVX512) {
		t.Skip("the processor, or the level set by BURN_CPU, has no AVX-512")
	}
	var calls []int
	var tiles, halves [MaxRows]TileFunc[float32]
	for r := range tiles {
		count := func(n int) TileFunc[float32] {
			return func(_ int, _, _, _ *float32, _, _, _, _, cols int, _, _ bool, _, _ *float32, _, _ float32) {
				calls = append(calls, n, cols)
			}
		}
		tiles[r], halves[r] = count(r+1), count(-(r + 1))
	}
	f := MaskedTile(32, tiles, halves)
	a, b, c := make([]float32, 14), make([]float32, 32), make([]float32, 14*32)
	f(3, 32, 1, a, 1, 1, b, 32, c, 32, false, nil, 0, 0)
	f(14, 17, 1, a, 1, 1, b, 32, c, 32, false, nil, 0, 0)
	f(2, 16, 1, a, 1, 1, b, 32, c, 32, false, nil, 0, 0)
	require.Equal(t, []int{3, 32, 14, 17, -2, 16}, calls)
	require.Panics(t, func() { f(14, 32, 1, a[:13], 1, 1, b, 32, c, 32, false, nil, 0, 0) })
	require.Panics(t, func() { f(1, 32, 1, a, 1, 1, b[:31], 32, c, 32, false, nil, 0, 0) })
	require.Panics(t, func() { f(2, 32, 1, a, 1, 1, b, 32, c[:63], 32, false, nil, 0, 0) })
	require.Len(t, calls, 6)
}
