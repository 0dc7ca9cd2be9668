package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Batch describes many products of the same size, one for each index tuple of Dims. The strides of A, B and C are in elements, one for each
// dimension (zero to broadcast an operand). If a dimension is zero there is no product.
type Batch struct {
	Dims    []int
	A, B, C []int
}

// MulBatch computes one product for each index tuple of batch.Dims. args describes the first one. All products share packed operands; PackB
// is not allowed. Products run in parallel if there are enough of them, else one after the other on all threads, with the same results.
func MulBatch[T micro.Number](pool *par.Pool, batch Batch, args *Args[T]) {
	if args.M <= 0 || args.N <= 0 {
		return
	}
	batch.For(pool, args.M*args.N*args.K, micro.Active[T]().Grain(), func(a, b, c int) { args.shift(a, b, c, pool) })
}

// For calls multiply with the offsets of A, B and C of each product: in parallel if there are enough products, else one after the other, so
// that each may use all threads. work is the number of multiply-adds of one product, and grain the least number for which another thread is
// used.
func (batch *Batch) For(pool *par.Pool, work, grain int, multiply func(a, b, c int)) {
	n := 1
	for _, d := range batch.Dims {
		n *= d
	}
	if n <= 0 {
		return
	}
	work = max(work, 1)
	if n == 1 || n < pool.Threads() || n < 4*pool.Threads() && work > 16*grain {
		batch.run(multiply, 0, n)
		return
	}
	pool.For(n, grain/work+1, func(lo, hi int) { batch.run(multiply, lo, hi) })
}

// run calls f with the offsets of elements lo to hi.
func (batch *Batch) run(f func(a, b, c int), lo, hi int) {
	for i := lo; i < hi; i++ {
		a, b, c, rest := 0, 0, 0, i
		for d := len(batch.Dims) - 1; d >= 0; d-- {
			at := rest % batch.Dims[d]
			rest /= batch.Dims[d]
			a += at * batch.A[d]
			b += at * batch.B[d]
			c += at * batch.C[d]
		}
		f(a, b, c)
	}
}

// shift computes the product whose operands begin at the given offsets.
func (args *Args[T]) shift(a, b, c int, pool *par.Pool) {
	one := *args
	if one.PackedA == nil && one.K > 0 {
		one.A.Data = one.A.Data[a:]
	}
	if one.PackedB == nil && one.K > 0 {
		one.B.Data = one.B.Data[b:]
	}
	one.C = one.C[c:]
	Mul(pool, &one)
}
