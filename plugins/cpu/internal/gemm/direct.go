package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

const (
	// directBytes is the greatest size of a B that is read without packing. B and the rows of A must fit in the caches.
	directBytes = 96 << 10
	// directTiles is the number of row tiles up to which a B of any size is
	// read without packing. Packing costs about one more pass over B.
	directTiles = 1
)

// isDirect reports whether the product is expected to be faster without
// packing.
func isDirect[T micro.Number](g *Args[T], kern *micro.Kernel[T]) bool {
	return kern.Tile != nil && g.B.ColStride == 1 &&
		(g.M <= directTiles*kern.MR || g.K*g.N*panel.SizeOf[T]() <= directBytes && g.K <= kern.KC)
}

// directDepth is the greatest number of steps of the inner dimension in one call. It is bounded because the runtime can stop a thread only
// between calls.
const directDepth = 4096

// mulDirect computes the product without packing the operands.
func mulDirect[T micro.Number](pool *par.Pool, g *Args[T], kern *micro.Kernel[T]) {
	if g.M*g.N*g.K < 2*micro.MinNativeWork || pool.Threads() == 1 {
		g.direct(kern, 0, g.M, 0, g.N)
		return
	}
	r := take[T]()
	r.args, r.kernel = *g, kern
	r.partition = newPartition(kern, pool, g.M, g.N, g.K)
	pool.For(r.partition.tasks(), r.partition.grain, r.directLoop)
	r.args, r.kernel = Args[T]{}, nil
	give(r)
}

func (r *product[T]) directPart(lo, hi int) {
	for t := lo; t < hi; t++ {
		i0, i1, j0, j1 := r.partition.task(t)
		r.args.direct(r.kernel, i0, i1, j0, j1)
	}
}

// direct computes rows i0 to i1, columns j0 to j1.
func (g *Args[T]) direct(kern *micro.Kernel[T], i0, i1, j0, j1 int) {
	a, b := &g.A, &g.B
	depth := min(directDepth, g.K)
	for i := i0; i < i1; i += kern.MR {
		rows := min(kern.MR, i1-i)
		for j := j0; j < j1; j += kern.NR {
			for p := 0; p < g.K; p += depth {
				kern.Tile(rows, min(kern.NR, j1-j), min(depth, g.K-p),
					a.Data[i*a.RowStride+p*a.ColStride:], a.RowStride, a.ColStride,
					b.Data[p*b.RowStride+j:], b.RowStride, g.C[i*g.LDC+j:], g.LDC, g.Accumulate || p > 0, g.Epilogue.When(p+depth >= g.K), i, j)
			}
		}
	}
}
