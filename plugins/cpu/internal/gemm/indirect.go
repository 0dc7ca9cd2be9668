package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Indirect is a product whose right operand B is read from Src by offsets: C has Rows*Cols columns, and column y*Cols+x of row p of B is
// Src[Offsets[p]+y*Step+x]. A convolution's matrix of patches has this form. Offsets are not negative. Reach is the greatest offset.
type Indirect[T micro.Number] struct {
	A                *PackedA[T]
	Src              []T
	Offsets          []int
	Reach            int
	Rows, Cols, Step int

	C          []T
	LDC        int
	Accumulate bool
	Epilogue   *micro.Epilogue[T] // without BiasCol
}

// IndirectCols returns zero if the active kernel computes no Indirect product. Otherwise Cols should be a multiple of the returned number:
// if it is not, MulIndirect also computes the elements between rows and discards them.
func IndirectCols[T micro.Number]() int {
	kern := micro.Active[T]()
	if kern.Indirect == nil {
		return 0
	}
	return kern.NR / 2
}

const (
	// indirectElements is the approximate number of elements of B that are multiplied by all rows of A before further columns are read.
	indirectElements = 32 << 10
	// indirectCols is the approximate number of columns, gaps included, that are
	// computed at a time.
	indirectCols = 512
)

// MulIndirect computes g without packing.
func MulIndirect[T micro.Number](pool *par.Pool, g *Indirect[T]) {
	kern := g.A.panel.Kernel
	if g.Rows > 1 && g.Cols%(kern.NR/2) != 0 {
		g.mulGaps(pool, kern)
		return
	}
	pairs := micro.CeilDiv(g.Rows*g.Cols, kern.NR)
	work := max(g.A.m*g.A.k*kern.NR, 1)
	pool.For(pairs, micro.MinNativeWork/work+1, func(lo, hi int) {
		group := max(indirectElements/(g.A.k*kern.NR), 1)
		for ; lo < hi; lo += group {
			j0, j1 := lo*kern.NR, min(min(lo+group, hi)*kern.NR, g.Rows*g.Cols)
			g.part(kern, j0, j1, g.C[j0:], g.LDC)
		}
	})
}

// mulGaps computes rows together with the elements between them into a buffer,
// and copies the rows to C.
func (g *Indirect[T]) mulGaps(pool *par.Pool, kern *micro.Kernel[T]) {
	whole := *g
	whole.Rows, whole.Cols, whole.Step = 1, (g.Rows-1)*g.Step+g.Cols, 0
	rows := min(max(indirectCols/g.Step, 1), g.Rows)
	parts := micro.CeilDiv(g.Rows, rows)
	if threads := pool.Threads(); threads > 1 {
		parts = min(micro.CeilDiv(parts, threads)*threads, g.Rows)
	}
	rows = micro.CeilDiv(g.Rows, parts)
	parts = micro.CeilDiv(g.Rows, rows)
	m := g.A.m
	pool.For(parts, micro.MinNativeWork/(m*g.A.k*rows*g.Step)+1, func(lo, hi int) {
		r := take[T]()
		r.bbuf = panel.Grow(r.bbuf, m*rows*g.Step)
		for ; lo < hi; lo++ {
			y0, y1 := lo*rows, min((lo+1)*rows, g.Rows)
			width := rows * g.Step
			for i := 0; g.Accumulate && i < m; i++ {
				for y := y0; y < y1; y++ {
					copy(r.bbuf[i*width+(y-y0)*g.Step:], g.C[i*g.LDC+y*g.Cols:][:g.Cols])
				}
			}
			whole.part(kern, y0*g.Step, min(y1*g.Step, whole.Cols), r.bbuf, width)
			for i := range m {
				for y := y0; y < y1; y++ {
					copy(g.C[i*g.LDC+y*g.Cols:][:g.Cols], r.bbuf[i*width+(y-y0)*g.Step:])
				}
			}
		}
		give(r)
	})
}

// part computes columns j0 to j1. c begins at column j0.
func (g *Indirect[T]) part(kern *micro.Kernel[T], j0, j1 int, c []T, ldc int) {
	mr, nr, m := kern.MR, kern.NR, g.A.m
	depth := kern.Depth(g.A.k)
	at := func(j int) int { return j/g.Cols*g.Step + j%g.Cols }
	for pc := 0; pc < g.A.k; pc += depth {
		kc := min(depth, g.A.k-pc)
		e := g.Epilogue.When(pc+kc == g.A.k)
		a := g.A.panel.Block(pc, kc, 0)
		for i := 0; i < m; i += mr {
			for j := j0; j < j1; j += nr {
				cols, from, next := min(nr, j1-j), at(j), 0
				if cols > nr/2 {
					next = at(j+nr/2) - from
				}
				kern.Indirect(min(mr, m-i), cols, kc, a[i*kc:], mr, g.Src[from:], g.Offsets[pc:pc+kc], g.Reach, next,
					c[i*ldc+j-j0:], ldc, g.Accumulate || pc > 0, e, i, j)
			}
		}
	}
}
