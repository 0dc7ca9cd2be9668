// Package quantized multiplies matrices of eight-bit integers with zero points. Sums are 32-bit integers that wrap around. It packs four
// bytes, or two bytes widened to 16 bits, into a unit of 32 bits. Its own micro kernels in assembly multiply units; the drivers of package
// gemm call them. If there is no such kernel for the processor, CanMul reports false and no other function may be called. Callers must then
// widen operands. Scaling and rounding are done by the caller (package requantize).
package quantized

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Mat is a view of a matrix of eight-bit integers with zero points:
// element (i, j) is Data[i*RowStride+j*ColStride] minus its zero point.
// Elements are int8 if Signed is set, else uint8. Strides are zero or positive.
// Zero contains the zero points of the rows of a left operand, or of the columns
// of a right one. It has no element (all are zero), one for all, or one for
// each row or column.
type Mat struct {
	Data                 []byte
	Signed               bool
	RowStride, ColStride int
	Zero                 []int32
}

// Args is one product C = A·B of bytes, of sizes M x K and K x N, in integers that wrap around. Each operand is packed or a view; a packed
// operand takes precedence. With Units, K is the inner dimension of PackedA in bytes, padding included. C is row-major, row i at C[i*LDC].
type Args struct {
	M, N, K          int
	A, B             Mat
	PackedA, PackedB *Packed
	Units            *Units // replaces B; needs a PackedA made by PackTaps
	C                []int32
	LDC              int
}

// tileFunc computes a tile in assembly. Strides are in units.
type tileFunc func(k int, a, b, c *int32, aCol, bRow, ldc, cols int, accumulate bool, biasRow, biasCol *int32)

// kernel multiplies units of 32 bits. A unit holds group adjacent elements
// along the inner dimension: four bytes, which are unsigned in A and signed in
// B, or two 16-bit words.
type kernel struct {
	micro.Kernel[int32] // of units
	group               int
	tile                [micro.MaxRows]tileFunc
	// gather packs units of sixteen adjacent lines from groups of rows of src; rows are row bytes apart. A byte of flip is 0x80 if the byte
	// at its place is converted between signed and unsigned or sign-extended, else zero.
	gather func(groups int, src *byte, row int, dst *int32, width int, flip uint32)
}

const gathered = 16

// CanMul reports whether there is a kernel for Mul.
func CanMul() bool { return active != nil }

// product is the state of one product. Later calls reuse it.
type product struct {
	kern             *kernel
	args             *Args
	a                gemm.PackedA[int32]
	b                gemm.PackedB[int32]
	left             panel.Panels[int32] // A
	unitsA           []int32             // memory for left
	steps            int                 // units of a row of A
	flipA, flipB     bool
	zeroA, zeroB     []int32 // zero points of the packed bytes: one for all rows or columns, or one for each
	rowSums, colSums []int32
	rowBias, colBias []int32
	buffers          [4][]int32 // memory for sums and biases
	unitZero         [1]int32
	depth            int // number of products in a sum
	epilogue         micro.Epilogue[int32]
	packB, packUnits gemm.PackFunc[int32]
}

var idle = sync.Pool{New: func() any {
	r := &product{}
	r.packB, r.packUnits = r.right, r.fromUnits
	return r
}}

// Mul computes a product of bytes; CanMul must hold. It panics when
// a slice is too short.
func Mul(pool *par.Pool, args *Args) {
	if args.M <= 0 || args.N <= 0 {
		return
	}
	if args.K <= 0 {
		for i := range args.M {
			clear(args.C[i*args.LDC:][:args.N])
		}
		return
	}
	r := idle.Get().(*product)
	r.run(pool, args)
	r.args = nil
	if cap(r.unitsA) > panel.MaxKept {
		r.unitsA = nil
	}
	idle.Put(r)
}

func (r *product) run(pool *par.Pool, args *Args) {
	r.setOperands(args)
	kern, packedA, packedB := r.kern, args.PackedA, args.PackedB
	r.rowSums, r.colSums, r.rowBias, r.colBias = nil, nil, nil, nil
	simple := len(r.zeroA) == 1 && len(r.zeroB) == 1
	if !simple || r.zeroA[0] != 0 {
		if packedB == nil {
			r.colSums = r.take(0, args.N)
		} else {
			r.colSums = packedB.sums
		}
		if simple {
			r.colBias = r.take(1, args.N)
		}
	}
	if !simple || r.zeroB[0] != 0 {
		if packedA == nil {
			r.rowSums = r.take(2, args.M)
		} else {
			r.rowSums = packedA.sums
		}
	}
	if packedA == nil {
		r.left = kern.panelsA(r.unitsA, args.M, args.K)
		r.unitsA = r.left.Data
		kern.packA(pool, &r.left, args.M, args.K, &args.A, r.flipA, r.rowSums)
	} else {
		r.left = packedA.panel
	}
	r.a = gemm.PackedAOf(args.M, r.steps, r.left)
	if simple && r.rowSums != nil {
		r.rowBias = r.take(3, args.M)
		for i, s := range r.rowSums {
			r.rowBias[i] = -r.zeroB[0] * (s - int32(r.depth)*r.zeroA[0])
		}
	}
	whole := gemm.Args[int32]{M: args.M, N: args.N, K: r.steps, PackedA: &r.a, C: args.C, LDC: args.LDC, Epilogue: &r.epilogue}
	if packedB != nil {
		r.b = gemm.PackedBOf(r.steps, args.N, packedB.panel)
		whole.PackedB = &r.b
		for j := range r.colBias {
			r.colBias[j] = -r.zeroA[0] * r.colSums[j]
		}
	} else if whole.PackB = r.packB; args.Units != nil {
		whole.PackB = r.packUnits
	}
	r.epilogue = micro.Epilogue[int32]{BiasRow: r.rowBias, BiasCol: r.colBias}
	gemm.Mul(pool, &whole)
	r.a, r.b, r.left = gemm.PackedA[int32]{}, gemm.PackedB[int32]{}, panel.Panels[int32]{}
	if !simple {
		pool.For(args.M, panel.Grain/args.N+1, r.correct)
	}
}

// setOperands sets the kernel, the offsets and zero points of the operands, and
// the depth. A packed operand determines the kernel.
func (r *product) setOperands(args *Args) {
	kern := active
	packedA, packedB := args.PackedA, args.PackedB
	for _, p := range []*Packed{packedA, packedB} {
		if p != nil {
			kern = p.kern
		}
	}
	r.kern, r.args = kern, args
	if packedA != nil && (packedA.lines != args.M || packedA.k != args.K) || packedB != nil && (packedB.lines != args.N || packedB.k != args.K) {
		panic("quantized: packed bytes of another size")
	}
	// The kernel reads A as unsigned and B as signed bytes. Other bytes are offset
	// by 128.
	r.flipA, r.flipB = kern.group == 4 && args.A.Signed, kern.group == 4 && !args.B.Signed
	if packedA != nil {
		r.zeroA = append(r.zeroA[:0], packedA.zero...)
	} else {
		r.zeroA = zeros(r.zeroA, args.A.Zero, r.flipA, 128)
	}
	r.depth, r.steps = args.K, micro.CeilDiv(args.K, kern.group)
	if args.Units != nil {
		r.depth, r.steps = packedA.depth, len(args.Units.Starts)
		r.flipB, r.unitZero[0] = args.Units.Flip, args.Units.Zero
		r.zeroB = zeros(r.zeroB, r.unitZero[:], r.flipB, -128)
	} else if packedB != nil {
		r.zeroB = append(r.zeroB[:0], packedB.zero...)
	} else {
		r.zeroB = zeros(r.zeroB, args.B.Zero, r.flipB, -128)
	}
}

// zeros returns the zero points in the slice from, plus off if moved is set. moved says that the bytes are stored with this offset. The
// result has one element if all zero points are equal, and uses the memory of the slice to if that is large enough.
func zeros(to, from []int32, moved bool, off int32) []int32 {
	if !moved {
		off = 0
	}
	to = to[:0]
	equal := true
	for _, z := range from {
		equal = equal && z == from[0]
		to = append(to, z+off)
	}
	if len(to) == 0 {
		return append(to, off)
	}
	if equal {
		return to[:1]
	}
	return to
}

// correct subtracts the terms of the zero points from rows lo to hi. It is called if rows or columns have different zero points.
func (r *product) correct(lo, hi int) {
	g := r.args
	for i := lo; i < hi; i++ {
		za := r.zeroA[min(i, len(r.zeroA)-1)]
		rest := r.rowSums[i] - int32(r.depth)*za
		for j := range g.N {
			g.C[i*g.LDC+j] -= za*r.colSums[j] + r.zeroB[min(j, len(r.zeroB)-1)]*rest
		}
	}
}

// panelsA returns the panels of a left operand, with undefined elements. It uses data if that is large enough.
func (kern *kernel) panelsA(data []int32, m, k int) panel.Panels[int32] {
	balanced := kern.Balanced(m)
	padded := micro.CeilDiv(m, balanced.MR) * balanced.MR
	return panel.Panels[int32]{Kernel: balanced, Width: balanced.MR, Padded: padded, Data: panel.Grow(data, padded*micro.CeilDiv(k, kern.group))}
}

// packA packs a left operand into p and sums its rows, unless sums is nil.
func (kern *kernel) packA(pool *par.Pool, p *panel.Panels[int32], m, k int, a *Mat, flip bool, sums []int32) {
	mr, units := p.Width, micro.CeilDiv(k, kern.group)
	kc := p.Kernel.Depth(units)
	pool.For(p.Padded/mr, panel.Grain/max(units*mr, 1)+1, func(lo, hi int) {
		i0, i1 := lo*mr, min(hi*mr, m)
		for pc := 0; pc < units; pc += kc {
			depth := min(kc, units-pc)
			dst := p.Block(pc, depth, lo)
			k0 := pc * kern.group
			kern.pack(dst, a.Data[i0*a.RowStride+k0*a.ColStride:], i1-i0, a.RowStride, min(depth*kern.group, k-k0), a.ColStride, mr, a.Signed, flip)
			if sums == nil {
				continue
			}
			ones := onesOf(kern)
			for i := i0; i < i1; i += mr {
				rows := min(mr, i1-i)
				kern.tile[rows-1](depth, &dst[(i-i0)*depth], &ones[0], &sums[i : i+rows][0], mr, 0, 1, 1, pc > 0, nil, nil)
			}
		}
	})
}

// right packs columns of B and sums them.
func (r *product) right(dst []int32, width, p0, p1, j0, j1 int) {
	g, kern := r.args, r.kern
	kern.pack(dst, g.B.Data[p0*kern.group*g.B.RowStride+j0*g.B.ColStride:], j1-j0, g.B.ColStride, min((p1-p0)*kern.group, g.K-p0*kern.group),
		g.B.RowStride, width, g.B.Signed, r.flipB)
	r.sumColumns(dst, width, p0, p1, j0, j1)
}

// sumColumns sums packed columns. With the last units, it computes the bias from the sums.
func (r *product) sumColumns(packed []int32, width, p0, p1, j0, j1 int) {
	if r.colSums == nil {
		return
	}
	r.kern.sumColumns(packed, width, p0, p1, j0, j1, r.colSums)
	if r.colBias != nil && p1 == r.steps {
		to := r.colBias[j0:j1]
		for j, s := range r.colSums[j0:j1] {
			to[j] = -r.zeroA[0] * s
		}
	}
}

// take returns n elements of buffer i.
func (r *product) take(i, n int) []int32 {
	if cap(r.buffers[i]) < n {
		r.buffers[i] = make([]int32, n)
	}
	return r.buffers[i][:n]
}

// sumColumns adds units p0 to p1 of packed columns j0 to j1 to sums. If p0 is zero, it sets sums instead.
func (kern *kernel) sumColumns(packed []int32, width, p0, p1, j0, j1 int, sums []int32) {
	ones, depth := onesOf(kern), p1-p0
	for j := j0; j < j1; j += width {
		cols := min(width, j1-j)
		kern.tile[0](depth, &ones[0], &packed[(j-j0)*depth], &sums[j : j+cols][0], 0, width, cols, cols, p0 > 0, nil, nil)
	}
}

// onesOf returns units whose elements are ones, at least as many as a tile has
// columns.
func onesOf(kern *kernel) *[32]int32 {
	if kern.group == 4 {
		return &ones4
	}
	return &ones2
}

var ones4, ones2 = func() (q, p [32]int32) {
	for i := range q {
		q[i], p[i] = 0x01010101, 0x00010001
	}
	return q, p
}()

// runTile implements Kernel.Tile for packed operands.
func (kern *kernel) runTile(rows, cols, k int, a []int32, _, aCol int, b []int32, bRow int, c []int32, ldc int, accumulate bool, e *micro.Epilogue[int32], y, x int) {
	_, _, _ = a[(rows-1)+(k-1)*aCol], b[k*kern.NR-1], c[(rows-1)*ldc+cols-1]
	var biasRow, biasCol *int32
	if e != nil && e.BiasRow != nil {
		biasRow = &e.BiasRow[y : y+rows][0]
	}
	if e != nil && e.BiasCol != nil {
		biasCol = &e.BiasCol[x : x+cols][0]
	}
	kern.tile[rows-1](k, &a[0], &b[0], &c[0], aCol, bRow, ldc, cols, accumulate, biasRow, biasCol)
}
