package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groupRows is the greatest number of rows that panels is written for.
const groupRows = 3

// panels writes the product of the given number of rows of A and four panels of B, each two vectors wide, and bPanel elements
// apart. It computes the same sums as tile. A single panel has too few independent sums to hide the latency of an addition.
//
// Registers: vectors 0 and 1 hold B, 2 to 4 elements of A, and vectors from 8 on the sums.
func (k *kernels) panels(rows int) {
	const vectors = 8
	TEXT(fmt.Sprintf("%sx%d", k.name("panels"), rows), 4, fmt.Sprintf(
		"func(k int, a, b, c *%s, aRow, aCol, bPanel, ldc int, accumulate bool, %s)", k.typ(), k.ending()))
	Pragma("noescape")
	a, b, c, n := reg.RSI, reg.RDI, reg.RDX, reg.RCX
	aRow, aCol, bPanel, ldc, last := reg.R8, reg.R9, reg.R10, reg.R11, reg.R12
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{
		{"k", n, false}, {"a", a, false}, {"b", b, false}, {"c", c, false},
		{"aRow", aRow, true}, {"aCol", aCol, true}, {"bPanel", bPanel, true}, {"ldc", ldc, true},
	} {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[k.elem]), p.to)
		}
	}
	LEAQ(operand.Mem{Base: bPanel, Index: bPanel, Scale: 2}, last)
	sums := func(row, v int) reg.VecPhysical { return k.vec(8 + vectors*row + v) }
	for row := range rows {
		for v := range vectors {
			k.zero(sums(row, v))
		}
	}
	Label("step")
	for row := range rows {
		m := operand.Mem{Base: a}
		if row > 0 {
			m.Index, m.Scale = aRow, uint8(row)
		}
		k.broadcast(m, k.vec(2+row))
	}
	for v := range vectors {
		m := operand.Mem{Base: b, Disp: v % 2 * k.size()}
		switch v / 2 {
		case 1, 2:
			m.Index, m.Scale = bPanel, uint8(v/2)
		case 3:
			m.Index, m.Scale = last, 1
		}
		if rows == 1 {
			k.fma(m, k.vec(2), sums(0, v))
			continue
		}
		k.load(m, k.vec(v%2))
		for row := range rows {
			k.fma(k.vec(2+row), k.vec(v%2), sums(row, v))
		}
	}
	ADDQ(aCol, a)
	ADDQ(operand.U8(2*k.size()), b)
	DECQ(n)
	JNZ(operand.LabelRef("step"))

	Load(Param("accumulate"), reg.AL)
	TESTB(reg.AL, reg.AL)
	JZ(operand.LabelRef("store"))
	MOVQ(c, reg.RAX)
	for row := range rows {
		for v := range vectors {
			k.add(operand.Mem{Base: reg.RAX, Disp: v * k.size()}, sums(row, v), sums(row, v))
		}
		if row+1 < rows {
			ADDQ(ldc, reg.RAX)
		}
	}
	Label("store")
	k.end(rows, make([]mask, vectors), sums)
	for row := range rows {
		for v := range vectors {
			k.store(sums(row, v), operand.Mem{Base: c, Disp: v * k.size()})
		}
		if row+1 < rows {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}
