package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The points of interpolation are 0, a and -a, b and -b, and infinity.
const (
	pointA = math.Sqrt2 / 2
	pointB = math.Sqrt2
)

// tileSets writes the kernels of package winograd: the transforms of Lavin and Gray, "Fast algorithms for convolutional neural
// networks" (2016), for tiles of 4x4 outputs and kernels of 3x3. The lanes of a vector are neighbouring tiles.
func tileSets(level *level) {
	level.masks()
	w := &winograd{kernels: &kernels{level: level, elem: 4}}
	if level.wide {
		w.layPlaces()
	}
	w.numbers = newNumbers() // the last table, because every kernel may add to it
	w.greatest()
	w.split()
	w.input()
	w.output()
	w.storeTiles()
	for rows := 2; rows <= tallRows && level.wide; rows += 2 {
		w.product(rows)
	}
}

type winograd struct {
	*kernels
	*numbers
	order operand.Mem // table of permutation indices, for levels with 64-byte vectors
}

// Offsets of the permutations in the table order, in bytes.
const (
	phases01  = 64 * iota // the elements 4i of two vectors, then 4i+1
	phases23              // 4i+2, 4i+3
	lower                 // pairs of the first halves of two vectors
	upper                 // pairs of the second halves
	lowerTwos             // the same for elements of 8 bytes
	upperTwos
)

func (w *winograd) layPlaces() {
	w.order = GLOBL("order", 8|16) // read only, no pointers
	at := 0
	for _, place := range []func(i int) int{
		func(i int) int { return i%8*4 + i/8 },
		func(i int) int { return i%8*4 + i/8 + 2 },
		func(i int) int { return i/2 + i%2*16 },
		func(i int) int { return i/2 + i%2*16 + 8 },
	} {
		for i := range 16 {
			DATA(at, operand.U32(uint32(place(i))))
			at += 4
		}
	}
	for _, first := range []int{0, 4} {
		for i := range 8 {
			DATA(at, operand.U64(uint64(first+i/2+i%2*8)))
			at += 8
		}
	}
}

// tallRows is the greatest number of rows of a product of one vector: with so many rows, nearly all loads are loads of the left operand.
const tallRows = 28

// product writes a function that sets c[y*ldc+i] to the sum over p < depth of a[p*aCol+y]*b[p*bRow+i], for y < rows and the lanes
// i of a vector.
func (w *winograd) product(rows int) {
	TEXT(fmt.Sprintf("%sx%d", w.name("product"), rows), 4, "func(depth int, a *float32, aCol int, b *float32, bRow int, c *float32, ldc int)")
	Pragma("noescape")
	depth, a, aCol, b, bRow, c, ldc := reg.RCX, reg.RSI, reg.R8, reg.RDI, reg.R9, reg.RDX, reg.R10
	w.params(param{"depth", depth, false}, param{"a", a, false}, param{"aCol", aCol, true}, param{"b", b, false}, param{"bRow", bRow, true},
		param{"c", c, false}, param{"ldc", ldc, true})
	for y := range rows {
		w.zero(w.vec(4 + y))
	}
	Label("depth")
	w.load(operand.Mem{Base: b}, w.vec(0))
	for ahead := 0; ahead < 4*rows; ahead += 64 {
		PREFETCHT0(operand.Mem{Base: a, Disp: 4096 + ahead})
	}
	for y := range rows {
		VFMADD231PS_BCST(operand.Mem{Base: a, Disp: 4 * y}, w.vec(0), w.vec(4+y))
	}
	ADDQ(aCol, a)
	ADDQ(bRow, b)
	DECQ(depth)
	JNZ(operand.LabelRef("depth"))
	for y := range rows {
		w.store(w.vec(4+y), operand.Mem{Base: c})
		if y < rows-1 {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

// param is a parameter to load; a stride is converted to bytes.
type param struct {
	name   string
	to     reg.GPPhysical
	stride bool
}

func (w *winograd) params(list ...param) {
	for _, p := range list {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(operand.U8(2), p.to)
		}
	}
}

// greatest writes a function that returns the greatest magnitude of n numbers, as the bits of a float32; the bits of a NaN exceed
// those of infinity.
func (w *winograd) greatest() {
	TEXT(w.name("greatest"), 4, "func(n int, x *float32) uint32")
	Pragma("noescape")
	const sums = 4
	n, x, tail := reg.RDX, reg.RSI, mask{reg.K1, w.vec(15)}
	magnitude, v := w.vec(4), w.vec(5)
	w.params(param{"n", n, false}, param{"x", x, false})
	MOVQ(n, reg.RBX)
	ANDQ(operand.I32(w.lanes()-1), reg.RBX)
	w.masksFor(reg.RBX, tail)
	w.constant(1<<31-1, magnitude)
	for i := range sums {
		w.zero(w.vec(i))
	}
	and := func(from, to operand.Op) {
		if w.wide {
			VPANDD(from, magnitude, to)
		} else {
			VPAND(from, magnitude, to)
		}
	}
	loop := func(label string, vectors int) {
		SUBQ(operand.I32(vectors*w.lanes()), n)
		JLT(operand.LabelRef(label + "Done"))
		Label(label)
		for i := range vectors {
			and(operand.Mem{Base: x, Disp: i * w.size()}, w.vec(6+i))
			VPMAXUD(w.vec(6+i), w.vec(i), w.vec(i))
		}
		ADDQ(operand.I32(vectors*w.size()), x)
		SUBQ(operand.I32(vectors*w.lanes()), n)
		JGE(operand.LabelRef(label))
		Label(label + "Done")
		ADDQ(operand.I32(vectors*w.lanes()), n)
	}
	loop("four", sums)
	loop("one", 1)
	TESTQ(n, n)
	JZ(operand.LabelRef("end"))
	w.loadMasked(operand.Mem{Base: x}, tail, v)
	and(v, v)
	VPMAXUD(v, w.vec(0), w.vec(0))
	Label("end")
	for i := 1; i < sums; i++ {
		VPMAXUD(w.vec(i), w.vec(0), w.vec(0))
	}
	if w.wide {
		VEXTRACTI64X4(operand.U8(1), w.vec(0), reg.Y1)
		VPMAXUD(reg.Y1, reg.Y0, reg.Y0)
	}
	VEXTRACTI128(operand.U8(1), reg.Y0, reg.X1)
	VPMAXUD(reg.X1, reg.X0, reg.X0)
	for _, order := range []uint8{0x4e, 0xb1} {
		VPSHUFD(operand.U8(order), reg.X0, reg.X1)
		VPMAXUD(reg.X1, reg.X0, reg.X0)
	}
	VMOVD(reg.X0, reg.EAX)
	Store(reg.EAX, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// split writes the separation of rows into their columns modulo four: for j < 6, dst[j*plane+y*dstRow+i] = src[y*srcRow+4*i+j]
// for i < cols. cols is rounded up to whole vectors: rows are written in order, and elements beyond a row are undefined.
//
// A vector may hold tiles of several rows: in vectors of 64 bytes the elements of the quarters are at 0, near, far and near plus far; in
// shorter vectors the elements of the halves are at 0 and far.
func (w *winograd) split() {
	TEXT(w.name("split"), 4, "func(rows, cols int, src *float32, srcRow, near, far int, dst *float32, dstRow, plane int)")
	Pragma("noescape")
	src, srcRow, near, far, dst, dstRow, plane := reg.RSI, reg.R10, reg.RDX, reg.R9, reg.RDI, reg.R11, reg.R12
	from, beyond, to, left, plane3, plane5 := reg.RAX, reg.R8, reg.RBX, reg.RCX, reg.R13, reg.R15
	w.params(param{"src", src, false}, param{"srcRow", srcRow, true}, param{"near", near, true}, param{"far", far, true},
		param{"dst", dst, false}, param{"dstRow", dstRow, true}, param{"plane", plane, true})
	LEAQ(operand.Mem{Base: plane, Index: plane, Scale: 2}, plane3)
	LEAQ(operand.Mem{Base: plane, Index: plane, Scale: 4}, plane5)
	if w.wide {
		VMOVUPS(w.order.Offset(phases01), w.vec(30))
		VMOVUPS(w.order.Offset(phases23), w.vec(31))
	}
	Label("row")
	MOVQ(src, from)
	MOVQ(dst, to)
	Load(Param("cols"), left)
	Label("columns")
	LEAQ(operand.Mem{Base: from, Index: far, Scale: 1}, beyond)
	at := six(to, plane, plane3, plane5)
	for i, v := range w.quarters(from, beyond, near, 0, 4) {
		w.store(v, at[i])
	}
	for i, v := range w.quarters(from, beyond, near, 16, 2) {
		w.store(v, at[4+i])
	}
	ADDQ(operand.I32(4*w.size()), from)
	ADDQ(operand.I32(w.size()), to)
	SUBQ(operand.I32(w.lanes()), left)
	JG(operand.LabelRef("columns"))
	ADDQ(srcRow, src)
	ADDQ(dstRow, dst)
	DECQ(w.address("rows"))
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// quarters loads the elements of four vectors and separates them by their index modulo four. It returns the first vectors, two or
// four: vector j contains the elements 4i+j.
func (w *winograd) quarters(from, beyond, near reg.GPPhysical, disp, first int) []reg.VecPhysical {
	v := func(i int) reg.VecPhysical { return w.vec(i) }
	if w.wide {
		var out []reg.VecPhysical
		for half := range first / 2 {
			x, y, order := v(4*half), v(4*half+1), v(30+half)
			w.load(operand.Mem{Base: from, Disp: disp}, x)
			w.load(operand.Mem{Base: beyond, Disp: disp}, y)
			VPERMT2PS(operand.Mem{Base: from, Index: near, Scale: 1, Disp: disp}, order, x)
			VPERMT2PS(operand.Mem{Base: beyond, Index: near, Scale: 1, Disp: disp}, order, y)
			VSHUFF32X4(operand.U8(0x44), y, x, v(4*half+2))
			VSHUFF32X4(operand.U8(0xee), y, x, v(4*half+3))
			out = append(out, v(4*half+2), v(4*half+3))
		}
		return out
	}
	// Registers 0 to 3: tiles i and i+4 side by side.
	for i := range 4 {
		VMOVUPS(operand.Mem{Base: from, Disp: disp + 16*i}, v(i).AsX())
		VINSERTF128(operand.U8(1), operand.Mem{Base: beyond, Disp: disp + 16*i}, v(i), v(i))
	}
	VUNPCKLPS(v(1), v(0), v(4))
	VUNPCKLPS(v(3), v(2), v(5))
	VUNPCKLPD(v(5), v(4), v(8))
	VUNPCKHPD(v(5), v(4), v(9))
	if first == 2 {
		return []reg.VecPhysical{v(8), v(9)}
	}
	VUNPCKHPS(v(1), v(0), v(6))
	VUNPCKHPS(v(3), v(2), v(7))
	VUNPCKLPD(v(7), v(6), v(10))
	VUNPCKHPD(v(7), v(6), v(11))
	return []reg.VecPhysical{v(8), v(9), v(10), v(11)}
}

// storeTiles writes the last step: it adds rows of src to rows of dst, or replaces the rows of dst, adds the bias, and clamps the
// sums.
func (w *winograd) storeTiles() {
	TEXT(w.name("storeTiles"), 4, "func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int, accumulate bool, bias, lo, hi float32)")
	Pragma("noescape")
	rows, cols, src, srcRow, dst, dstRow := reg.R8, reg.R9, reg.RSI, reg.R10, reg.RDI, reg.R11
	at, left, adds := reg.RAX, reg.RDX, reg.R12
	tail := mask{reg.K1, w.vec(15)}
	w.params(param{"rows", rows, false}, param{"cols", cols, false}, param{"src", src, false}, param{"srcRow", srcRow, true},
		param{"dst", dst, false}, param{"dstRow", dstRow, true})
	bias, lo, hi, v := w.vec(1), w.vec(2), w.vec(3), w.vec(0)
	for i, name := range []string{"bias", "lo", "hi"} {
		w.broadcastParam(name, w.vec(1+i))
	}
	MOVQ(cols, reg.RBX)
	ANDQ(operand.I32(w.lanes()-1), reg.RBX)
	w.masksFor(reg.RBX, tail)
	Load(Param("accumulate"), adds.As8())
	TESTB(adds.As8(), adds.As8())
	JNZ(operand.LabelRef("add"))
	finish := func() {
		VADDPS(v, bias, v)
		VMAXPS(v, lo, v)
		VMINPS(v, hi, v)
	}
	for _, label := range []string{"set", "add"} {
		add := label == "add"
		Label(label)
		XORQ(at, at)
		MOVQ(cols, left)
		SUBQ(operand.U8(w.lanes()), left)
		JLT(operand.LabelRef(label + "Tail"))
		from, to := operand.Mem{Base: src, Index: at, Scale: 1}, operand.Mem{Base: dst, Index: at, Scale: 1}
		Label(label + "Vector")
		w.load(from, v)
		if add {
			VADDPS(to, v, v)
		}
		finish()
		w.store(v, to)
		ADDQ(operand.I32(w.size()), at)
		SUBQ(operand.U8(w.lanes()), left)
		JGE(operand.LabelRef(label + "Vector"))
		Label(label + "Tail")
		CMPQ(left, operand.I8(-w.lanes()))
		JE(operand.LabelRef(label + "Next"))
		w.loadMasked(from, tail, v)
		if add {
			w.loadMasked(to, tail, w.vec(4))
			VADDPS(w.vec(4), v, v)
		}
		finish()
		w.storeMasked(v, tail, to)
		Label(label + "Next")
		ADDQ(srcRow, src)
		ADDQ(dstRow, dst)
		DECQ(rows)
		JNZ(operand.LabelRef(label))
		VZEROUPPER()
		RET()
	}
}

// six returns six addresses that are step apart; step3 and step5 contain three and five times step.
func six(base, step, step3, step5 reg.GPPhysical) []operand.Mem {
	return []operand.Mem{{Base: base}, {Base: base, Index: step, Scale: 1}, {Base: base, Index: step, Scale: 2},
		{Base: base, Index: step3, Scale: 1}, {Base: base, Index: step, Scale: 4}, {Base: base, Index: step5, Scale: 1}}
}

// number loads a constant into register to, which it returns.
func (w *winograd) number(f float64, to reg.VecPhysical) reg.VecPhysical {
	VMOVUPS(w.of(float32(f)), to)
	return to
}

// address returns the address of a parameter.
func (w *winograd) address(name string) operand.Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// times adds f*x to acc.
func (w *winograd) times(f float64, x, acc operand.Op) {
	switch {
	case f == 1:
		VADDPS(x, acc, acc)
	case f == -1:
		VSUBPS(x, acc, acc)
	case f < 0:
		VFNMADD231PS(w.of(float32(-f)), x, acc)
	default:
		VFMADD231PS(w.of(float32(f)), x, acc)
	}
}
