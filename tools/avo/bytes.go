package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bytes writes products of bytes on units of 32 bits. A unit contains neighbours along the inner dimension: four bytes, unsigned
// in A and signed in B, at levels with VNNI, and two words at others.
func (k *kernels) bytes() {
	for rows := 1; rows <= k.rows; rows++ {
		k.byteTile(rows)
	}
	if k.wide {
		k.quads()
	} else {
		k.wordPairs()
	}
}

// units adds the products of the units of a and b to sum. At levels without VNNI it overwrites vector 3.
func (k *kernels) units(a, b, sum reg.VecPhysical) {
	if k.wide {
		Instruction(&ir.Instruction{Opcode: "VPDPBUSD", Operands: []operand.Op{b, a, sum},
			Inputs: []operand.Op{b, a, sum}, Outputs: []operand.Op{sum}, ISA: []string{"AVX512_VNNI"}})
		return
	}
	VPMADDWD(a, b, k.vec(3))
	VPADDD(k.vec(3), sum, sum)
}

// byteTile writes the product of the given number of rows of a packed A, whose steps are aCol units apart, and two vectors of B,
// whose steps are bRow units apart. Only the first cols elements of the vectors of C are read and written.
//
// Registers: vectors 0 and 1 hold B, 2 an element of A, 3 products (with VNNI another element of A), the rest the sums.
func (k *kernels) byteTile(rows int) {
	TEXT(fmt.Sprintf("bytes%sx%d", k.level.name, rows), 4,
		"func(k int, a, b, c *int32, aCol, bRow, ldc, cols int, accumulate bool, biasRow, biasCol *int32)")
	Pragma("noescape")
	a, b, c, n := reg.RSI, reg.RDI, reg.RDX, reg.RCX
	aCol, bRow, ldc, cols := reg.R9, reg.R10, reg.R11, reg.RBX
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{
		{"k", n, false}, {"a", a, false}, {"b", b, false}, {"c", c, false},
		{"aCol", aCol, true}, {"bRow", bRow, true}, {"ldc", ldc, true},
	} {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(operand.U8(2), p.to)
		}
	}
	sums := func(row, half int) reg.VecPhysical { return k.vec(4 + 2*row + half) }
	for row := range rows {
		for half := range 2 {
			k.zero(sums(row, half))
		}
	}
	step := func() {
		for half := range 2 {
			k.load(operand.Mem{Base: b, Disp: half * k.size()}, k.vec(half))
		}
		for row := range rows {
			v := k.vec(2)
			if k.wide {
				v = k.vec(2 + row%2)
			}
			k.broadcast(operand.Mem{Base: a, Disp: 4 * row}, v)
			for half := range 2 {
				k.units(v, k.vec(half), sums(row, half))
			}
		}
		ADDQ(aCol, a)
		ADDQ(bRow, b)
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

	masks := []mask{{reg.K1, k.vec(0)}, {reg.K2, k.vec(1)}}
	Load(Param("cols"), cols)
	k.masksFor(cols, masks...)
	each := func(pointer reg.GPPhysical, do func(row, half int, at operand.Mem)) {
		for row := range rows {
			for half := range masks {
				do(row, half, operand.Mem{Base: pointer, Disp: half * k.size()})
			}
			if row+1 < rows {
				ADDQ(ldc, pointer)
			}
		}
	}
	Load(Param("accumulate"), reg.AL)
	TESTB(reg.AL, reg.AL)
	JZ(operand.LabelRef("rows"))
	MOVQ(c, reg.RAX)
	each(reg.RAX, func(row, half int, at operand.Mem) {
		k.loadMasked(at, masks[half], k.vec(2))
		VPADDD(k.vec(2), sums(row, half), sums(row, half))
	})
	Label("rows")
	Load(Param("biasRow"), reg.RAX)
	TESTQ(reg.RAX, reg.RAX)
	JZ(operand.LabelRef("columns"))
	for row := range rows {
		k.broadcast(operand.Mem{Base: reg.RAX, Disp: 4 * row}, k.vec(2))
		for half := range masks {
			VPADDD(k.vec(2), sums(row, half), sums(row, half))
		}
	}
	Label("columns")
	Load(Param("biasCol"), reg.RAX)
	TESTQ(reg.RAX, reg.RAX)
	JZ(operand.LabelRef("store"))
	for half, m := range masks {
		k.loadMasked(operand.Mem{Base: reg.RAX, Disp: half * k.size()}, m, k.vec(2))
		for row := range rows {
			VPADDD(k.vec(2), sums(row, half), sums(row, half))
		}
	}
	Label("store")
	each(c, func(row, half int, at operand.Mem) { k.storeMasked(sums(row, half), masks[half], at) })
	VZEROUPPER()
	RET()
}

// begin16 writes the start of a function that packs units of sixteen adjacent lines in memory, in groups of rows, and returns the
// registers of its parameters. flip is broadcast to every 32 bits of a vector.
func (k *kernels) begin16(name string, flip reg.VecPhysical) (n, src, row, dst, width reg.GPPhysical) {
	TEXT(name+k.level.name, 4, "func(groups int, src *uint8, row int, dst *int32, width int, flip uint32)")
	Pragma("noescape")
	n, src, row, dst, width = reg.RCX, reg.RSI, reg.R8, reg.RDI, reg.R9
	Load(Param("groups"), n)
	Load(Param("src"), src)
	Load(Param("row"), row)
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(operand.U8(2), width)
	Load(Param("flip"), reg.EAX)
	VMOVD(reg.EAX, flip.AsX())
	VPBROADCASTD(flip.AsX(), flip)
	return n, src, row, dst, width
}

// quads packs units of four rows, combined with flip by exclusive or.
func (k *kernels) quads() {
	flip := reg.X15
	n, src, row, dst, width := k.begin16("quads", flip)
	three := reg.R10
	LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, three)
	Label("group")
	VMOVDQU(operand.Mem{Base: src}, reg.X0)
	VMOVDQU(operand.Mem{Base: src, Index: row, Scale: 1}, reg.X1)
	VMOVDQU(operand.Mem{Base: src, Index: row, Scale: 2}, reg.X2)
	VMOVDQU(operand.Mem{Base: src, Index: three, Scale: 1}, reg.X3)
	VPUNPCKLBW(reg.X1, reg.X0, reg.X4)
	VPUNPCKHBW(reg.X1, reg.X0, reg.X5)
	VPUNPCKLBW(reg.X3, reg.X2, reg.X6)
	VPUNPCKHBW(reg.X3, reg.X2, reg.X7)
	VPUNPCKLWD(reg.X6, reg.X4, reg.X0)
	VPUNPCKHWD(reg.X6, reg.X4, reg.X1)
	VPUNPCKLWD(reg.X7, reg.X5, reg.X2)
	VPUNPCKHWD(reg.X7, reg.X5, reg.X3)
	for i, v := range []reg.VecPhysical{reg.X0, reg.X1, reg.X2, reg.X3} {
		VPXOR(flip, v, v)
		VMOVDQU(v, operand.Mem{Base: dst, Disp: 16 * i})
	}
	LEAQ(operand.Mem{Base: src, Index: row, Scale: 4}, src)
	ADDQ(width, dst)
	DECQ(n)
	JNZ(operand.LabelRef("group"))
	RET()
}

// wordPairs packs units of two rows, widened to words. An exclusive or with flip, followed by a subtraction of flip, extends the
// sign.
func (k *kernels) wordPairs() {
	flip := reg.Y15
	n, src, row, dst, width := k.begin16("pairs", flip)
	Label("group")
	VPMOVZXBW(operand.Mem{Base: src}, reg.Y0)
	VPMOVZXBW(operand.Mem{Base: src, Index: row, Scale: 1}, reg.Y1)
	for _, v := range []reg.VecPhysical{reg.Y0, reg.Y1} {
		VPXOR(flip, v, v)
		VPSUBW(flip, v, v)
	}
	VPUNPCKLWD(reg.Y1, reg.Y0, reg.Y2)
	VPUNPCKHWD(reg.Y1, reg.Y0, reg.Y3)
	VPERM2I128(operand.U8(0x20), reg.Y3, reg.Y2, reg.Y0)
	VPERM2I128(operand.U8(0x31), reg.Y3, reg.Y2, reg.Y1)
	VMOVDQU(reg.Y0, operand.Mem{Base: dst})
	VMOVDQU(reg.Y1, operand.Mem{Base: dst, Disp: 32})
	LEAQ(operand.Mem{Base: src, Index: row, Scale: 2}, src)
	ADDQ(width, dst)
	DECQ(n)
	JNZ(operand.LabelRef("group"))
	VZEROUPPER()
	RET()
}
