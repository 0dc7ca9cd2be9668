package gemm

import "github.com/goburn/burn/plugins/cpu/internal/par"

const (
	// maxStrip bounds the columns of one task: while the rows go by, they stay
	// in a cache of the second level.
	maxStrip = 256
	// minWork is the fewest multiply-adds in plain Go that are worth another
	// thread, minNativeWork in assembly.
	minWork       = 64 << 10
	minNativeWork = 256 << 10
	// tasksPerThread is into how many tasks a product is cut if it can be.
	tasksPerThread = 4
)

// cut is a division of m rows and n columns into tasks of rows x cols, strip
// by strip: neighbouring tasks have the same columns.
type cut struct {
	m, n, rows, cols int
	down             int // tasks in a strip
	grain            int // the fewest tasks that are worth another thread
}

// cut divides a block of C so that tasks are of nearly the same size, suit
// the caches, and are enough for all threads where there is work enough. Their
// bounds are those of tiles.
func (kern *Kernel[T]) cut(pool *par.Pool, m, n, k int) cut {
	down, across := ceil(m, kern.MR), ceil(n, kern.NR)
	rows, cols := min(down, kern.MC/kern.MR), min(across, maxStrip/kern.NR)
	least := kern.grain()
	if threads := pool.Threads(); threads > 1 {
		for ceil(down, rows)*ceil(across, cols) < tasksPerThread*threads && rows*cols > 1 &&
			rows*cols*kern.MR*kern.NR*k >= 2*least {
			if rows*kern.MR > cols*kern.NR {
				rows = ceil(rows, 2)
			} else {
				cols = ceil(cols, 2)
			}
		}
	}
	// The same number of tasks, as equal as they can be.
	rows = ceil(down, ceil(down, rows)) * kern.MR
	cols = ceil(across, ceil(across, cols)) * kern.NR
	return cut{m, n, rows, cols, ceil(m, rows), least/(rows*cols*k) + 1}
}

// grain is the fewest multiply-adds that are worth another thread.
func (kern *Kernel[T]) grain() int {
	if kern.Tile != nil {
		return minNativeWork
	}
	return minWork
}

func (c *cut) tasks() int { return c.down * ceil(c.n, c.cols) }

// task returns the bounds of task t.
func (c *cut) task(t int) (i0, i1, j0, j1 int) {
	i0, j0 = t%c.down*c.rows, t/c.down*c.cols
	return i0, min(i0+c.rows, c.m), j0, min(j0+c.cols, c.n)
}
