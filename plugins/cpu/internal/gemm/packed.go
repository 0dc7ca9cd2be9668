package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// PackedA is the packed left operand of many products. It is immutable and safe for concurrent use, and contains a copy of the elements.
type PackedA[T micro.Number] struct {
	m, k  int
	panel panel.Panels[T]
}

// PackedB is the packed right operand of many products. It is immutable and safe for concurrent use, and contains a copy of the elements.
type PackedB[T micro.Number] struct {
	n, k  int
	panel panel.Panels[T]
}

// PackA packs the m x k matrix a for the kernel in use.
func PackA[T micro.Number](pool *par.Pool, m, k int, a Mat[T]) *PackedA[T] {
	kernel := micro.Active[T]().Balanced(m)
	return &PackedA[T]{m, k, panel.New(pool, kernel, kernel.MR, m, a.RowStride, k, a.ColStride, a.Data)}
}

// PackB packs the k x n matrix b for the kernel in use.
func PackB[T micro.Number](pool *par.Pool, k, n int, b Mat[T]) *PackedB[T] {
	kernel := micro.Active[T]()
	return &PackedB[T]{n, k, panel.New(pool, kernel, kernel.NR, n, b.ColStride, k, b.RowStride, b.Data)}
}

// PackedSizeB returns the number of elements that PackBInto needs for a k x n
// matrix.
func PackedSizeB[T micro.Number](k, n int) int {
	nr := micro.Active[T]().NR
	return micro.CeilDiv(n, nr) * nr * k
}

// PackBInto is like PackB, but packs into data, which the result refers to.
func PackBInto[T micro.Number](pool *par.Pool, data []T, k, n int, b Mat[T]) PackedB[T] {
	kernel := micro.Active[T]()
	return PackedB[T]{n, k, panel.Into(pool, data, kernel, kernel.NR, n, b.ColStride, k, b.RowStride, b.Data)}
}

// First returns the first n columns of b, or all of b if these are not contiguous.
func (b *PackedB[T]) First(n int) PackedB[T] {
	first := *b
	if b.k <= b.panel.Kernel.KC {
		first.n = min(n, b.n)
	}
	return first
}

// Size returns the numbers of rows and columns.
func (a *PackedA[T]) Size() (m, k int) { return a.m, a.k }

// Size returns the numbers of rows and columns.
func (b *PackedB[T]) Size() (k, n int) { return b.k, b.n }

// Elements returns the number of elements of the packed form, padding included.
func (a *PackedA[T]) Elements() int { return len(a.panel.Data) }

// Elements returns the number of elements of the packed form, padding included.
func (b *PackedB[T]) Elements() int { return len(b.panel.Data) }

// PackedAOf returns the left operand of m rows and k inner elements that p contains. It is for packages that pack operands themselves.
func PackedAOf[T micro.Number](m, k int, p panel.Panels[T]) PackedA[T] { return PackedA[T]{m, k, p} }

// PackedBOf returns the right operand of k inner elements and n columns that p contains.
func PackedBOf[T micro.Number](k, n int, p panel.Panels[T]) PackedB[T] { return PackedB[T]{n, k, p} }
