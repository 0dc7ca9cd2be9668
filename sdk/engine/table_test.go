package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// TestTable compares a table with a map, through growth and removal, for ids that are consecutive, 64 apart and far apart.
func TestTable(t *testing.T) {
	for _, spread := range []uint64{1, 64, 1 << 40} {
		r := rand.New(rand.NewPCG(1, spread))
		var ids table[int]
		want := map[op.TensorID]*cell[int]{}
		for range 20_000 {
			id := op.TensorID(r.Uint64N(400) * spread)
			switch {
			case r.IntN(3) > 0:
				c := new(cell[int])
				require.Same(t, want[id], ids.put(id, c))
				want[id] = c
			case want[id] != nil:
				ids.remove(id)
				delete(want, id)
			}
			other := op.TensorID(r.Uint64N(400) * spread)
			require.Same(t, want[other], ids.get(other))
			require.Equal(t, len(want), ids.used)
		}
		for id, c := range want {
			require.Same(t, c, ids.get(id))
		}
	}
}
