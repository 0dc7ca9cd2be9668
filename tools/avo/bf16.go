package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// halves writes the kernels for products of 16-bit floats: products of vectors with matrices that are widened as they are read,
// the packing of widened lines, and, at levels with 64-byte vectors, tiles of pairs of bfloat16 numbers and their packing.
func (l *level) halves() {
	for _, h := range []half{{"BF16", (*kernels).widenBF16}, {"F16", (*kernels).widenF16}} {
		k := &kernels{level: l, elem: 4}
		k.halfDot(h, 4)
		k.halfDot(h, 1)
		k.halfAxpy(h, 8)
		k.halfAxpy(h, 1)
		k.halfStrip(h)
	}
	if !l.wide {
		return
	}
	k := &kernels{level: l, elem: 4, paired: true}
	for rows := 1; rows <= k.rows; rows++ {
		k.tile(rows, 2, true)
		k.tile(rows, 1, true)
	}
	k.transpose()
	k.zip()
	k.subnormal()
}

// half describes a 16-bit float type and how a vector of this type is loaded as float32.
type half struct {
	name  string
	widen func(k *kernels, from operand.Mem, m mask, to reg.VecPhysical)
}

// widenBF16 reads the lanes that m selects, or all lanes if m is zero, and converts them to float32.
func (k *kernels) widenBF16(from operand.Mem, m mask, to reg.VecPhysical) {
	if m == (mask{}) {
		VPMOVZXWD(from, to)
	} else {
		VPMOVZXWD_Z(from, m.k, to)
	}
	VPSLLD(operand.U8(16), to, to)
}

func (k *kernels) widenF16(from operand.Mem, m mask, to reg.VecPhysical) {
	if m == (mask{}) {
		VCVTPH2PS(from, to)
	} else {
		VCVTPH2PS_Z(from, m.k, to)
	}
}

// halfStrip writes the packing of up to two vectors of adjacent lines, widened to float32: dst[p*width+l] = src[p*row+l] for l <
// lines and p < depth. At levels without mask registers lines is exactly two vectors.
func (k *kernels) halfStrip(h half) {
	TEXT("strip"+h.name+k.level.name, 4, "func(lines, depth int, src *uint16, row int, dst *float32, width int)")
	Pragma("noescape")
	depth, src, row, dst, width := reg.RDX, reg.RSI, reg.R9, reg.RDI, reg.R10
	masks := make([]mask, 2)
	if k.wide {
		masks = []mask{{k: reg.K1}, {k: reg.K2}}
		Load(Param("lines"), reg.RBX)
		k.masksFor(reg.RBX, masks...)
	}
	Load(Param("depth"), depth)
	Load(Param("src"), src)
	Load(Param("row"), row)
	SHLQ(operand.U8(1), row)
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(operand.U8(2), width)
	Label("row")
	PREFETCHT0(operand.Mem{Base: src, Index: row, Scale: fetch})
	for v, m := range masks {
		h.widen(k, operand.Mem{Base: src, Disp: v * k.size() / 2}, m, k.vec(v))
		to := operand.Mem{Base: dst, Disp: v * k.size()}
		if k.wide {
			k.storeMasked(k.vec(v), m, to)
		} else {
			k.store(k.vec(v), to)
		}
	}
	ADDQ(row, src)
	ADDQ(width, dst)
	DECQ(depth)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// pairsDot adds to each lane of acc the two products of the pairs of bfloat16 numbers in that lane of x and y. The assembler
// lacks VDPBF16PS, so its EVEX encoding is emitted (Intel SDM, volume 2, VDPBF16PS and section 2.7).
func (k *kernels) pairsDot(x, y, acc operand.Op) {
	number := func(o operand.Op) uint32 { return uint32(o.(reg.Physical).PhysicalIndex()) }
	m, v, r := number(x), number(y), number(acc)
	inverted := func(n, bit uint32) uint32 { return ^n >> bit & 1 }
	p0 := inverted(r, 3)<<7 | inverted(m, 4)<<6 | inverted(m, 3)<<5 | inverted(r, 4)<<4 | 2
	p1 := ^v&15<<3 | 1<<2 | 2
	p2 := uint32(2<<5) | inverted(v, 4)<<3
	Comment(fmt.Sprintf("VDPBF16PS Z%d, Z%d, Z%d", m, v, r))
	Instruction(&ir.Instruction{Opcode: "LONG", Operands: []operand.Op{operand.U32(0x62 | p0<<8 | p1<<16 | p2<<24)}, ISA: []string{"AVX512_BF16"}})
	Instruction(&ir.Instruction{Opcode: "WORD", Operands: []operand.Op{operand.U16(0x52 | (0xc0|r&7<<3|m&7)<<8)}})
}

// zip writes the packing of up to two vectors of adjacent lines into pairs: the unit dst[p*width+l] contains src[2*p*row+l] in
// its low half and src[(2*p+1)*row+l] in its high half, for l < lines and p < depth.
func (k *kernels) zip() {
	TEXT(k.name("zip"), 4, "func(lines, depth int, src *uint16, row int, dst *float32, width int)")
	Pragma("noescape")
	depth, src, next, row, dst, width := reg.RDX, reg.RSI, reg.R8, reg.R9, reg.RDI, reg.R10
	masks := []mask{{k: reg.K1}, {k: reg.K2}}
	Load(Param("lines"), reg.RBX)
	k.masksFor(reg.RBX, masks...)
	Load(Param("depth"), depth)
	Load(Param("src"), src)
	Load(Param("row"), row)
	SHLQ(operand.U8(1), row)
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(operand.U8(2), width)
	Label("pair")
	LEAQ(operand.Mem{Base: src, Index: row, Scale: 1}, next)
	for _, from := range []reg.GPPhysical{src, next} {
		PREFETCHT0(operand.Mem{Base: from, Index: row, Scale: fetch})
	}
	for v, m := range masks {
		low, high := k.vec(2*v), k.vec(2*v+1)
		VPMOVZXWD_Z(operand.Mem{Base: src, Disp: 32 * v}, m.k, low)
		VPMOVZXWD_Z(operand.Mem{Base: next, Disp: 32 * v}, m.k, high)
		VPSLLD(operand.U8(16), high, high)
		VPORD(high, low, low)
		k.storeMasked(low, m, operand.Mem{Base: dst, Disp: 64 * v})
	}
	LEAQ(operand.Mem{Base: src, Index: row, Scale: 2}, src)
	ADDQ(width, dst)
	DECQ(depth)
	JNZ(operand.LabelRef("pair"))
	VZEROUPPER()
	RET()
}

// subnormal writes the search for subnormal bfloat16 numbers. Without the sign bit and decremented by one, the bits of such a
// number are less than the mask of the fraction, whereas the bits of zero wrap around to the greatest number.
func (k *kernels) subnormal() {
	TEXT("subnormal"+k.level.name, 4, "func(n int, x *float32) bool")
	Pragma("noescape")
	Doc("subnormal" + k.level.name + " reports whether n units hold one.")
	n, x := reg.RDX, reg.RSI
	tail := mask{reg.K1, nil}
	magnitude, ones, least, v := k.vec(1), k.vec(2), k.vec(3), k.vec(0)
	Load(Param("n"), n)
	MOVQ(n, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Load(Param("x"), x)
	VPTERNLOGD(operand.U8(0xff), ones, ones, ones)
	VMOVDQA32(ones, least)
	VPSRLW(operand.U8(1), ones, magnitude)
	step := func() {
		VPANDD(magnitude, v, v)
		VPADDW(ones, v, v)
		VPMINUW(v, least, least)
	}
	SUBQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(operand.Mem{Base: x}, v)
	step()
	ADDQ(operand.U8(k.size()), x)
	SUBQ(operand.U8(k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	k.loadMasked(operand.Mem{Base: x}, tail, v)
	step()
	VPSRLW(operand.U8(9), ones, v)
	VPCMPUW(operand.U8(1), v, least, reg.K2)
	KORTESTD(reg.K2, reg.K2)
	SETNE(reg.AL)
	Store(reg.AL, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// halfDot writes the products of a vector with one or four rows of a matrix of 16-bit floats, over n elements. n is a positive
// multiple of the vector length. The order of summation is the same for both.
func (k *kernels) halfDot(h half, rows int) {
	TEXT(fmt.Sprintf("dot%s%sx%d", h.name, k.level.name, rows), 4, "func(n int, x *float32, m *uint16, row int, out *float32)")
	Pragma("noescape")
	n, x, m, row, three, out := reg.RDX, reg.RSI, reg.RDI, reg.R8, reg.R9, reg.R10
	Load(Param("n"), n)
	Load(Param("x"), x)
	Load(Param("m"), m)
	Load(Param("row"), row)
	SHLQ(operand.U8(1), row)
	LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, three)
	at := func(r, disp int) operand.Mem {
		place := operand.Mem{Base: m, Disp: disp}
		switch r {
		case 1, 2:
			place.Index, place.Scale = row, uint8(r)
		case 3:
			place.Index, place.Scale = three, 1
		}
		return place
	}
	sum := func(r, part int) reg.VecPhysical { return k.vec(4 + 2*r + part) }
	for r := range rows {
		k.zero(sum(r, 0))
		k.zero(sum(r, 1))
	}
	step := func(part int) {
		k.load(operand.Mem{Base: x, Disp: part * k.size()}, k.vec(0))
		for r := range rows {
			h.widen(k, at(r, part*k.size()/2), mask{}, k.vec(1+r%2))
			k.fma(k.vec(1+r%2), k.vec(0), sum(r, part))
		}
	}
	SUBQ(operand.U8(2*k.lanes()), n)
	JLT(operand.LabelRef("one"))
	Label("two")
	for r := range rows {
		PREFETCHT0(at(r, halfAhead))
	}
	step(0)
	step(1)
	ADDQ(operand.I32(2*k.size()), x)
	ADDQ(operand.I32(k.size()), m)
	SUBQ(operand.U8(2*k.lanes()), n)
	JGE(operand.LabelRef("two"))
	Label("one")
	ADDQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("reduce"))
	step(0)
	Label("reduce")
	Load(Param("out"), out)
	for r := range rows {
		k.reduce(sum(r, 0), sum(r, 1), operand.Mem{Base: out, Disp: r * k.elem})
	}
	VZEROUPPER()
	RET()
}

// halfAhead is the prefetch distance for a row of 16-bit floats, in bytes.
const halfAhead = 1 << 10

// halfAxpy writes the sum of a vector and multiples of one or eight rows of 16-bit floats, added in order, over n elements. n is
// a positive multiple of the vector length.
func (k *kernels) halfAxpy(h half, rows int) {
	TEXT(fmt.Sprintf("axpy%s%sx%d", h.name, k.level.name, rows), 4, "func(n int, y, x *float32, m *uint16, row int)")
	Pragma("noescape")
	n, y, m, row := reg.RDX, reg.RDI, reg.RSI, reg.R8
	Load(Param("n"), n)
	Load(Param("y"), y)
	Load(Param("x"), reg.RAX)
	Load(Param("m"), m)
	Load(Param("row"), row)
	SHLQ(operand.U8(1), row)
	for r := range rows {
		k.broadcast(operand.Mem{Base: reg.RAX, Disp: r * k.elem}, k.vec(4+r))
	}
	places := k.rowPlaces(rows, m, row)
	Label("vector")
	k.load(operand.Mem{Base: y}, k.vec(0))
	for r := range rows {
		h.widen(k, places.at[r], mask{}, k.vec(1+r%2))
		k.fma(k.vec(1+r%2), k.vec(4+r), k.vec(0))
	}
	k.store(k.vec(0), operand.Mem{Base: y})
	ADDQ(operand.U8(k.size()), y)
	for _, base := range places.bases {
		ADDQ(operand.U8(k.size()/2), base)
	}
	SUBQ(operand.U8(k.lanes()), n)
	JNZ(operand.LabelRef("vector"))
	VZEROUPPER()
	RET()
}
