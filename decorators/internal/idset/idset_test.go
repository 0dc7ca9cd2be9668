package idset

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Set agrees with a map for spans that touch, overlap, contain each other or are disjoint. Touching spans are merged.
func TestSet(t *testing.T) {
	source := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var r Set
		want := map[uint64]bool{}
		for range 30 {
			first := source.Uint64N(100)
			last := first + source.Uint64N(6)
			overlap := false
			for x := first; x <= last; x++ {
				overlap = overlap || want[x]
				want[x] = true
			}
			require.Equal(t, overlap, r.Add(first, last))
			for x := range uint64(110) {
				require.Equal(t, want[x], r.Has(x), "%d in %v", x, r)
			}
			for i := 1; i < len(r); i++ {
				require.Greater(t, r[i].first, r[i-1].last+1, "spans that touch are one")
			}
		}
	}
}
