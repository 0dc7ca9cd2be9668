package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

const (
	// MaxStrip bounds the columns of one task: they stay in the L2 cache while all rows are read.
	MaxStrip = 256
	// TasksPerThread is the greatest number of tasks per thread into which a product is divided to balance threads.
	TasksPerThread = 4
)

// partition is a division of m rows and n columns into tasks of rows x cols. A
// strip is the tasks with the same columns; their numbers are consecutive.
type partition struct {
	m, n, rows, cols int
	down             int // tasks in a strip
	grain            int // the least number of tasks for which another thread is used
}

// newPartition divides a block of C into tasks that fit the caches and, if there is
// enough work, keep all threads busy to the end. Tasks consist of complete tiles.
func newPartition[T micro.Number](kern *micro.Kernel[T], pool *par.Pool, m, n, k int) partition {
	down, across := micro.CeilDiv(m, kern.MR), micro.CeilDiv(n, kern.NR)
	minDown, minAcross := micro.CeilDiv(down, kern.MC/kern.MR), micro.CeilDiv(across, max(MaxStrip/kern.NR, 1))
	rows, cols := micro.CeilDiv(down, minDown), micro.CeilDiv(across, minAcross)
	threads, least := pool.Threads(), kern.Grain()
	best := score(threads, down, across, rows, cols)
	for y := minDown; threads > 1 && y <= min(down, TasksPerThread*threads); y++ {
		for x := minAcross; x <= min(across, max(minAcross, TasksPerThread*threads/y)); x++ {
			r, c := micro.CeilDiv(down, y), micro.CeilDiv(across, x)
			if s := score(threads, down, across, r, c); s < best && r*c*kern.MR*kern.NR*k >= least {
				best, rows, cols = s, r, c
			}
		}
	}
	rows, cols = rows*kern.MR, cols*kern.NR
	return partition{m, n, rows, cols, micro.CeilDiv(m, rows), least/(rows*cols*k) + 1}
}

// score estimates the time, in quarters of tiles, until the busiest thread has finished. It includes a quarter of a task for a thread that
// starts late.
func score(threads, down, across, rows, cols int) int {
	tasks := micro.CeilDiv(down, rows) * micro.CeilDiv(across, cols)
	return (4*micro.CeilDiv(tasks, threads) + 1) * rows * cols
}

func (c *partition) tasks() int { return c.down * micro.CeilDiv(c.n, c.cols) }

// task returns the bounds of task t.
func (c *partition) task(t int) (i0, i1, j0, j1 int) {
	i0, j0 = t%c.down*c.rows, t/c.down*c.cols
	return i0, min(i0+c.rows, c.m), j0, min(j0+c.cols, c.n)
}
