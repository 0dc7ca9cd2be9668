package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// indirect writes the product of the given number of rows of a packed A and two vectors of B. The rows of B are at offsets in
// src, and the second vector is next elements after the first. The kernel computes the same sums as tile; cols is the number of
// columns of both vectors together.
//
// Registers: vectors 0 and 1 hold B, 2 and 3 elements of A, the rest the sums.
func (k *kernels) indirect(rows int) {
	TEXT(fmt.Sprintf("%sx%d", k.name("indirect"), rows), 4, fmt.Sprintf(
		"func(k int, a *%s, aCol int, src *%[1]s, offsets *int, next int, c *%[1]s, ldc, cols int, accumulate bool, %s)", k.typ(), k.ending()))
	Pragma("noescape")
	n, a, aCol, src, offsets, second, c, ldc, off := reg.RCX, reg.RSI, reg.R9, reg.RDI, reg.R10, reg.R12, reg.RDX, reg.R11, reg.R13
	masks := []mask{{k: reg.K1}, {k: reg.K2}}
	Load(Param("cols"), reg.RBX)
	k.masksFor(reg.RBX, masks...)
	shift := operand.U8(map[int]int{4: 2, 8: 3}[k.elem])
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{
		{"k", n, false}, {"a", a, false}, {"src", src, false}, {"offsets", offsets, false}, {"c", c, false},
		{"aCol", aCol, true}, {"next", second, true}, {"ldc", ldc, true},
	} {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(shift, p.to)
		}
	}
	ADDQ(src, second)
	sums := func(row, half int) reg.VecPhysical { return k.vec(4 + 2*row + half) }
	MOVQ(c, reg.RAX)
	for row := range rows {
		for half := range 2 {
			PREFETCHT0(operand.Mem{Base: reg.RAX, Disp: half * k.size()})
			k.zero(sums(row, half))
		}
		if row+1 < rows {
			ADDQ(ldc, reg.RAX)
		}
	}
	step := func() {
		MOVQ(operand.Mem{Base: offsets}, off)
		for half, base := range []reg.GPPhysical{src, second} {
			k.loadMasked(operand.Mem{Base: base, Index: off, Scale: uint8(k.elem)}, masks[half], k.vec(half))
		}
		PREFETCHT0(operand.Mem{Base: a, Disp: beyond})
		for row := range rows {
			v := k.vec(2 + row%2)
			k.broadcast(operand.Mem{Base: a, Disp: row * k.elem}, v)
			for half := range 2 {
				k.fma(v, k.vec(half), sums(row, half))
			}
		}
		ADDQ(aCol, a)
		ADDQ(operand.U8(8), offsets)
	}
	SUBQ(operand.U8(unroll), n)
	JLT(operand.LabelRef("rest"))
	Label("turn")
	for range unroll {
		step()
	}
	SUBQ(operand.U8(unroll), n)
	JGE(operand.LabelRef("turn"))
	Label("rest")
	ADDQ(operand.U8(unroll), n)
	JZ(operand.LabelRef("done"))
	Label("single")
	step()
	DECQ(n)
	JNZ(operand.LabelRef("single"))
	Label("done")
	Load(Param("accumulate"), reg.AL)
	TESTB(reg.AL, reg.AL)
	JZ(operand.LabelRef("store"))
	MOVQ(c, reg.RAX)
	for row := range rows {
		for half := range 2 {
			k.loadMasked(operand.Mem{Base: reg.RAX, Disp: half * k.size()}, masks[half], k.vec(half))
			k.add(k.vec(half), sums(row, half), sums(row, half))
		}
		if row+1 < rows {
			ADDQ(ldc, reg.RAX)
		}
	}
	Label("store")
	k.end(rows, masks, sums)
	for row := range rows {
		for half := range 2 {
			k.storeMasked(sums(row, half), masks[half], operand.Mem{Base: c, Disp: half * k.size()})
		}
		if row+1 < rows {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}
