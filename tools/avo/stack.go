package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stacked is the number of rows that joinStack combines.
const stacked = 8

// joinStack writes the loop that combines eight rows of a matrix with another row. Each row is read from beginning to end. If a column
// contains a NaN, its result is NaN.
func (k *kernels) joinStack(c *numbers, j joint) {
	TEXT(k.name(j.stack), 4, "func(n int, acc, x *float32, row int)")
	Pragma("noescape")
	Doc(k.name(j.stack) + " joins eight rows of n elements to acc.")
	n, acc, x, row, three, below := reg.RDX, reg.RDI, reg.RSI, reg.R8, reg.R9, reg.R10
	tail := mask{reg.K1, k.vec(15)}
	Load(Param("n"), n)
	MOVQ(n, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Load(Param("acc"), acc)
	Load(Param("x"), x)
	Load(Param("row"), row)
	SHLQ(operand.U8(2), row)
	LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, three)
	LEAQ(operand.Mem{Base: x, Index: row, Scale: 4}, below)
	from := func(r int) operand.Mem {
		m := operand.Mem{Base: []reg.GPPhysical{x, below}[r/4]}
		switch r % 4 {
		case 1, 2:
			m.Index, m.Scale = row, uint8(r%4)
		case 3:
			m.Index, m.Scale = three, 1
		}
		return m
	}
	body := func(masked bool) {
		load := func(m operand.Mem, to operand.Op) {
			if masked {
				k.loadMasked(m, tail, to)
			} else {
				k.load(m, to)
			}
		}
		for r := range stacked {
			load(from(r), k.vec(1+r))
		}
		load(operand.Mem{Base: acc}, k.vec(0))
		k.joinAll(c, j)
		if masked {
			k.storeMasked(k.vec(0), tail, operand.Mem{Base: acc})
		} else {
			k.store(k.vec(0), operand.Mem{Base: acc})
		}
	}
	SUBQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	body(false)
	for _, p := range []reg.GPPhysical{acc, x, below} {
		ADDQ(operand.U8(k.size()), p)
	}
	SUBQ(operand.U8(k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(k.lanes()), n)
	JZ(operand.LabelRef("done"))
	body(true)
	Label("done")
	k.done()
}

// joinAll combines vectors 1 to 8 with vector 0. It uses vectors 9 and 10, and on a wide level K2 and K3.
func (k *kernels) joinAll(c *numbers, j joint) {
	nan := k.vec(10)
	if j.nan {
		Comment("Where a number is missing.")
		for i := 1; i < stacked; i += 2 {
			to, mask := k.vec(9), operand.Op(reg.K2)
			if i == 1 {
				to, mask = nan, reg.K3
			}
			if !k.wide {
				VCMPPS(operand.U8(3), k.vec(i), k.vec(i+1), to)
			} else {
				VCMPPS(operand.U8(3), k.vec(i), k.vec(i+1), mask)
			}
			switch {
			case i == 1:
			case k.wide:
				KORW(reg.K2, reg.K3, reg.K3)
			default:
				VORPS(to, nan, nan)
			}
		}
		if k.wide {
			VCMPPS(operand.U8(3), k.vec(0), k.vec(0), reg.K2)
			KORW(reg.K2, reg.K3, reg.K3)
		} else {
			VCMPPS(operand.U8(3), k.vec(0), k.vec(0), k.vec(9))
			VORPS(k.vec(9), nan, nan)
		}
	}
	for width := 1; width < stacked; width *= 2 {
		for i := 1; i <= stacked; i += 2 * width {
			j.exact(k, i+width, i)
		}
	}
	j.exact(k, 1, 0)
	switch {
	case !j.nan:
	case k.wide:
		VMOVUPS(c.bits(quietNaN), reg.K3, k.vec(0))
	default:
		Comment("All bits set are a NaN too.")
		VORPS(nan, k.vec(0), k.vec(0))
	}
}
