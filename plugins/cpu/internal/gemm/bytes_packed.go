package gemm

import "github.com/goburn/burn/plugins/cpu/internal/par"

// PackedBytes is an operand of many products of bytes, packed once. It is
// immutable and safe for concurrent use, and holds its own copy of the
// elements.
type PackedBytes struct {
	kern  *byteKernel
	flip  bool
	zero  []int32 // zero points of the bytes in the units, one for all or for each
	sums  []int32 // of the units of a row, or of a column
	panel panels[int32]
	lines int
	k     int
	depth int // k without the padding
}

// PackBytesA packs the m x k matrix a, a left operand; CanMulBytes must hold.
func PackBytesA(pool *par.Pool, m, k int, a ByteMat) *PackedBytes {
	kern := activeBytes
	p := &PackedBytes{kern: kern, flip: kern.group == 4 && a.Signed, lines: m, k: k, depth: k, sums: make([]int32, m)}
	p.zero = zeros(nil, a.Zero, p.flip, 128)
	p.panel = kern.panelsA(nil, m, k)
	kern.packA(pool, &p.panel, m, k, &a, p.flip, p.sums)
	return p
}

// PackBytesB packs the k x n matrix b, a right operand; CanMulBytes must hold.
func PackBytesB(pool *par.Pool, k, n int, b ByteMat) *PackedBytes {
	kern := activeBytes
	p := &PackedBytes{kern: kern, flip: kern.group == 4 && !b.Signed, lines: n, k: k, depth: k, sums: make([]int32, n)}
	p.zero = zeros(nil, b.Zero, p.flip, -128)
	units, nr := ceil(k, kern.group), kern.NR
	count := ceil(n, nr)
	p.panel = panels[int32]{kernel: &kern.Kernel, width: nr, padded: count * nr, data: aligned[int32](count * nr * units)}
	kc := kern.depth(units)
	pool.For(count, packGrain/max(units*nr, 1)+1, func(lo, hi int) {
		for pc := 0; pc < units; pc += kc {
			p1 := min(pc+kc, units)
			dst := p.panel.block(pc, p1-pc, lo)[:(hi-lo)*nr*(p1-pc)]
			j0, j1, k0 := lo*nr, min(hi*nr, n), pc*kern.group
			kern.pack(dst, b.Data[k0*b.RowStride+j0*b.ColStride:], j1-j0, b.ColStride, min((p1-pc)*kern.group, k-k0), b.RowStride, nr, b.Signed, p.flip)
			kern.sumColumns(dst, nr, pc, p1, j0, j1, p.sums)
		}
	})
	return p
}

// Size is the bytes that the packed form takes.
func (p *PackedBytes) Size() int { return 4 * (len(p.panel.data) + len(p.sums) + len(p.zero)) }
