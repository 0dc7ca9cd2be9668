package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

const (
	// stripElements is the number of elements of B in a strip, for each block of the inner dimension. Together with the rows of A that are
	// read meanwhile, they fill half of the L2 cache.
	stripElements = 64 << 10
	// StripPanels is the least number of panels per thread for which threads share the columns alone. With fewer panels the shares are too
	// uneven.
	StripPanels = 3
	// maxInPlace is the greatest number of rows of B that several row tiles read without packing. Rows that are a multiple of Aliasing
	// bytes apart are packed, because they map to few sets of the cache.
	maxInPlace, Aliasing = 96, 2048
)

// mulStrips computes a product with a packed A in strips of columns: a thread packs the columns of B and multiplies them while they are in
// its cache. It reports false, and does nothing, if there are too few columns to share or if there is no kernel for it.
func mulStrips[T micro.Number](pool *par.Pool, args *Args[T]) bool {
	kern := args.PackedA.panel.Kernel
	panels := micro.CeilDiv(args.N, kern.NR)
	if kern.Tile == nil || pool.Threads() > 1 && panels < StripPanels*pool.Threads() {
		return false
	}
	r := take[T]()
	r.args = *args
	r.pick()
	depth := kern.Depth(args.K)
	width := min(max(stripElements/depth/kern.NR, 1), MaxStrip/kern.NR, panels)
	tasks := micro.CeilDiv(panels, width)
	if threads := pool.Threads(); threads > 1 {
		tasks = min(micro.CeilDiv(tasks, threads)*threads, panels)
		width = micro.CeilDiv(panels, tasks)
		tasks = micro.CeilDiv(panels, width)
	}
	r.nc = width * kern.NR
	r.kc = depth
	grain := micro.MinNativeWork/(r.nc*args.K*args.M) + 1
	r.tiles = panel.Grow(r.tiles, max(pool.Chunks(tasks, grain), 1)*r.nc*depth)
	r.tile.Store(0)
	pool.For(tasks, grain, r.stripLoop)
	r.args, r.kernel = Args[T]{}, nil
	give(r)
	return true
}

// stripPart computes strips lo to hi.
func (r *product[T]) stripPart(lo, hi int) {
	size := r.nc * r.kc
	buffer := r.tiles[(int(r.tile.Add(1))-1)*size:][:size]
	for s := lo; s < hi; s++ {
		r.strip(s*r.nc, min((s+1)*r.nc, r.args.N), buffer)
	}
}

// strip computes columns j0 to j1.
func (r *product[T]) strip(j0, j1 int, buffer []T) {
	g, kern := &r.args, r.kernel
	mr, nr, ldc := kern.MR, kern.NR, g.LDC
	inPlace := g.PackB == nil && g.B.ColStride == 1 && (g.M <= mr || g.K <= maxInPlace && g.B.RowStride*panel.SizeOf[T]()%Aliasing != 0)
	for pc := 0; pc < g.K; pc += r.kc {
		kc := min(r.kc, g.K-pc)
		a := g.PackedA.panel.Block(pc, kc, 0)
		switch {
		case inPlace:
		case g.PackB != nil:
			g.PackB(buffer[:micro.CeilDiv(j1-j0, nr)*nr*kc], nr, pc, pc+kc, j0, j1)
		default:
			src := g.B.Data[pc*g.B.RowStride+j0*g.B.ColStride:]
			panel.Pack(buffer, src, j1-j0, g.B.ColStride, kc, g.B.RowStride, nr, kern)
		}
		accumulate, e := g.Accumulate || pc > 0, g.Epilogue.When(pc+kc == g.K)
		for i := 0; i < g.M; i += mr {
			rows := min(mr, g.M-i)
			for j := j0; j < j1; j += nr {
				b, row := buffer[(j-j0)*kc:], nr
				if inPlace {
					b, row = g.B.Data[pc*g.B.RowStride+j:], g.B.RowStride
				}
				kern.Tile(rows, min(nr, j1-j), kc, a[i*kc:], 1, mr, b, row, g.C[i*ldc+j:], ldc, accumulate, e, i, j)
			}
		}
	}
}
