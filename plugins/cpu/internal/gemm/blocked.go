package gemm

import (
	"sync/atomic"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// MaxRows bounds the rows of A that are packed at a time, and with them the
// scratch memory.
const MaxRows = 1024

// product is the state of one blocked product. Later calls reuse it.
type product[T micro.Number] struct {
	args   Args[T]
	kernel *micro.Kernel[T]

	// The current block: inner elements [pc, pc+kc), columns [jc, jc+nc), rows [ic, ic+mc).
	pc, kc, jc, nc, ic, mc int
	partition              partition
	bPanels                int // panels of B that the packing loop fills
	last                   bool

	abuf, bbuf []T
	tiles      []T // one MR x NR tile for each part of the loop; in strips, a strip of B
	tile       atomic.Int32

	// A product with a vector, y = matrix·x.
	matrix  Mat[T]
	x       []T
	rows    int
	yStride int

	packLoop, mulLoop, directLoop, vectorLoop, stripLoop func(lo, hi int)
}

func mulBlocked[T micro.Number](pool *par.Pool, args *Args[T]) {
	r := take[T]()
	r.args = *args
	r.run(pool)
	// Not deferred: after a panic the state is left to the garbage collector.
	r.args, r.kernel = Args[T]{}, nil
	give(r)
}

// pick sets the kernel. Packed operands determine it.
func (r *product[T]) pick() {
	a, b := r.args.PackedA, r.args.PackedB
	r.kernel = micro.Active[T]()
	if b != nil {
		r.kernel = b.panel.Kernel
	}
	if a != nil {
		if b != nil && a.panel.Kernel.Name != b.panel.Kernel.Name {
			panic("gemm: operands packed for different kernels, got " + a.panel.Kernel.Name + " and " + b.panel.Kernel.Name)
		}
		r.kernel = a.panel.Kernel
	}
	if a != nil && (a.m != r.args.M || a.k != r.args.K) || b != nil && (b.n != r.args.N || b.k != r.args.K) {
		panic("gemm: packed operand of another size")
	}
}

func (r *product[T]) run(pool *par.Pool) {
	r.pick()
	g, kern := &r.args, r.kernel
	depth := kern.Depth(g.K)
	rows := micro.CeilDiv(min(g.M, MaxRows), kern.MC) * kern.MC
	cols := micro.CeilDiv(min(g.N, kern.NC), kern.NR) * kern.NR
	if g.PackedA == nil {
		r.abuf = panel.Grow(r.abuf, rows*depth)
	}
	if g.PackedB == nil {
		r.bbuf = panel.Grow(r.bbuf, cols*depth)
	}
	for r.jc = 0; r.jc < g.N; r.jc += kern.NC {
		r.nc = min(kern.NC, g.N-r.jc)
		for r.pc = 0; r.pc < g.K; r.pc += depth {
			r.kc = min(depth, g.K-r.pc)
			r.last = r.pc+r.kc == g.K
			for r.ic = 0; r.ic < g.M; r.ic += rows {
				r.mc = min(rows, g.M-r.ic)
				r.pack(pool)
				r.mul(pool)
			}
		}
	}
}

// pack fills the buffers for the current block: B once, A for each ic.
func (r *product[T]) pack(pool *par.Pool) {
	kern := r.kernel
	r.bPanels = 0
	if r.args.PackedB == nil && r.ic == 0 {
		r.bPanels = micro.CeilDiv(r.nc, kern.NR)
	}
	aPanels := 0
	if r.args.PackedA == nil {
		aPanels = micro.CeilDiv(r.mc, kern.MR)
	}
	pool.For(r.bPanels+aPanels, panel.Grain/(r.kc*min(kern.MR, kern.NR))+1, r.packLoop)
}

// packPart packs panels lo to hi. The panels of B have the first numbers.
func (r *product[T]) packPart(lo, hi int) {
	g, kern := &r.args, r.kernel
	if lo < r.bPanels {
		j0, j1 := lo*kern.NR, min(min(hi, r.bPanels)*kern.NR, r.nc)
		dst := r.bbuf[j0*r.kc : micro.CeilDiv(j1, kern.NR)*kern.NR*r.kc]
		if g.PackB != nil {
			g.PackB(dst, kern.NR, r.pc, r.pc+r.kc, r.jc+j0, r.jc+j1)
		} else {
			src := g.B.Data[r.pc*g.B.RowStride+(r.jc+j0)*g.B.ColStride:]
			panel.Pack(dst, src, j1-j0, g.B.ColStride, r.kc, g.B.RowStride, kern.NR, kern)
		}
		lo = r.bPanels
	}
	if lo < hi {
		i0, i1 := (lo-r.bPanels)*kern.MR, min((hi-r.bPanels)*kern.MR, r.mc)
		src := g.A.Data[(r.ic+i0)*g.A.RowStride+r.pc*g.A.ColStride:]
		panel.Pack(r.abuf[i0*r.kc:], src, i1-i0, g.A.RowStride, r.kc, g.A.ColStride, kern.MR, kern)
	}
}

// mul multiplies the packed block, divided into tasks of rows and columns.
func (r *product[T]) mul(pool *par.Pool) {
	kern := r.kernel
	r.partition = newPartition(kern, pool, r.mc, r.nc, r.kc)
	tasks := r.partition.tasks()
	r.tiles = panel.Grow(r.tiles, max(pool.Chunks(tasks, r.partition.grain), 1)*kern.MR*kern.NR)
	r.tile.Store(0)
	pool.For(tasks, r.partition.grain, r.mulLoop)
}

func (r *product[T]) mulPart(lo, hi int) {
	kern := r.kernel
	size := kern.MR * kern.NR
	tile := r.tiles[(int(r.tile.Add(1))-1)*size:][:size]
	for t := lo; t < hi; t++ {
		i0, i1, j0, j1 := r.partition.task(t)
		r.mulBlock(i0, i1, j0, j1, tile)
	}
}

// mulBlock computes rows i0 to i1, columns j0 to j1 of the current block.
func (r *product[T]) mulBlock(i0, i1, j0, j1 int, tile []T) {
	g, kern := &r.args, r.kernel
	mr, nr, kc, ldc := kern.MR, kern.NR, r.kc, g.LDC
	a, b := r.abuf, r.bbuf
	if g.PackedA != nil {
		a = g.PackedA.panel.Block(r.pc, kc, r.ic/mr)
	}
	if g.PackedB != nil {
		b = g.PackedB.panel.Block(r.pc, kc, r.jc/nr)
	}
	accumulate := g.Accumulate || r.pc > 0
	if kern.Tile != nil {
		// The rows of A stay in the L1 cache, the columns of B in the L2 cache.
		e := g.Epilogue.When(r.last)
		for i := i0; i < i1; i += mr {
			rows := min(mr, i1-i)
			j := j0
			if kern.Panels != nil && rows <= micro.GroupRows {
				for ; j+micro.GroupPanels*nr <= j1; j += micro.GroupPanels * nr {
					kern.Panels(rows, kc, a[i*kc:], 1, mr, b[j*kc:], g.C[(r.ic+i)*ldc+r.jc+j:], ldc, accumulate, e, r.ic+i, r.jc+j)
				}
			}
			for ; j < j1; j += nr {
				kern.Tile(rows, min(nr, j1-j), kc, a[i*kc:], 1, mr, b[j*kc:], nr, g.C[(r.ic+i)*ldc+r.jc+j:], ldc, accumulate, e, r.ic+i, r.jc+j)
			}
		}
		return
	}
	first := j0
	if i1-i0 == 1 && nr == 2 {
		first = micro.RowOfPanels(kc, mr, a[i0*kc:], b, g.C[(r.ic+i0)*ldc+r.jc:], j0, j1, accumulate)
	}
	for j := first; j < j1; j += nr {
		bp := b[j*kc:][:nr*kc]
		for i := i0; i < i1; i += mr {
			ap := a[i*kc:][:mr*kc]
			c := g.C[(r.ic+i)*ldc+r.jc+j:]
			if i+mr <= i1 && j+nr <= j1 {
				kern.Run(kc, ap, bp, c, ldc, accumulate)
				continue
			}
			kern.Run(kc, ap, bp, tile, nr, false)
			for y := range min(mr, i1-i) {
				to, from := c[y*ldc:][:min(nr, j1-j)], tile[y*nr:]
				if !accumulate {
					copy(to, from)
					continue
				}
				for x := range to {
					to[x] = from[x] + to[x]
				}
			}
		}
	}
	if r.last {
		g.Epilogue.ApplyRange(g.C, ldc, r.ic+i0, r.ic+i1, r.jc+j0, r.jc+j1)
	}
}
