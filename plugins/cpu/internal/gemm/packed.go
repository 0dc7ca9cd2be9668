package gemm

import "github.com/goburn/burn/plugins/cpu/internal/par"

// packGrain is the fewest elements that a thread packs at a time.
const packGrain = 16 << 10

// PackedA is the left operand of many products, packed once. It is immutable
// and safe for concurrent use, and holds its own copy of the elements.
type PackedA[T Number] struct {
	m, k  int
	panel panels[T]
}

// PackedB is the right operand of many products, packed once. It is immutable
// and safe for concurrent use, and holds its own copy of the elements.
type PackedB[T Number] struct {
	n, k  int
	panel panels[T]
}

// panels is a whole operand in packed form: for each block of the inner
// dimension, all its panels.
type panels[T Number] struct {
	kernel *Kernel[T]
	data   []T
	width  int // lines of a panel
	padded int // lines, rounded up to a multiple of a panel
}

// PackA packs the m x k matrix a for the kernel in use.
func PackA[T Number](pool *par.Pool, m, k int, a Mat[T]) *PackedA[T] {
	kernel := Active[T]().balanced(m)
	return &PackedA[T]{m, k, packAll(pool, kernel, kernel.MR, m, a.RowStride, k, a.ColStride, a.Data)}
}

// PackB packs the k x n matrix b for the kernel in use.
func PackB[T Number](pool *par.Pool, k, n int, b Mat[T]) *PackedB[T] {
	kernel := Active[T]()
	return &PackedB[T]{n, k, packAll(pool, kernel, kernel.NR, n, b.ColStride, k, b.RowStride, b.Data)}
}

// PackedSizeB returns the number of elements that PackBInto needs for a k x n
// matrix.
func PackedSizeB[T Number](k, n int) int {
	nr := Active[T]().NR
	return ceil(n, nr) * nr * k
}

// PackBInto is PackB into memory of the caller's, which the result refers to.
func PackBInto[T Number](pool *par.Pool, data []T, k, n int, b Mat[T]) PackedB[T] {
	kernel := Active[T]()
	return PackedB[T]{n, k, packInto(pool, data, kernel, kernel.NR, n, b.ColStride, k, b.RowStride, b.Data)}
}

// First returns the first n columns of b, or all of b if these are not contiguous.
func (b *PackedB[T]) First(n int) PackedB[T] {
	first := *b
	if b.k <= b.panel.kernel.KC {
		first.n = min(n, b.n)
	}
	return first
}

// balanced is the kernel for a left operand of m rows that is packed: tiles of
// nearly the same height, where a few rows would be left over. A tile of few
// rows waits for the sums of its own.
func (kern *Kernel[T]) balanced(m int) *Kernel[T] {
	if kern.Tile == nil || m <= kern.MR {
		return kern
	}
	rows := ceil(m, ceil(m, kern.MR))
	if rows == kern.MR {
		return kern
	}
	own := *kern
	own.MR, own.MC = rows, kern.MC/rows*rows
	return &own
}

// Size returns the rows and columns.
func (a *PackedA[T]) Size() (m, k int) { return a.m, a.k }

// Size returns the rows and columns.
func (b *PackedB[T]) Size() (k, n int) { return b.k, b.n }

// Elements returns how many elements the packed form holds, padding included.
func (a *PackedA[T]) Elements() int { return len(a.panel.data) }

// Elements returns how many elements the packed form holds, padding included.
func (b *PackedB[T]) Elements() int { return len(b.panel.data) }

func packAll[T Number](pool *par.Pool, kernel *Kernel[T], width, lines, lineStride, k, depthStride int, src []T) panels[T] {
	return packInto(pool, aligned[T](ceil(lines, width)*width*k), kernel, width, lines, lineStride, k, depthStride, src)
}

func packInto[T Number](pool *par.Pool, data []T, kernel *Kernel[T], width, lines, lineStride, k, depthStride int, src []T) panels[T] {
	n := ceil(lines, width)
	packed := panels[T]{kernel: kernel, width: width, padded: n * width, data: data}
	kc := kernel.depth(k)
	for pc := 0; pc < k; pc += kc {
		depth := min(kc, k-pc)
		pool.For(n, packGrain/(depth*width)+1, func(lo, hi int) {
			l0, l1 := lo*width, min(hi*width, lines)
			pack(packed.block(pc, depth, lo), src[l0*lineStride+pc*depthStride:], l1-l0, lineStride, depth, depthStride, width, kernel)
		})
	}
	return packed
}

// block returns the panels from number panel on of the block of depth inner
// elements that begins at pc.
func (p *panels[T]) block(pc, depth, panel int) []T {
	return p.data[pc*p.padded+panel*p.width*depth : (pc+depth)*p.padded]
}
