package winograd_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// TestElements checks that transformed weights have 36 elements for each 3×3 kernel, in whole panels of outputs, and that Pack
// returns nil for weights that are not finite.
func TestElements(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	for _, outputs := range []int{16, 33, 64} {
		plan := winograd.New(winograd.Shape{Channels: 32, Outputs: outputs, Height: 48, Width: 48, OutHeight: 48, OutWidth: 48, Top: 1, Left: 1})
		if plan == nil {
			continue // direct sums are faster, or there are no kernels at this level
		}
		w := make([]float32, outputs*32*9)
		got := plan.Pack(pool, w).Elements()
		require.Zero(t, got%(36*32))
		require.GreaterOrEqual(t, got, 36*32*outputs)
		require.Less(t, got, 36*32*(outputs+64))
		w[5] = float32(math.Inf(1))
		require.Nil(t, plan.Pack(pool, w))
	}
}
