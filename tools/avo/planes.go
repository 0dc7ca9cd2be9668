package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// planeRows is the number of output rows that plane computes together.
const planeRows = 4

// plane writes, at levels with mask registers, the sums over the taps of a size x size kernel whose weights stay in registers. It
// computes groups of planeRows output rows, each stride source rows below the previous one. The sums are the same as those of
// taps, but an element of the source is loaded once for all rows of the kernel instead of once per tap. The first element that
// tap (0, x) reads is at src[offsets[x]], and tap (y, x) reads y source rows below it.
func (k *kernels) plane(size, stride int) {
	TEXT(fmt.Sprintf("%sx%dx%d", k.name("plane"), size, stride), 4, fmt.Sprintf(
		"func(groups, cols int, dst *%s, dstRow int, src *%[1]s, srcRow int, offsets *int, weights *%[1]s, bias, lo, hi %[1]s)", k.typ()))
	Pragma("noescape")
	cols, dst, dstRow, src, srcRow := reg.R8, reg.RDI, reg.R9, reg.RSI, reg.R10
	groups, to, from, left := reg.R11, reg.RBX, reg.RDX, reg.RAX
	offsets := []reg.GPPhysical{reg.R12, reg.R13, reg.R15, reg.RCX, reg.R14}[:size]
	v, bias := k.vec(0), k.vec(1)
	sum := func(y int) reg.VecPhysical { return k.vec(2 + y) }
	weight := func(y, x int) reg.VecPhysical { return k.vec(6 + y*size + x) }
	tail := mask{reg.K1, k.vec(15)}
	Load(Param("weights"), reg.RAX)
	for i := range size * size {
		k.broadcast(operand.Mem{Base: reg.RAX, Disp: 4 * i}, weight(i/size, i%size))
	}
	k.broadcastParam("bias", bias)
	Load(Param("cols"), cols)
	Load(Param("dst"), dst)
	Load(Param("dstRow"), dstRow)
	SHLQ(operand.U8(2), dstRow)
	Load(Param("src"), src)
	Load(Param("srcRow"), srcRow)
	SHLQ(operand.U8(2), srcRow)
	Label("column")
	MOVQ(cols, reg.RBX)
	CMPQ(reg.RBX, operand.U8(k.lanes()))
	JLE(operand.LabelRef("narrow"))
	MOVQ(operand.U32(k.lanes()), reg.RBX)
	Label("narrow")
	k.masksFor(reg.RBX, tail)
	Load(Param("offsets"), reg.RAX)
	for x, o := range offsets {
		MOVQ(operand.Mem{Base: reg.RAX, Disp: 8 * x}, o)
	}
	Load(Param("groups"), groups)
	MOVQ(dst, to)
	MOVQ(src, left) // start of the group
	Label("group")
	MOVQ(left, from)
	for y := range planeRows {
		k.move(bias, sum(y))
	}
	for row := range (planeRows-1)*stride + size {
		for x, o := range offsets {
			k.loadMasked(operand.Mem{Base: from, Index: o, Scale: 4}, tail, v)
			for y := range planeRows {
				if t := row - y*stride; t >= 0 && t < size {
					k.fma(v, weight(t, x), sum(y))
				}
			}
		}
		ADDQ(srcRow, from)
	}
	k.broadcastParam("lo", v)
	for y := range planeRows {
		VMAXPS(sum(y), v, sum(y))
	}
	k.broadcastParam("hi", v)
	for y := range planeRows {
		VMINPS(sum(y), v, sum(y))
		k.storeMasked(sum(y), tail, operand.Mem{Base: to})
		ADDQ(dstRow, to)
	}
	for range planeRows * stride {
		ADDQ(srcRow, left)
	}
	DECQ(groups)
	JNZ(operand.LabelRef("group"))
	ADDQ(operand.U8(k.size()), src)
	ADDQ(operand.U8(k.size()), dst)
	SUBQ(operand.U8(k.lanes()), cols)
	JG(operand.LabelRef("column"))
	VZEROUPPER()
	RET()
}

// copyRows writes the copying of rows of cols elements each. With non-temporal stores, dst is aligned to the vector size, and
// cols and dstRow are multiples of the vector length.
func (k *kernels) copyRows(name string, nonTemporal bool) {
	TEXT(k.name(name), 4, fmt.Sprintf("func(rows, cols int, dst *%s, dstRow int, src *%[1]s, srcRow int)", k.typ()))
	Pragma("noescape")
	rows, cols, dst, dstRow, src, srcRow := reg.R8, reg.RDX, reg.RDI, reg.R9, reg.RSI, reg.R10
	from, to, n := reg.R11, reg.R12, reg.R13
	tail := mask{reg.K1, k.vec(15)}
	k.loadRows(rows, cols, dst, dstRow, src, srcRow)
	MOVQ(cols, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Label("row")
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(cols, n)
	SUBQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(operand.Mem{Base: from}, k.vec(0))
	if nonTemporal {
		PREFETCHT1(operand.Mem{Base: from, Disp: fetchBeside})
		VMOVNTPS(k.vec(0), operand.Mem{Base: to})
	} else {
		k.store(k.vec(0), operand.Mem{Base: to})
	}
	ADDQ(operand.U8(k.size()), from)
	ADDQ(operand.U8(k.size()), to)
	SUBQ(operand.U8(k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(k.lanes()), n)
	JZ(operand.LabelRef("next"))
	k.loadMasked(operand.Mem{Base: from}, tail, k.vec(0))
	k.storeMasked(k.vec(0), tail, operand.Mem{Base: to})
	Label("next")
	ADDQ(srcRow, src)
	ADDQ(dstRow, dst)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

func (k *kernels) loadRows(rows, cols, dst, dstRow, src, srcRow reg.GPPhysical) {
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{{"rows", rows, false}, {"cols", cols, false}, {"dst", dst, false}, {"dstRow", dstRow, true}, {"src", src, false}, {"srcRow", srcRow, true}} {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(operand.U8(2), p.to)
		}
	}
}

// splitRows writes the separation of the even and odd elements of rows of src, of cols elements each: elements at even columns are copied
// to dst, elements at odd columns to odd, which has the same row stride as dst.
func (k *kernels) splitRows() {
	TEXT(k.name("splitRows"), 4, fmt.Sprintf("func(rows, cols int, dst, odd *%s, dstRow int, src *%[1]s, srcRow int)", k.typ()))
	Pragma("noescape")
	rows, cols, dst, dstRow, src, srcRow := reg.R8, reg.RDX, reg.RDI, reg.R9, reg.RSI, reg.R10
	odd, at, n := reg.R11, reg.R12, reg.R13
	from := reg.R15
	in := []mask{{reg.K1, k.vec(15)}, {reg.K2, k.vec(14)}}
	out := []mask{{reg.K3, k.vec(13)}, {reg.K4, k.vec(12)}}
	k.loadRows(rows, cols, dst, dstRow, src, srcRow)
	Load(Param("odd"), odd)
	rest := func() {
		MOVQ(cols, reg.RBX)
		ANDQ(operand.I32(2*k.lanes()-1), reg.RBX)
	}
	rest()
	k.masksFor(reg.RBX, in...)
	rest()
	ADDQ(operand.U8(1), reg.RBX)
	SHRQ(operand.U8(1), reg.RBX)
	k.masksFor(reg.RBX, out[0])
	rest()
	SHRQ(operand.U8(1), reg.RBX)
	k.masksFor(reg.RBX, out[1])
	if k.wide {
		VMOVDQU32(k.places, reg.Z4)
		VMOVDQU32(k.places.Offset(64), reg.Z5)
	}
	Label("row")
	MOVQ(src, from)
	XORQ(at, at)
	MOVQ(cols, n)
	even, other := operand.Mem{Base: dst, Index: at, Scale: 1}, operand.Mem{Base: odd, Index: at, Scale: 1}
	SUBQ(operand.U8(2*k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(operand.Mem{Base: from}, k.vec(0))
	k.load(operand.Mem{Base: from, Disp: k.size()}, k.vec(1))
	k.partHalves()
	k.store(k.vec(2), even)
	k.store(k.vec(3), other)
	ADDQ(operand.I32(2*k.size()), from)
	ADDQ(operand.U8(k.size()), at)
	SUBQ(operand.U8(2*k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(2*k.lanes()), n)
	JZ(operand.LabelRef("next"))
	k.loadMasked(operand.Mem{Base: from}, in[0], k.vec(0))
	k.loadMasked(operand.Mem{Base: from, Disp: k.size()}, in[1], k.vec(1))
	k.partHalves()
	k.storeMasked(k.vec(2), out[0], even)
	k.storeMasked(k.vec(3), out[1], other)
	Label("next")
	ADDQ(srcRow, src)
	ADDQ(dstRow, dst)
	ADDQ(dstRow, odd)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// partHalves separates vectors 0 and 1 into the elements at even indices, vector 2, and at odd ones, vector 3.
func (k *kernels) partHalves() {
	if k.wide {
		VMOVAPS(reg.Z4, reg.Z2)
		VMOVAPS(reg.Z5, reg.Z3)
		VPERMI2PS(reg.Z1, reg.Z0, reg.Z2)
		VPERMI2PS(reg.Z1, reg.Z0, reg.Z3)
		return
	}
	VSHUFPS(operand.U8(0x88), reg.Y1, reg.Y0, reg.Y2)
	VSHUFPS(operand.U8(0xdd), reg.Y1, reg.Y0, reg.Y3)
	VPERMPD(operand.U8(0xd8), reg.Y2, reg.Y2)
	VPERMPD(operand.U8(0xd8), reg.Y3, reg.Y3)
}
