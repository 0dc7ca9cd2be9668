package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mergePlaces emits a table of the permutation indices that interleaveRows needs at levels with 64-byte vectors.
func (l *level) mergePlaces() operand.Mem {
	places := GLOBL("mergePlaces", 8|16) // read only, no pointers
	for i := range 32 {
		DATA(4*i, operand.U32(uint32(i%2*16+i/2)))
	}
	return places
}

// interleaveRows writes the inverse of splitRows: in the rows of dst, of cols elements each, elements at even columns come from src,
// elements at odd columns from odd, which has the same row stride as src.
func (k *kernels) interleaveRows() {
	var places operand.Mem
	if k.wide {
		places = k.mergePlaces()
	}
	TEXT(k.name("interleaveRows"), 4, fmt.Sprintf("func(rows, cols int, dst *%s, dstRow int, src, odd *%[1]s, srcRow int)", k.typ()))
	Pragma("noescape")
	rows, cols, dst, dstRow, src, srcRow := reg.R8, reg.RDX, reg.RDI, reg.R9, reg.RSI, reg.R10
	odd, at, n, to := reg.R11, reg.R12, reg.R13, reg.R15
	out := []mask{{reg.K1, k.vec(15)}, {reg.K2, k.vec(14)}}
	in := []mask{{reg.K3, k.vec(13)}, {reg.K4, k.vec(12)}}
	k.loadRows(rows, cols, dst, dstRow, src, srcRow)
	Load(Param("odd"), odd)
	rest := func() {
		MOVQ(cols, reg.RBX)
		ANDQ(operand.I32(2*k.lanes()-1), reg.RBX)
	}
	rest()
	k.masksFor(reg.RBX, out...)
	rest()
	ADDQ(operand.U8(1), reg.RBX)
	SHRQ(operand.U8(1), reg.RBX)
	k.masksFor(reg.RBX, in[0])
	rest()
	SHRQ(operand.U8(1), reg.RBX)
	k.masksFor(reg.RBX, in[1])
	if k.wide {
		VMOVDQU32(places, reg.Z4)
		VMOVDQU32(places.Offset(64), reg.Z5)
	}
	Label("row")
	MOVQ(dst, to)
	XORQ(at, at)
	MOVQ(cols, n)
	even, other := operand.Mem{Base: src, Index: at, Scale: 1}, operand.Mem{Base: odd, Index: at, Scale: 1}
	SUBQ(operand.U8(2*k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(even, k.vec(0))
	k.load(other, k.vec(1))
	k.mergeHalves()
	k.store(k.vec(2), operand.Mem{Base: to})
	k.store(k.vec(3), operand.Mem{Base: to, Disp: k.size()})
	ADDQ(operand.I32(2*k.size()), to)
	ADDQ(operand.U8(k.size()), at)
	SUBQ(operand.U8(2*k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(2*k.lanes()), n)
	JZ(operand.LabelRef("next"))
	k.loadMasked(even, in[0], k.vec(0))
	k.loadMasked(other, in[1], k.vec(1))
	k.mergeHalves()
	k.storeMasked(k.vec(2), out[0], operand.Mem{Base: to})
	k.storeMasked(k.vec(3), out[1], operand.Mem{Base: to, Disp: k.size()})
	Label("next")
	ADDQ(srcRow, src)
	ADDQ(srcRow, odd)
	ADDQ(dstRow, dst)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// mergeHalves interleaves the elements of vectors 0 and 1 into vectors 2 and 3.
func (k *kernels) mergeHalves() {
	if k.wide {
		VMOVAPS(reg.Z4, reg.Z2)
		VMOVAPS(reg.Z5, reg.Z3)
		VPERMI2PS(reg.Z1, reg.Z0, reg.Z2)
		VPERMI2PS(reg.Z1, reg.Z0, reg.Z3)
		return
	}
	VUNPCKLPS(reg.Y1, reg.Y0, reg.Y4)
	VUNPCKHPS(reg.Y1, reg.Y0, reg.Y5)
	VPERM2F128(operand.U8(0x20), reg.Y5, reg.Y4, reg.Y2)
	VPERM2F128(operand.U8(0x31), reg.Y5, reg.Y4, reg.Y3)
}

// sampleRows writes the copying of the elements at even columns. cols is the number of elements of a row of src.
func (k *kernels) sampleRows() {
	TEXT(k.name("sampleRows"), 4, fmt.Sprintf("func(rows, cols int, dst *%s, dstRow int, src *%[1]s, srcRow int)", k.typ()))
	Pragma("noescape")
	rows, cols, dst, dstRow, src, srcRow := reg.R8, reg.RDX, reg.RDI, reg.R9, reg.RSI, reg.R10
	from, to, n := reg.R11, reg.R12, reg.R13
	in := []mask{{reg.K1, k.vec(15)}, {reg.K2, k.vec(14)}}
	out := mask{reg.K3, k.vec(13)}
	k.loadRows(rows, cols, dst, dstRow, src, srcRow)
	rest := func() {
		MOVQ(cols, reg.RBX)
		ANDQ(operand.I32(2*k.lanes()-1), reg.RBX)
	}
	rest()
	k.masksFor(reg.RBX, in...)
	rest()
	ADDQ(operand.U8(1), reg.RBX)
	SHRQ(operand.U8(1), reg.RBX)
	k.masksFor(reg.RBX, out)
	if k.wide {
		VMOVDQU32(k.places, reg.Z4)
	}
	sample := func() {
		if k.wide {
			VMOVAPS(reg.Z4, reg.Z2)
			VPERMI2PS(reg.Z1, reg.Z0, reg.Z2)
			return
		}
		VSHUFPS(operand.U8(0x88), reg.Y1, reg.Y0, reg.Y2)
		VPERMPD(operand.U8(0xd8), reg.Y2, reg.Y2)
	}
	Label("row")
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(cols, n)
	SUBQ(operand.U8(2*k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(operand.Mem{Base: from}, k.vec(0))
	k.load(operand.Mem{Base: from, Disp: k.size()}, k.vec(1))
	sample()
	k.store(k.vec(2), operand.Mem{Base: to})
	ADDQ(operand.I32(2*k.size()), from)
	ADDQ(operand.U8(k.size()), to)
	SUBQ(operand.U8(2*k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(2*k.lanes()), n)
	JZ(operand.LabelRef("next"))
	k.loadMasked(operand.Mem{Base: from}, in[0], k.vec(0))
	k.loadMasked(operand.Mem{Base: from, Disp: k.size()}, in[1], k.vec(1))
	sample()
	k.storeMasked(k.vec(2), out, operand.Mem{Base: to})
	Label("next")
	ADDQ(srcRow, src)
	ADDQ(dstRow, dst)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}
