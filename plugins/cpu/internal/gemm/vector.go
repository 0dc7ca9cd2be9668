package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// vectorBlock is the number of results that are computed at a time when the product is computed by columns: they stay in the L1 cache
// while the matrix is read.
const vectorBlock = 1024

// mulVector computes a product with one row or one column. It computes y = M·x; for a single row, M is B transposed and x the row of A.
func mulVector[T micro.Number](pool *par.Pool, g *Args[T]) {
	r := take[T]()
	r.args, r.kernel = *g, micro.Active[T]()
	if g.N == 1 {
		r.matrix, r.rows, r.yStride = g.A, g.M, g.LDC
		r.vector(g.B.Data, g.B.RowStride)
	} else {
		r.matrix, r.rows, r.yStride = g.B.T(), g.N, 1
		r.vector(g.A.Data, g.A.ColStride)
	}
	grain := micro.MinVectorWork
	if r.kernel.Dot != nil {
		grain = micro.MinNativeVectorWork
		r.bbuf = panel.Grow(r.bbuf, r.rows)
	}
	pool.For(r.rows, grain/g.K+1, r.vectorLoop)
	r.args, r.kernel, r.matrix, r.x = Args[T]{}, nil, Mat[T]{}, nil
	give(r)
}

// vector sets x to contiguous elements, which it copies if stride is not 1.
func (r *product[T]) vector(data []T, stride int) {
	k := r.args.K
	if stride == 1 {
		r.x = data[:k]
		return
	}
	r.abuf = panel.Grow(r.abuf, k)
	r.x = r.abuf
	for p := range k {
		r.x[p] = data[p*stride]
	}
}

func (r *product[T]) vectorPart(lo, hi int) {
	g := &r.args
	switch {
	case r.matrix.ColStride == 1 && r.kernel.Dot != nil:
		r.byDots(lo, hi)
	case r.matrix.ColStride == 1:
		r.byRows(lo, hi)
	case r.matrix.RowStride == 1 && r.yStride == 1:
		for i := lo; i < hi; i += vectorBlock {
			r.byColumns(i, min(i+vectorBlock, hi))
		}
	default:
		for i := lo; i < hi; i++ {
			m := r.matrix.Data[i*r.matrix.RowStride:]
			var sum T
			for p, v := range r.x {
				sum += m[p*r.matrix.ColStride] * v
			}
			r.put(i, sum)
		}
	}
	if g.N == 1 {
		g.Epilogue.ApplyRange(g.C, g.LDC, lo, hi, 0, 1)
	} else {
		g.Epilogue.ApplyRange(g.C, g.LDC, 0, 1, lo, hi)
	}
}

func (r *product[T]) put(i int, sum T) {
	y := &r.args.C[i*r.yStride]
	if r.args.Accumulate {
		sum += *y
	}
	*y = sum
}

// byDots computes each result as a dot product with one row of the matrix.
func (r *product[T]) byDots(lo, hi int) {
	sums := r.bbuf[lo:hi]
	r.kernel.Dot(r.x, r.matrix.Data[lo*r.matrix.RowStride:], r.matrix.RowStride, sums)
	for i, sum := range sums {
		r.put(lo+i, sum)
	}
}

// byRows computes four results at a time. The products at even and odd positions are summed separately, so that a result does not depend on
// whether its row is one of four.
func (r *product[T]) byRows(lo, hi int) {
	k, i := len(r.x), lo
	for ; i+4 <= hi; i += 4 {
		at := r.matrix.Data[i*r.matrix.RowStride:]
		s := r.matrix.RowStride
		s0, s1, s2, s3 := micro.Dot4(r.x, at[:k], at[s:][:k], at[2*s:][:k], at[3*s:][:k])
		r.put(i, s0)
		r.put(i+1, s1)
		r.put(i+2, s2)
		r.put(i+3, s3)
	}
	for ; i < hi; i++ {
		r.put(i, micro.Dot(r.x, r.matrix.Data[i*r.matrix.RowStride:][:k]))
	}
}

// byColumns adds the columns of the matrix to y, four at a time.
func (r *product[T]) byColumns(lo, hi int) {
	y := r.args.C[lo:hi]
	if !r.args.Accumulate {
		clear(y)
	}
	p, s := 0, r.matrix.ColStride
	if r.kernel.Axpy != nil {
		r.kernel.Axpy(y, r.x, r.matrix.Data[lo:], s)
		return
	}
	for ; p+4 <= len(r.x); p += 4 {
		at := r.matrix.Data[p*s+lo:]
		m0, m1, m2, m3 := at[:len(y)], at[s:][:len(y)], at[2*s:][:len(y)], at[3*s:][:len(y)]
		v0, v1, v2, v3 := r.x[p], r.x[p+1], r.x[p+2], r.x[p+3]
		for i := range y {
			y[i] += (m0[i]*v0 + m1[i]*v1) + (m2[i]*v2 + m3[i]*v3)
		}
	}
	for ; p < len(r.x); p++ {
		v := r.x[p]
		for i, m := range r.matrix.Data[p*s+lo:][:len(y)] {
			y[i] += m * v
		}
	}
}
