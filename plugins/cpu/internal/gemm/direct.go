package gemm

import "github.com/goburn/burn/plugins/cpu/internal/par"

const (
	// directBytes is the largest B that is read where it stands: it and the
	// rows of A have to stay in the caches without being packed.
	directBytes = 96 << 10
	// directRows is how many tiles of rows read a B of any size where it stands:
	// packing it would be one more of them.
	directTiles = 1
)

// isDirect reports whether the product is better computed from operands that
// are not packed.
func isDirect[T Number](g *Args[T], kern *Kernel[T]) bool {
	return kern.Tile != nil && g.B.ColStride == 1 &&
		(g.M <= directTiles*kern.MR || g.K*g.N*sizeOf[T]() <= directBytes && g.K <= kern.KC)
}

// mulDirect computes the product from operands where they stand.
func mulDirect[T Number](pool *par.Pool, g *Args[T], kern *Kernel[T]) {
	r := take[T]()
	r.args, r.kernel = *g, kern
	r.cut = kern.cut(pool, g.M, g.N, g.K)
	pool.For(r.cut.tasks(), r.cut.grain, r.directLoop)
	r.args, r.kernel = Args[T]{}, nil
	give(r)
}

func (r *product[T]) directPart(lo, hi int) {
	g, kern := &r.args, r.kernel
	for t := lo; t < hi; t++ {
		i0, i1, j0, j1 := r.cut.task(t)
		for i := i0; i < i1; i += kern.MR {
			rows := min(kern.MR, i1-i)
			for j := j0; j < j1; j += kern.NR {
				kern.Tile(rows, min(kern.NR, j1-j), g.K, g.A.Data[i*g.A.RowStride:], g.A.RowStride, g.A.ColStride,
					g.B.Data[j:], g.B.RowStride, g.C[i*g.LDC+j:], g.LDC, g.Accumulate)
			}
			g.Epilogue.apply(g.C, g.LDC, i, i+rows, j0, j1)
		}
	}
}
