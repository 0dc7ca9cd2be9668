// Package half multiplies matrices of 16-bit floats, f16 and bf16. It widens operands to float32 while it packs them. If the processor
// multiplies pairs of bf16, it packs bf16 operands in pairs instead. Sums are in float32 and are rounded once, after the epilogue. It has a
// driver separate from those of package gemm, because rows of sums must stay in float32 until they are complete. It uses the micro kernels
// and epilogues of package micro and the panels of package panel. The caller supplies the conversions: this package must not know how an
// element is rounded.
package half

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Type is a 16-bit float. Decode and Encode convert slices of equal
// length; Encode rounds to nearest, ties to even.
type Type struct {
	BF16   bool // the elements are the upper halves of float32
	Decode func(dst []float32, src []uint16)
	Encode func(dst []uint16, src []float32)
}

// Args is one product C = A·B or C += A·B of 16-bit floats, of sizes M x K and K x N, summed in float32 and rounded once, after the
// epilogue. PackedB, if set, takes precedence over B. C is row-major, row i at C[i*LDC], and must not overlap an operand.
type Args struct {
	Type       *Type
	M, N, K    int
	A, B       gemm.Mat[uint16]
	PackedB    *Packed
	C          []uint16
	LDC        int
	Accumulate bool
	Epilogue   *micro.Epilogue[float32] // nil for none
}

// pairKernel multiplies pairs of bfloat16 numbers that are adjacent along the inner dimension; a pair is stored as one float32.
//
// The instruction flushes subnormal operands and sums to zero. Operands with subnormal numbers therefore need another kernel. The
// instruction rounds each sum to nearest.
type pairKernel struct {
	micro.Kernel[float32] // of pairs
	// zip packs pairs of up to NR adjacent lines from rows whose distance is row elements of 16 bits. transpose packs pairs of up to
	// sixteen lines whose distance is line elements of 16 bits. depth counts pairs.
	zip       func(lines, depth int, src *uint16, row int, dst *float32, width int)
	transpose func(lines, depth int, src *float32, line int, dst *float32, width int)
	// subnormal reports whether n pairs hold a subnormal number.
	subnormal func(n int, x *float32) bool
}

const (
	// maxStripBytes is the size in bytes of the strip of B that a task keeps in the
	// L2 cache while it reads all rows of A.
	maxStripBytes = 512 << 10
	// maxRowBytes is the number of bytes of A that are packed at a time.
	maxRowBytes = 4 << 20
	// maxBlockRows is the greatest number of rows whose sums are kept for a full strip.
	maxBlockRows = 64
)

// Mul computes a product of 16-bit floats. The result has the same bits in every run with the same thread count. It has the same bits for
// all thread counts, unless bfloat16 operands contain subnormal numbers: each strip of B with such numbers uses another kernel, and the
// strips depend on the thread count.
func Mul(pool *par.Pool, args *Args) {
	switch {
	case args.M <= 0 || args.N <= 0:
	case args.K <= 0:
		mulEmpty(args)
	case args.PackedB == nil && (args.M == 1 || args.N == 1):
		mulVector(pool, args)
	default:
		r := idleProducts.Get().(*product)
		r.run(pool, args)
		r.args, r.wide, r.kern = nil, nil, nil
		if cap(r.a) > panel.MaxKept {
			r.a = nil
		}
		idleProducts.Put(r)
	}
}

// MulBatch computes the product args for each element of batch, like gemm.MulBatch.
func MulBatch(pool *par.Pool, batch gemm.Batch, args *Args) {
	if args.M <= 0 || args.N <= 0 {
		return
	}
	batch.For(pool, args.M*args.N*args.K, micro.MinNativeWork, func(a, b, c int) {
		one := *args
		if one.K > 0 {
			one.A.Data = one.A.Data[a:]
			if one.PackedB == nil {
				one.B.Data = one.B.Data[b:]
			}
		}
		one.C = one.C[c:]
		Mul(pool, &one)
	})
}

func mulEmpty(g *Args) {
	row := make([]float32, g.N)
	for i := range g.M {
		clear(row)
		if g.Accumulate {
			g.Type.Decode(row, g.C[i*g.LDC:][:g.N])
		}
		g.Epilogue.Block(i, 0).Apply(row, g.N, 1, g.N)
		g.Type.Encode(g.C[i*g.LDC:][:g.N], row)
	}
}

// product is the state of one product. Later calls reuse it.
type product struct {
	args *Args
	wide *micro.Kernel[float32] // of widened operands

	kern   *micro.Kernel[float32] // of this pass
	paired bool
	mr     int
	group  int // elements of a step of the inner dimension
	units  int // steps
	block  int // steps of B that are packed at a time

	ic, mc           int // the current rows
	rows, cols, down int // rows and columns of a task; tasks in a strip
	a                []float32
	line             int // elements between rows of a, unless it is in panels
	subnormal        atomic.Bool
	left             []bool // tasks that the next pass computes

	packLoop, mulLoop func(lo, hi int)
}

var idleProducts = sync.Pool{New: func() any {
	r := &product{}
	r.packLoop, r.mulLoop = r.packPart, r.mulPart
	return r
}}

// workspace is the memory of one thread.
type workspace struct {
	b, sums, line []float32
	halves        []uint16
}

var idleWorkspaces = sync.Pool{New: func() any { return new(workspace) }}

func (w *workspace) done() {
	if cap(w.b) > panel.MaxKept {
		w.b = nil
	}
	idleWorkspaces.Put(w)
}

// pairsFor returns the pair kernel for elements of type t whose tiles are as large as the tiles of wide, or nil if there is none.
func pairsFor(t *Type, wide *micro.Kernel[float32]) *pairKernel {
	if p := active.pairs; p != nil && t.BF16 && p.MR == wide.MR && p.NR == wide.NR {
		return p
	}
	return nil
}

func (r *product) run(pool *par.Pool, g *Args) {
	r.args, r.wide = g, micro.Active[float32]()
	if b := g.PackedB; b != nil {
		if b.n != g.N || b.k != g.K {
			panic("half: packed operand of another size")
		}
		r.wide = b.wide
	}
	pairs := pairsFor(g.Type, r.wide)
	if b := g.PackedB; b != nil && b.pairs == nil {
		pairs = nil
	}
	mr := r.wide.MR
	rows := min(max(maxRowBytes/4/g.K/mr, 1)*mr, gemm.MaxRows/mr*mr)
	for r.ic = 0; r.ic < g.M; r.ic += rows {
		r.mc = min(rows, g.M-r.ic)
		r.mr = r.wide.Balanced(r.mc).MR
		tasks := r.partition(pool, pairs != nil)
		r.left = slices.Grow(r.left[:0], tasks)[:tasks]
		for i := range r.left {
			r.left[i] = true
		}
		if pairs != nil && !r.pass(pool, &pairs.Kernel, true) {
			continue
		}
		r.pass(pool, r.wide, false)
	}
}

// pass computes the remaining tasks with kern and reports whether tasks remain. If paired is set, kern multiplies pairs, and tasks with
// subnormal operands remain.
func (r *product) pass(pool *par.Pool, kern *micro.Kernel[float32], paired bool) bool {
	g := r.args
	r.kern, r.paired, r.group = kern, paired, 1
	if paired {
		r.group = 2
	}
	r.units = micro.CeilDiv(g.K, r.group)
	r.block = r.units
	if r.byBlocks() {
		r.block = kern.Depth(r.units)
	}
	r.subnormal.Store(paired && g.PackedB != nil && g.PackedB.subnormal)
	panels := micro.CeilDiv(r.mc, r.mr)
	r.line = 0
	if !paired && kern.Tile != nil && g.A.ColStride == 1 {
		r.line = g.K
		if g.K*4%gemm.Aliasing == 0 {
			r.line += 16
		}
	}
	r.a = panel.Grow(r.a, panels*r.mr*max(r.units, r.line))
	pool.For(panels, panel.Grain/(r.units*r.mr)+1, r.packLoop)
	if r.subnormal.Load() {
		return true
	}
	pool.For(len(r.left), micro.MinNativeWork/(r.rows*r.cols*r.units)+1, r.mulLoop)
	return paired && slices.Contains(r.left, true)
}

// byBlocks reports whether the inner dimension of B is split into blocks, so
// that packing reads longer pieces of each row.
func (r *product) byBlocks() bool {
	g := r.args
	return g.PackedB == nil && g.B.ColStride == 1 && r.mc <= maxBlockRows
}

// partition divides the current rows into tasks and returns their number.
func (r *product) partition(pool *par.Pool, paired bool) int {
	g, nr := r.args, r.wide.NR
	panels, bytes := micro.CeilDiv(g.N, nr), 4*g.K
	if paired {
		bytes = 2 * g.K
	}
	width := min(max(maxStripBytes/(bytes*nr), 1), max(gemm.MaxStrip/nr, 1), panels)
	if r.byBlocks() {
		width = min(max(gemm.MaxStrip/nr, 1), panels)
	}
	across, threads := micro.CeilDiv(panels, width), pool.Threads()
	r.down = 1
	if threads > 1 {
		across = min(micro.CeilDiv(across, threads)*threads, panels)
		width = micro.CeilDiv(panels, across)
		across = micro.CeilDiv(panels, width)
		if across < gemm.StripPanels*threads {
			r.down = min(micro.CeilDiv(r.mc, r.mr), micro.CeilDiv(gemm.TasksPerThread*threads, across))
		}
	}
	r.rows, r.cols = micro.CeilDiv(micro.CeilDiv(r.mc, r.mr), r.down)*r.mr, width*nr
	r.down = micro.CeilDiv(r.mc, r.rows)
	return across * r.down
}

// packPart packs panels lo to hi of A.
func (r *product) packPart(lo, hi int) {
	g, w := r.args, idleWorkspaces.Get().(*workspace)
	i0, i1 := lo*r.mr, min(hi*r.mr, r.mc)
	src := g.A.Data[(r.ic+i0)*g.A.RowStride:]
	switch {
	case r.line == g.K && g.A.RowStride == g.K:
		g.Type.Decode(r.a[i0*g.K:i1*g.K], src[:(i1-i0)*g.K])
	case r.line > 0:
		for i := i0; i < i1; i++ {
			g.Type.Decode(r.a[i*r.line:][:g.K], src[(i-i0)*g.A.RowStride:][:g.K])
		}
	case r.pack(w, r.a[i0*r.units:hi*r.mr*r.units], src, i1-i0, g.A.RowStride, g.K, g.A.ColStride, r.mr):
		r.subnormal.Store(true)
	}
	w.done()
}

// mulPart computes tasks lo to hi.
func (r *product) mulPart(lo, hi int) {
	w := idleWorkspaces.Get().(*workspace)
	strip := packedBlock{j0: -1}
	for t := lo; t < hi; t++ {
		if r.left[t] {
			i0, j0 := t%r.down*r.rows, t/r.down*r.cols
			r.left[t] = !r.task(w, &strip, i0, min(i0+r.rows, r.mc), j0, min(j0+r.cols, r.args.N))
		}
	}
	w.done()
}

// packedBlock contains steps p0 to p1 of columns j0 to j1 of B, packed.
type packedBlock struct {
	p0, p1, j0, j1 int
	data           []float32
	subnormal      bool
}

// task computes rows i0 to i1 of the current rows, columns j0 to j1. held is the block of B that w contains, or none. task reports false,
// and leaves C unchanged, if B contains subnormal numbers that the kernel does not support.
func (r *product) task(w *workspace, held *packedBlock, i0, i1, j0, j1 int) bool {
	for p0 := 0; p0 < r.units; p0 += r.block {
		if held.p0 != p0 || held.j0 != j0 {
			*held = r.columns(w, p0, min(p0+r.block, r.units), j0, j1)
		}
		if held.subnormal {
			return false
		}
		for i := i0; i < i1; i += r.mr {
			r.panel(w, held, i, min(r.mr, i1-i), i-i0)
		}
	}
	return true
}

// columns packs a block of B.
func (r *product) columns(w *workspace, p0, p1, j0, j1 int) packedBlock {
	g, nr := r.args, r.kern.NR
	b := packedBlock{p0: p0, p1: p1, j0: j0, j1: j1}
	size := micro.CeilDiv(j1-j0, nr) * nr * (p1 - p0)
	if p := g.PackedB; p != nil && r.paired {
		b.data = p.pairs[j0*r.units:][:size]
		return b
	}
	w.b = panel.Grow(w.b, size)
	b.data = w.b
	if p := g.PackedB; p != nil {
		p.widen(g.Type, w.b, j0)
		return b
	}
	k0 := p0 * r.group
	src := g.B.Data[k0*g.B.RowStride+j0*g.B.ColStride:]
	b.subnormal = r.pack(w, w.b, src, j1-j0, g.B.ColStride, min(p1*r.group, g.K)-k0, g.B.RowStride, nr)
	return b
}

// panel multiplies rows [i, i+rows) of the current rows by a block of B. If B has several blocks, it adds the products to the rows of w.sums
// that begin at row at.
func (r *product) panel(w *workspace, b *packedBlock, i, rows, at int) {
	g, kern, mr, nr := r.args, r.kern, r.mr, r.kern.NR
	n := b.j1 - b.j0
	width := micro.CeilDiv(n, nr) * nr
	if r.block == r.units {
		at = 0
	}
	w.sums = panel.Grow(w.sums, (min(r.rows, maxBlockRows+mr)+kern.MR)*width)
	sums, c := w.sums[at*width:], g.C[(r.ic+i)*g.LDC+b.j0:]
	if g.Accumulate && b.p0 == 0 {
		for y := range rows {
			g.Type.Decode(sums[y*width:][:n], c[y*g.LDC:][:n])
		}
	}
	depth, steps := kern.Depth(r.units), b.p1-b.p0
	for pc := 0; pc < steps; pc += depth {
		kc, accumulate := min(depth, steps-pc), g.Accumulate || b.p0+pc > 0
		e := g.Epilogue.When(b.p0+pc+kc == r.units)
		a, aRow, aCol := r.a[i*r.units:], 1, mr
		if r.line > 0 {
			a, aRow, aCol = r.a[i*r.line:], r.line, 1
		}
		a = a[(b.p0+pc)*aCol:]
		for j := 0; j < n; j += nr {
			from := b.data[j*steps+pc*nr:]
			if kern.Tile != nil {
				kern.Tile(rows, min(nr, n-j), kc, a, aRow, aCol, from, nr, sums[j:], width, accumulate, e, r.ic+i, b.j0+j)
			} else {
				kern.Run(kc, a[:kc*mr], from[:kc*nr], sums[j:], width, accumulate)
			}
		}
	}
	if b.p1 < r.units {
		return
	}
	if kern.Tile == nil {
		g.Epilogue.Block(r.ic+i, b.j0).Apply(sums, width, rows, n)
	}
	for y := range rows {
		g.Type.Encode(c[y*g.LDC:][:n], sums[y*width:][:n])
	}
}
