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
	// tasksPerThread is the most tasks into which a product is divided for the
	// threads' sake.
	tasksPerThread = 4
)

// partition is a division of m rows and n columns into tasks of rows x cols, strip
// by strip: neighbouring tasks have the same columns.
type partition struct {
	m, n, rows, cols int
	down             int // tasks in a strip
	grain            int // the fewest tasks that are worth another thread
}

// partition divides a block of C into tasks that fit the caches and, if there is
// enough work, keep all threads busy to the end. Tasks consist of complete tiles.
func (kern *Kernel[T]) partition(pool *par.Pool, m, n, k int) partition {
	down, across := ceil(m, kern.MR), ceil(n, kern.NR)
	minDown, minAcross := ceil(down, kern.MC/kern.MR), ceil(across, max(maxStrip/kern.NR, 1))
	rows, cols := ceil(down, minDown), ceil(across, minAcross)
	threads, least := pool.Threads(), kern.grain()
	best := score(threads, down, across, rows, cols)
	for y := minDown; threads > 1 && y <= min(down, tasksPerThread*threads); y++ {
		for x := minAcross; x <= min(across, max(minAcross, tasksPerThread*threads/y)); x++ {
			r, c := ceil(down, y), ceil(across, x)
			if s := score(threads, down, across, r, c); s < best && r*c*kern.MR*kern.NR*k >= least {
				best, rows, cols = s, r, c
			}
		}
	}
	rows, cols = rows*kern.MR, cols*kern.NR
	return partition{m, n, rows, cols, ceil(m, rows), least/(rows*cols*k) + 1}
}

// score is the time, in quarters of tiles, that the busiest thread is at work,
// and a quarter of a task for a thread that is late.
func score(threads, down, across, rows, cols int) int {
	tasks := ceil(down, rows) * ceil(across, cols)
	return (4*ceil(tasks, threads) + 1) * rows * cols
}

// grain is the fewest multiply-adds that are worth another thread.
func (kern *Kernel[T]) grain() int {
	if kern.Tile != nil {
		return minNativeWork
	}
	return minWork
}

func (c *partition) tasks() int { return c.down * ceil(c.n, c.cols) }

// task returns the bounds of task t.
func (c *partition) task(t int) (i0, i1, j0, j1 int) {
	i0, j0 = t%c.down*c.rows, t/c.down*c.cols
	return i0, min(i0+c.rows, c.m), j0, min(j0+c.cols, c.n)
}
