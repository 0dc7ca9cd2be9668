package gemm

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// HalfType is a 16-bit float. Decode and Encode convert slices of equal
// length; Encode rounds to nearest, ties to even.
type HalfType struct {
	BF16   bool // the upper half of a float32
	Decode func(dst []float32, src []uint16)
	Encode func(dst []uint16, src []float32)
}

// HalfArgs is one product C = A·B or C += A·B of 16-bit floats, of sizes M x K
// and K x N, summed in float32 and rounded once, after the epilogue. B is
// PackedB if that is given. C is row-major, row i at C[i*LDC], and must not
// overlap an operand.
type HalfArgs struct {
	Type       *HalfType
	M, N, K    int
	A, B       Mat[uint16]
	PackedB    *PackedHalves
	C          []uint16
	LDC        int
	Accumulate bool
	Epilogue   *Epilogue[float32] // nil for none
}

// pairKernel multiplies pairs of bfloat16 numbers, neighbours along the inner
// dimension, each in the place of a float32.
//
// The instruction takes subnormal operands for zero and makes subnormal sums
// zero: operands that hold one are not for it. It rounds each sum to nearest.
type pairKernel struct {
	Kernel[float32] // of pairs
	// zip packs pairs of up to NR adjacent lines from rows that are row 16-bit
	// elements apart. transpose packs pairs of up to sixteen lines that are
	// line 16-bit elements apart. depth counts pairs.
	zip       func(lines, depth int, src *uint16, row int, dst *float32, width int)
	transpose func(lines, depth int, src *float32, line int, dst *float32, width int)
	// subnormal reports whether n pairs hold a subnormal number.
	subnormal func(n int, x *float32) bool
}

const (
	// halfStrip is the size in bytes of the strip of B that a task keeps in the
	// L2 cache while it reads all rows of A.
	halfStrip = 512 << 10
	// halfRows is the number of bytes of A that are packed at a time.
	halfRows = 4 << 20
	// blockRows is the most rows whose sums are kept for a full strip.
	blockRows = 64
)

// MulHalves computes a product of 16-bit floats. Operands are widened, or
// paired, while they are packed. For a given thread count the result is the
// same bits; it is for every thread count unless bfloat16 operands have
// subnormal numbers, which decide strip by strip how sums are made.
func MulHalves(pool *par.Pool, args *HalfArgs) {
	switch {
	case args.M <= 0 || args.N <= 0:
	case args.K <= 0:
		mulEmptyHalves(args)
	case args.PackedB == nil && (args.M == 1 || args.N == 1):
		mulHalfVector(pool, args)
	default:
		r := idleHalves.Get().(*halfProduct)
		r.run(pool, args)
		r.args, r.wide, r.kern = nil, nil, nil
		if cap(r.a) > maxKept {
			r.a = nil
		}
		idleHalves.Put(r)
	}
}

// MulHalfBatch computes the product args for each element of batch, as
// MulBatch does.
func MulHalfBatch(pool *par.Pool, batch Batch, args *HalfArgs) {
	n := 1
	for _, d := range batch.Dims {
		n *= d
	}
	each := func(a, b, c int) {
		one := *args
		if one.K > 0 {
			one.A.Data = one.A.Data[a:]
			if one.PackedB == nil {
				one.B.Data = one.B.Data[b:]
			}
		}
		one.C = one.C[c:]
		MulHalves(pool, &one)
	}
	if n <= 0 || args.M <= 0 || args.N <= 0 {
		return
	}
	work := max(args.M*args.N*args.K, 1)
	if n < pool.Threads() || n < 4*pool.Threads() && work > 16*minNativeWork {
		batch.run(each, 0, n)
		return
	}
	pool.For(n, minNativeWork/work+1, func(lo, hi int) { batch.run(each, lo, hi) })
}

func mulEmptyHalves(g *HalfArgs) {
	row := make([]float32, g.N)
	for i := range g.M {
		clear(row)
		if g.Accumulate {
			g.Type.Decode(row, g.C[i*g.LDC:][:g.N])
		}
		g.Epilogue.from(i, 0).Apply(row, g.N, 1, g.N)
		g.Type.Encode(g.C[i*g.LDC:][:g.N], row)
	}
}

// from returns the epilogue for the block of the product that begins at
// element (i, j).
func (e *Epilogue[T]) from(i, j int) *Epilogue[T] {
	if e == nil {
		return nil
	}
	moved := *e
	if e.BiasRow != nil {
		moved.BiasRow = e.BiasRow[i:]
	}
	if e.BiasCol != nil {
		moved.BiasCol = e.BiasCol[j:]
	}
	return &moved
}

// halfProduct is the state of one product, reused from call to call.
type halfProduct struct {
	args *HalfArgs
	wide *Kernel[float32] // of widened operands

	kern   *Kernel[float32] // of this pass
	paired bool
	mr     int
	group  int // elements of a step of the inner dimension
	units  int // steps
	block  int // steps of B that are packed at a time

	ic, mc           int // the rows in hand
	rows, cols, down int // of a task; tasks in a strip
	a                []float32
	line             int // elements between rows of a, if it is not in panels
	subnormal        atomic.Bool
	left             []bool // tasks that are left for the next pass

	packLoop, mulLoop func(lo, hi int)
}

var idleHalves = sync.Pool{New: func() any {
	r := &halfProduct{}
	r.packLoop, r.mulLoop = r.packPart, r.mulPart
	return r
}}

// halfWork is the memory of one thread.
type halfWork struct {
	b, sums, line []float32
	halves        []uint16
}

var idleWork = sync.Pool{New: func() any { return new(halfWork) }}

func (w *halfWork) done() {
	if cap(w.b) > maxKept {
		w.b = nil
	}
	idleWork.Put(w)
}

// pairsFor is the kernel of pairs where it serves besides the kernel wide.
func pairsFor(t *HalfType, wide *Kernel[float32]) *pairKernel {
	if p := activeHalves.pairs; p != nil && t.BF16 && p.MR == wide.MR && p.NR == wide.NR {
		return p
	}
	return nil
}

func (r *halfProduct) run(pool *par.Pool, g *HalfArgs) {
	r.args, r.wide = g, Active[float32]()
	if b := g.PackedB; b != nil {
		if b.n != g.N || b.k != g.K {
			panic("gemm: packed operand of another size")
		}
		r.wide = b.wide
	}
	pairs := pairsFor(g.Type, r.wide)
	if b := g.PackedB; b != nil && b.pairs == nil {
		pairs = nil
	}
	mr := r.wide.MR
	rows := min(max(halfRows/4/g.K/mr, 1)*mr, maxRows/mr*mr)
	for r.ic = 0; r.ic < g.M; r.ic += rows {
		r.mc = min(rows, g.M-r.ic)
		r.mr = r.wide.balanced(r.mc).MR
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

// pass computes the tasks that are left, those with subnormal operands
// excepted if pairs are to be multiplied. It reports whether any are left
// then.
func (r *halfProduct) pass(pool *par.Pool, kern *Kernel[float32], paired bool) bool {
	g := r.args
	r.kern, r.paired, r.group = kern, paired, 1
	if paired {
		r.group = 2
	}
	r.units = ceil(g.K, r.group)
	r.block = r.units
	if r.byBlocks() {
		r.block = kern.depth(r.units)
	}
	r.subnormal.Store(paired && g.PackedB != nil && g.PackedB.subnormal)
	panels := ceil(r.mc, r.mr)
	r.line = 0
	if !paired && kern.Tile != nil && g.A.ColStride == 1 {
		r.line = g.K
		if g.K*4%aliasing == 0 {
			r.line += 16
		}
	}
	r.a = grow(r.a, panels*r.mr*max(r.units, r.line))
	pool.For(panels, packGrain/(r.units*r.mr)+1, r.packLoop)
	if r.subnormal.Load() {
		return true
	}
	pool.For(len(r.left), minNativeWork/(r.rows*r.cols*r.units)+1, r.mulLoop)
	return paired && slices.Contains(r.left, true)
}

// byBlocks reports whether the inner dimension of B is split into blocks, so
// that packing reads longer pieces of each row.
func (r *halfProduct) byBlocks() bool {
	g := r.args
	return g.PackedB == nil && g.B.ColStride == 1 && r.mc <= blockRows
}

// partition settles the tasks for the rows in hand and returns their number.
func (r *halfProduct) partition(pool *par.Pool, paired bool) int {
	g, nr := r.args, r.wide.NR
	panels, bytes := ceil(g.N, nr), 4*g.K
	if paired {
		bytes = 2 * g.K
	}
	width := min(max(halfStrip/(bytes*nr), 1), max(maxStrip/nr, 1), panels)
	if r.byBlocks() {
		width = min(max(maxStrip/nr, 1), panels)
	}
	across, threads := ceil(panels, width), pool.Threads()
	r.down = 1
	if threads > 1 {
		across = min(ceil(across, threads)*threads, panels)
		width = ceil(panels, across)
		across = ceil(panels, width)
		if across < stripPanels*threads {
			r.down = min(ceil(r.mc, r.mr), ceil(tasksPerThread*threads, across))
		}
	}
	r.rows, r.cols = ceil(ceil(r.mc, r.mr), r.down)*r.mr, width*nr
	r.down = ceil(r.mc, r.rows)
	return across * r.down
}

// packPart packs panels lo to hi of A.
func (r *halfProduct) packPart(lo, hi int) {
	g, w := r.args, idleWork.Get().(*halfWork)
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
func (r *halfProduct) mulPart(lo, hi int) {
	w := idleWork.Get().(*halfWork)
	strip := halfBlock{j0: -1}
	for t := lo; t < hi; t++ {
		if r.left[t] {
			i0, j0 := t%r.down*r.rows, t/r.down*r.cols
			r.left[t] = !r.task(w, &strip, i0, min(i0+r.rows, r.mc), j0, min(j0+r.cols, r.args.N))
		}
	}
	w.done()
}

// halfBlock is steps p0 to p1 of columns j0 to j1 of B, packed.
type halfBlock struct {
	p0, p1, j0, j1 int
	data           []float32
	subnormal      bool
}

// task computes rows i0 to i1 of those in hand, columns j0 to j1. held is the
// block of B that is in w, or none. It reports false, and has done nothing,
// where B has subnormal numbers that the kernel does not take.
func (r *halfProduct) task(w *halfWork, held *halfBlock, i0, i1, j0, j1 int) bool {
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
func (r *halfProduct) columns(w *halfWork, p0, p1, j0, j1 int) halfBlock {
	g, nr := r.args, r.kern.NR
	b := halfBlock{p0: p0, p1: p1, j0: j0, j1: j1}
	size := ceil(j1-j0, nr) * nr * (p1 - p0)
	if p := g.PackedB; p != nil && r.paired {
		b.data = p.pairs[j0*r.units:][:size]
		return b
	}
	w.b = grow(w.b, size)
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

// panel adds the products with a block of B to rows rows from i on of the rows
// in hand, in sums that begin at row number at where B comes in several.
func (r *halfProduct) panel(w *halfWork, b *halfBlock, i, rows, at int) {
	g, kern, mr, nr := r.args, r.kern, r.mr, r.kern.NR
	n := b.j1 - b.j0
	width := ceil(n, nr) * nr
	if r.block == r.units {
		at = 0
	}
	w.sums = grow(w.sums, (min(r.rows, blockRows+mr)+kern.MR)*width)
	sums, c := w.sums[at*width:], g.C[(r.ic+i)*g.LDC+b.j0:]
	if g.Accumulate && b.p0 == 0 {
		for y := range rows {
			g.Type.Decode(sums[y*width:][:n], c[y*g.LDC:][:n])
		}
	}
	depth, steps := kern.depth(r.units), b.p1-b.p0
	for pc := 0; pc < steps; pc += depth {
		kc, accumulate := min(depth, steps-pc), g.Accumulate || b.p0+pc > 0
		e := g.Epilogue.only(b.p0+pc+kc == r.units)
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
		g.Epilogue.from(r.ic+i, b.j0).Apply(sums, width, rows, n)
	}
	for y := range rows {
		g.Type.Encode(c[y*g.LDC:][:n], sums[y*width:][:n])
	}
}
