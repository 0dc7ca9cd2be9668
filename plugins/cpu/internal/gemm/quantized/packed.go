package quantized

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Packed is a packed operand of many products of bytes. It is immutable and safe for concurrent use, and contains a copy of the elements.
type Packed struct {
	kern  *kernel
	flip  bool
	zero  []int32 // zero points of the packed bytes: one for all rows or columns, or one for each
	sums  []int32 // sums of the units of each row of A, or column of B
	panel panel.Panels[int32]
	lines int
	k     int
	depth int // k without the padding
}

// PackA packs the m x k matrix a, a left operand; CanMul must hold.
func PackA(pool *par.Pool, m, k int, a Mat) *Packed {
	kern := active
	p := &Packed{kern: kern, flip: kern.group == 4 && a.Signed, lines: m, k: k, depth: k, sums: make([]int32, m)}
	p.zero = zeros(nil, a.Zero, p.flip, 128)
	p.panel = kern.panelsA(nil, m, k)
	kern.packA(pool, &p.panel, m, k, &a, p.flip, p.sums)
	return p
}

// PackB packs the k x n matrix b, a right operand; CanMul must hold.
func PackB(pool *par.Pool, k, n int, b Mat) *Packed {
	kern := active
	p := &Packed{kern: kern, flip: kern.group == 4 && !b.Signed, lines: n, k: k, depth: k, sums: make([]int32, n)}
	p.zero = zeros(nil, b.Zero, p.flip, -128)
	units, nr := micro.CeilDiv(k, kern.group), kern.NR
	count := micro.CeilDiv(n, nr)
	p.panel = panel.Panels[int32]{Kernel: &kern.Kernel, Width: nr, Padded: count * nr, Data: panel.Aligned[int32](count * nr * units)}
	kc := kern.Depth(units)
	pool.For(count, panel.Grain/max(units*nr, 1)+1, func(lo, hi int) {
		for pc := 0; pc < units; pc += kc {
			p1 := min(pc+kc, units)
			dst := p.panel.Block(pc, p1-pc, lo)[:(hi-lo)*nr*(p1-pc)]
			j0, j1, k0 := lo*nr, min(hi*nr, n), pc*kern.group
			kern.pack(dst, b.Data[k0*b.RowStride+j0*b.ColStride:], j1-j0, b.ColStride, min((p1-pc)*kern.group, k-k0), b.RowStride, nr, b.Signed, p.flip)
			kern.sumColumns(dst, nr, pc, p1, j0, j1, p.sums)
		}
	})
	return p
}

// Size returns the size of the packed form in bytes.
func (p *Packed) Size() int { return 4 * (len(p.panel.Data) + len(p.sums) + len(p.zero)) }
