package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// epilogue writes the epilogue on a matrix in memory: it adds the biases, which may be nil, and clamps to the bounds.
func (k *kernels) epilogue() {
	TEXT(k.name("epilogue"), 4, fmt.Sprintf(
		"func(rows, cols int, c *%s, ldc int, biasRow, biasCol *%s, lo, hi %s)", k.typ(), k.typ(), k.typ()))
	Pragma("noescape")
	rows, cols, c, ldc, biasRow, biasCol := reg.R8, reg.R9, reg.RDI, reg.R10, reg.RSI, reg.RDX
	shift := operand.U8(map[int]int{4: 2, 8: 3}[k.elem])
	lo, hi, row, v := k.vec(0), k.vec(1), k.vec(2), k.vec(3)
	tail := mask{reg.K1, k.vec(5)}
	at, full, rest := reg.R11, reg.R12, reg.RBX
	Load(Param("rows"), rows)
	Load(Param("cols"), cols)
	MOVQ(cols, rest)
	ANDQ(operand.I32(k.lanes()-1), rest)
	MOVQ(rest, reg.R13)
	k.masksFor(reg.R13, tail)
	Load(Param("c"), c)
	Load(Param("ldc"), ldc)
	SHLQ(shift, ldc)
	Load(Param("biasRow"), biasRow)
	Load(Param("biasCol"), biasCol)
	for _, p := range []struct {
		name string
		to   reg.VecPhysical
	}{{"lo", lo}, {"hi", hi}} {
		from, err := Param(p.name).Resolve()
		if err != nil {
			panic(err)
		}
		k.broadcast(from.Addr, p.to)
	}
	Comment("Minus zero is what can be added to anything.")
	if k.elem == 4 {
		MOVL(operand.U32(1<<31), reg.EAX)
		VMOVD(reg.EAX, reg.X2)
		VBROADCASTSS(reg.X2, row)
	} else {
		MOVQ(operand.U64(math.Float64bits(math.Copysign(0, -1))), reg.RAX)
		VMOVQ(reg.RAX, reg.X2)
		VBROADCASTSD(reg.X2, row)
	}
	Label("row")
	TESTQ(biasRow, biasRow)
	JZ(operand.LabelRef("plain"))
	k.broadcast(operand.Mem{Base: biasRow}, row)
	ADDQ(operand.U8(k.elem), biasRow)
	Label("plain")
	XORQ(at, at)
	MOVQ(cols, full)
	bound := func() {
		k.pick(VMAXPS, VMAXPD)(v, lo, v)
		k.pick(VMINPS, VMINPD)(v, hi, v)
	}
	to, bias := operand.Mem{Base: c, Index: at, Scale: 1}, operand.Mem{Base: biasCol, Index: at, Scale: 1}
	SUBQ(operand.U8(k.lanes()), full)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.add(to, row, v)
	TESTQ(biasCol, biasCol)
	JZ(operand.LabelRef("bound"))
	k.add(bias, v, v)
	Label("bound")
	bound()
	k.store(v, to)
	ADDQ(operand.U8(k.size()), at)
	SUBQ(operand.U8(k.lanes()), full)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	TESTQ(rest, rest)
	JZ(operand.LabelRef("next"))
	k.loadMasked(to, tail, v)
	k.add(v, row, v)
	TESTQ(biasCol, biasCol)
	JZ(operand.LabelRef("boundTail"))
	k.loadMasked(bias, tail, k.vec(4))
	k.add(k.vec(4), v, v)
	Label("boundTail")
	bound()
	k.storeMasked(v, tail, to)
	Label("next")
	ADDQ(ldc, c)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}
