package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Transposed is a product with a transposed result: element (i, j) of A·B, of sizes M x K and K x N, is stored in C[j*LDC+i]. If M is small
// and not a multiple of the vector length, it is faster than the product of the transposed operands. A is a view, or is supplied by PackA, a
// PackFunc with rows and columns exchanged. The rows of the epilogue are the rows of C.
type Transposed[T micro.Number] struct {
	M, N, K    int
	A          Mat[T]
	PackA      PackFunc[T]
	B          *PackedB[T]
	C          []T
	LDC        int
	Accumulate bool
	Epilogue   *micro.Epilogue[T]
}

// CanTranspose reports whether the kernel in use computes a Transposed product.
func CanTranspose[T micro.Number]() bool {
	kern := micro.Active[T]()
	return kern.Tile != nil && kern.Transpose != nil
}

// MulTransposed computes g. None of its sizes may be zero, and B must have been packed while CanTranspose reported true. Its workspace holds
// the product and, for every thread, a block of A.
func MulTransposed[T micro.Number](pool *par.Pool, g *Transposed[T]) {
	kern := g.B.panel.Kernel
	panels := micro.CeilDiv(g.N, kern.NR)
	share := max(micro.CeilDiv(panels, pool.Threads()), micro.MinNativeWork/(g.M*g.K*kern.NR)+1)
	pool.For(panels, share, func(lo, hi int) {
		r := take[T]()
		depth := kern.Depth(g.K)
		r.abuf = panel.Grow(r.abuf, micro.CeilDiv(g.M, kern.MR)*kern.MR*depth)
		r.bbuf = panel.Grow(r.bbuf, g.M*(hi-lo)*kern.NR)
		g.part(kern, lo*kern.NR, min(hi*kern.NR, g.N), r.abuf, r.bbuf, (hi-lo)*kern.NR)
		give(r)
	})
}

// part computes columns j0 to j1 of the product into sums, whose rows are width
// elements apart. buffer is the workspace for a packed block of A.
func (g *Transposed[T]) part(kern *micro.Kernel[T], j0, j1 int, buffer, sums []T, width int) {
	mr, nr, depth := kern.MR, kern.NR, kern.Depth(g.K)
	if g.Accumulate {
		for j := j0; j < j1; j += nr {
			kern.Transpose(sums[j-j0:], g.C[j*g.LDC:], min(nr, j1-j), g.LDC, g.M, width)
		}
	}
	for pc := 0; pc < g.K; pc += depth {
		kc := min(depth, g.K-pc)
		if g.PackA != nil {
			g.PackA(buffer[:micro.CeilDiv(g.M, mr)*mr*kc], mr, pc, pc+kc, 0, g.M)
		} else {
			panel.Pack(buffer, g.A.Data[pc*g.A.ColStride:], g.M, g.A.RowStride, kc, g.A.ColStride, mr, kern)
		}
		b := g.B.panel.Block(pc, kc, 0)
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
	g.Epilogue.ApplyRange(g.C, g.LDC, j0, j1, 0, g.M)
}
