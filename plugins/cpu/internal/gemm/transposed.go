package gemm

import "github.com/goburn/burn/plugins/cpu/internal/par"

// Transposed is a product with a transposed result: element (i, j) of A·B, of sizes
// M x K and K x N, is stored in C[j*LDC+i]. If M is small and no multiple of a
// vector, it is faster than the product of the transposed operands. A is either
// a view or packed by PackA, a PackFunc with rows and columns exchanged. The
// rows of the epilogue are the rows of C.
type Transposed[T Number] struct {
	M, N, K    int
	A          Mat[T]
	PackA      PackFunc[T]
	B          *PackedB[T]
	C          []T
	LDC        int
	Accumulate bool
	Epilogue   *Epilogue[T]
}

// CanTranspose reports whether the kernel in use computes a Transposed product.
func CanTranspose[T Number]() bool {
	kern := Active[T]()
	return kern.Tile != nil && kern.Transpose != nil
}

// MulTransposed computes g, which must have elements and a B that was packed while
// CanTranspose held. It needs memory for the product and for a block of A on every
// thread.
func MulTransposed[T Number](pool *par.Pool, g *Transposed[T]) {
	kern := g.B.panel.kernel
	panels := ceil(g.N, kern.NR)
	share := max(ceil(panels, pool.Threads()), minNativeWork/(g.M*g.K*kern.NR)+1)
	pool.For(panels, share, func(lo, hi int) {
		r := take[T]()
		depth := kern.depth(g.K)
		r.abuf = grow(r.abuf, ceil(g.M, kern.MR)*kern.MR*depth)
		r.bbuf = grow(r.bbuf, g.M*(hi-lo)*kern.NR)
		g.part(kern, lo*kern.NR, min(hi*kern.NR, g.N), r.abuf, r.bbuf, (hi-lo)*kern.NR)
		give(r)
	})
}

// part computes columns j0 to j1 of the product into sums, whose rows are width
// elements apart. buffer is the workspace for a packed block of A.
func (g *Transposed[T]) part(kern *Kernel[T], j0, j1 int, buffer, sums []T, width int) {
	mr, nr, depth := kern.MR, kern.NR, kern.depth(g.K)
	if g.Accumulate {
		for j := j0; j < j1; j += nr {
			kern.Transpose(sums[j-j0:], g.C[j*g.LDC:], min(nr, j1-j), g.LDC, g.M, width)
		}
	}
	for pc := 0; pc < g.K; pc += depth {
		kc := min(depth, g.K-pc)
		if g.PackA != nil {
			g.PackA(buffer[:ceil(g.M, mr)*mr*kc], mr, pc, pc+kc, 0, g.M)
		} else {
			pack(buffer, g.A.Data[pc*g.A.ColStride:], g.M, g.A.RowStride, kc, g.A.ColStride, mr, kern)
		}
		b := g.B.panel.block(pc, kc, 0)
		for j := j0; j < j1; j += nr {
			for i := 0; i < g.M; i += mr {
				kern.Tile(min(mr, g.M-i), min(nr, j1-j), kc, buffer[i*kc:], 1, mr, b[j*kc:], nr,
					sums[i*width+j-j0:], width, g.Accumulate || pc > 0, nil, 0, 0)
			}
		}
	}
	for j := j0; j < j1; j += nr {
		kern.Transpose(g.C[j*g.LDC:], sums[j-j0:], g.M, width, min(nr, j1-j), g.LDC)
	}
	g.Epilogue.apply(g.C, g.LDC, j0, j1, 0, g.M)
}
