package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unroll is the number of steps of the inner dimension per iteration in a whole tile. ahead is the prefetch distance of rows of
// B, in steps. beyond is the prefetch distance of a packed operand, in bytes; such an operand comes from memory if there are many
// weights. farRows is the least number of rows for which a step takes long enough to prefetch B at the distance beyond.
const (
	unroll = 4
	ahead  = 8
	beyond = 4096

	farRows = 8
)

// tiles writes one function for each number of rows. Levels without mask registers have a second set for tiles with incomplete
// columns. Levels with mask registers have sets for tiles of one vector, for panels of few rows, and for rows of B at arbitrary
// offsets.
func (k *kernels) tiles() {
	for rows := 1; rows <= k.rows; rows++ {
		k.tile(rows, 2, k.wide)
	}
	for rows := 1; rows <= k.rows && k.wide; rows++ {
		k.tile(rows, 1, true)
	}
	for rows := 1; rows <= k.maskedRows; rows++ {
		k.tile(rows, 2, true)
	}
	for rows := 1; rows <= groupRows && k.wide; rows++ {
		k.panels(rows)
	}
	for rows := 1; rows <= k.rows && k.wide; rows++ {
		k.indirect(rows)
	}
}

// tile writes the product of the given number of rows of A, broadcast element by element, and one or two vectors of B. The
// product stays in registers until it is complete.
//
// Registers: vectors 0 and 1 hold B, 2 and 3 elements of A, the rest the sums.
func (k *kernels) tile(rows, vectors int, masked bool) {
	name := k.name("tile")
	if masked && !k.wide {
		name += "Part"
	}
	if vectors == 1 {
		name += "Half"
	}
	TEXT(fmt.Sprintf("%sx%d", name, rows), 4, fmt.Sprintf(
		"func(k int, a, b, c *%s, aRow, aCol, bRow, ldc, cols int, accumulate bool, %s)", k.typ(), k.ending()))
	Pragma("noescape")
	a, b, c, n := reg.RSI, reg.RDI, reg.RDX, reg.RCX
	aRow, aCol, bRow, ldc, cols := reg.R8, reg.R9, reg.R10, reg.R11, reg.RBX
	masks := []mask{{reg.K1, k.vec(12)}, {reg.K2, k.vec(13)}}[:vectors]
	if masked {
		Load(Param("cols"), cols)
		k.masksFor(cols, masks...)
	}
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{
		{"k", n, false}, {"a", a, false}, {"b", b, false}, {"c", c, false},
		{"aRow", aRow, true}, {"aCol", aCol, true}, {"bRow", bRow, true}, {"ldc", ldc, true},
	} {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[k.elem]), p.to)
		}
	}
	sums := func(row, half int) reg.VecPhysical { return k.vec(4 + 2*row + half) }
	Comment("The tile is fetched while the sums are made.")
	MOVQ(c, reg.RAX)
	for row := range rows {
		for at := 0; at < vectors*k.size(); at += 64 {
			PREFETCHT0(operand.Mem{Base: reg.RAX, Disp: at})
		}
		for half := range vectors {
			k.zero(sums(row, half))
		}
		if row+1 < rows {
			ADDQ(ldc, reg.RAX)
		}
	}
	places := k.rowPlaces(rows, a, aRow)
	step := func() {
		for half := range vectors {
			from := operand.Mem{Base: b, Disp: half * k.size()}
			if masked {
				k.loadMasked(from, masks[half], k.vec(half))
			} else {
				k.load(from, k.vec(half))
			}
		}
		for at := 0; at < vectors*k.size(); at += 64 {
			PREFETCHT0(operand.Mem{Base: b, Index: bRow, Scale: ahead, Disp: at})
			if rows >= farRows {
				PREFETCHT0(operand.Mem{Base: b, Disp: beyond + at})
			}
		}
		PREFETCHT0(operand.Mem{Base: a, Disp: beyond})
		for row := range rows {
			v := k.vec(2 + row%2)
			k.broadcast(places.at[row], v)
			for half := range vectors {
				k.fma(v, k.vec(half), sums(row, half))
			}
		}
		for _, base := range places.bases {
			ADDQ(aCol, base)
		}
		ADDQ(bRow, b)
	}
	if (rows == k.rows || rows >= farRows) && vectors == 2 {
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
	} else {
		TESTQ(n, n)
	}
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
		for half := range vectors {
			from := operand.Mem{Base: reg.RAX, Disp: half * k.size()}
			if masked {
				k.loadMasked(from, masks[half], k.vec(half))
				k.add(k.vec(half), sums(row, half), sums(row, half))
			} else {
				k.add(from, sums(row, half), sums(row, half))
			}
		}
		if row+1 < rows {
			ADDQ(ldc, reg.RAX)
		}
	}
	Label("store")
	if masked {
		k.end(rows, masks, sums)
	} else {
		k.end(rows, make([]mask, vectors), sums)
	}
	for row := range rows {
		for half := range vectors {
			to := operand.Mem{Base: c, Disp: half * k.size()}
			if masked {
				k.storeMasked(sums(row, half), masks[half], to)
			} else {
				k.store(sums(row, half), to)
			}
		}
		if row+1 < rows {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

// rowPlaces holds the address of the current element of each row, and the pointers that advance with each step.
type rowPlaces struct {
	at    []operand.Mem
	bases []reg.GPPhysical
}

// rowPlaces addresses up to fourteen rows, stride bytes apart, from two bases seven rows apart and three strides. It uses RBX,
// R12 and R13.
func (k *kernels) rowPlaces(rows int, base, stride reg.GPPhysical) rowPlaces {
	second, three, five := reg.RBX, reg.R12, reg.R13
	p := rowPlaces{bases: []reg.GPPhysical{base}}
	if rows > 3 {
		LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, three)
	}
	if rows > 5 {
		LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 4}, five)
	}
	if rows > 7 {
		LEAQ(operand.Mem{Base: base, Index: three, Scale: 2}, second)
		ADDQ(stride, second)
		p.bases = append(p.bases, second)
	}
	for row := range rows {
		m := operand.Mem{Base: p.bases[row/7]}
		switch row % 7 {
		case 1, 2, 4:
			m.Index, m.Scale = stride, uint8(row%7)
		case 3, 6:
			m.Index, m.Scale = three, uint8(row%7/3)
		case 5:
			m.Index, m.Scale = five, 1
		}
		p.at = append(p.at, m)
	}
	return p
}
