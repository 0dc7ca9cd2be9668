package gemm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestPartition checks that tasks cover every element once, that the block sizes
// limit them, and that large products have enough of them.
func TestPartition(t *testing.T) {
	kern := &micro.Kernel[float32]{MR: 14, NR: 32, MC: 112}
	for _, c := range []struct{ m, n, k, threads, tasks int }{
		{1, 1, 1, 4, 1}, {256, 256, 256, 1, 3}, {256, 256, 256, 2, 8}, {14, 4096, 500, 4, 16}, {4096, 7, 500, 4, 37}, {300, 300, 2, 3, 3},
	} {
		pool := par.New(c.threads)
		partition := newPartition(kern, pool, c.m, c.n, c.k)
		pool.Close()
		seen := make([]int, c.m*c.n)
		for task := range partition.tasks() {
			i0, i1, j0, j1 := partition.task(task)
			require.Zero(t, i0%kern.MR+j0%kern.NR)
			require.LessOrEqual(t, i1-i0, kern.MC)
			require.LessOrEqual(t, j1-j0, MaxStrip)
			for i := i0; i < i1; i++ {
				for j := j0; j < j1; j++ {
					seen[i*c.n+j]++
				}
			}
		}
		for at, times := range seen {
			require.Equal(t, 1, times, "%+v: element %d", c, at)
		}
		require.GreaterOrEqual(t, partition.tasks(), c.tasks, "%+v", c)
	}
}
