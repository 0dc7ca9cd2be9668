// Package gemm multiplies matrices, cache blocked and spread over the threads
// of a par.Pool, for all element types that package micro has kernels for. The
// kernels of ops (contraction, conv, attention, recurrent) call it, and it
// calls the micro kernels. These packages belong to it:
//
//	micro      micro kernels (AVX-512, AVX2, NEON, plain Go), their selection, epilogues
//	panel      packing of operands into the panels that micro kernels read
//	gemm       drivers: blocked, strips, direct, vectors, batches, indirect and transposed products
//	half       products of f16 and bf16, summed in f32
//	quantized  products of eight-bit integers with zero points, summed in i32
//	gemmtest   the reference and the memory layouts for the tests of all of them
//
// Arithmetic on elements is only in micro kernels, small products and products
// with vectors. Code for a single element type belongs to half and quantized,
// which call the drivers; the drivers must not import them.
//
// For given operands and kernel the result has the same bits for every thread
// count: rows and columns are divided among threads, the inner dimension is
// not. Kernels differ in rounding. No product is skipped, so NaN and infinities
// propagate as in plain arithmetic.
//
// Functions panic when a slice is too short for its sizes and strides. They may
// be called concurrently with the same pool and the same inputs. Scratch is
// reused by later calls: in steady state no buffer is allocated.
//
// Files: gemm.go selects a driver; blocked.go, strips.go, direct.go, small.go
// and vector.go contain the drivers; partition.go divides a product among
// threads; packed.go contains operands that are packed once. Products of other
// kinds are in batch.go, indirect.go and transposed.go. scratch.go keeps buffers.
package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Mat is a view of a matrix: element (i, j) is Data[i*RowStride+j*ColStride].
// Strides are zero (broadcast) or positive and may be in any relation, so a
// transposed view needs no copy.
type Mat[T micro.Number] struct {
	Data                 []T
	RowStride, ColStride int
}

// Row returns the view of a contiguous row-major matrix with cols columns.
func Row[T micro.Number](data []T, cols int) Mat[T] {
	return Mat[T]{Data: data, RowStride: cols, ColStride: 1}
}

// T returns the transposed view.
func (m Mat[T]) T() Mat[T] {
	return Mat[T]{Data: m.Data, RowStride: m.ColStride, ColStride: m.RowStride}
}

// PackFunc supplies rows k0 to k1 and columns j0 to j1 of B in packed form. Columns are divided into panels of width columns; panel q takes
// dst[q*(k1-k0)*width:], and in it element (p, j) of B is at [(p-k0)*width + j-j0-q*width]. Missing columns of the last panel must be
// written as zeros. A PackFunc is called from several threads at once, for disjoint parts; j0 is a multiple of width.
type PackFunc[T micro.Number] func(dst []T, width, k0, k1, j0, j1 int)

// Args is one product C = A·B or C += A·B, of sizes M x K and K x N. A is given as A or PackedA, B as B, PackedB or PackB; packed forms
// take precedence. C is row-major, row i at C[i*LDC], and must not overlap an operand. With K of zero the product is zero.
type Args[T micro.Number] struct {
	M, N, K int

	A       Mat[T]
	PackedA *PackedA[T]

	B       Mat[T]
	PackedB *PackedB[T]
	PackB   PackFunc[T]

	C   []T
	LDC int

	Accumulate bool
	Epilogue   *micro.Epilogue[T] // nil for none
}

// Mul computes the product that args describes.
func Mul[T micro.Number](pool *par.Pool, args *Args[T]) {
	if args.M <= 0 || args.N <= 0 {
		return
	}
	if args.K <= 0 {
		mulEmpty(args)
		return
	}
	if args.PackedA == nil && args.PackedB == nil && args.PackB == nil {
		kern := micro.Active[T]()
		switch {
		case args.M == 1 || args.N == 1:
			mulVector(pool, args)
			return
		case isDirect(args, kern):
			mulDirect(pool, args, kern)
			return
		case args.M*args.N*args.K <= smallWork:
			mulSmall(args)
			return
		case args.M <= maxThin:
			mulThin(pool, args)
			return
		}
	}
	if args.PackedA != nil && args.PackedB == nil && mulStrips(pool, args) {
		return
	}
	mulBlocked(pool, args)
}

// MulPacked computes c = a·b for a of m rows and a packed b.
func MulPacked[T micro.Number](pool *par.Pool, m int, a Mat[T], b *PackedB[T], c []T, ldc int, epilogue *micro.Epilogue[T]) {
	Mul(pool, &Args[T]{M: m, N: b.n, K: b.k, A: a, PackedB: b, C: c, LDC: ldc, Epilogue: epilogue})
}

// mulEmpty computes a product with K of zero: it sets C to zero unless Accumulate is set, and applies the epilogue.
func mulEmpty[T micro.Number](args *Args[T]) {
	for i := range args.M {
		if !args.Accumulate {
			clear(args.C[i*args.LDC:][:args.N])
		}
	}
	args.Epilogue.ApplyRange(args.C, args.LDC, 0, args.M, 0, args.N)
}
