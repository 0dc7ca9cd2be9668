package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	longRow  = 1024 // number of elements from which on a row is read from beginning to end, with several sums
	longSums = 4
)

// longSum returns the register of sum number i of a long row.
func (k *kernels) longSum(i int) reg.VecPhysical {
	if k.wide {
		return k.vec(16 + i)
	}
	return k.vec(8 + i)
}

// joinLong reduces the row at rowsOf.at to the lanes of the first of its sums. It uses vectors 0 to 3.
func (k *kernels) joinLong(c *numbers, j joint, tail mask, label string) {
	r := rowsOf
	for i := range longSums {
		VMOVUPS(c.bits(j.neutral), k.longSum(i))
	}
	MOVQ(r.cols, r.left)
	SUBQ(operand.U8(longSums*k.lanes()), r.left)
	Label(label)
	for at := 0; at < longSums*k.size(); at += 64 {
		PREFETCHT0(operand.Mem{Base: r.at, Disp: fetchAhead + at})
	}
	for i := range longSums {
		k.load(operand.Mem{Base: r.at, Disp: i * k.size()}, k.vec(i))
		if j.nan && i&1 == 1 {
			k.watch(k.vec(i-1), k.vec(i))
		}
	}
	for i := range longSums {
		j.join(k.vec(i), k.longSum(i))
	}
	ADDQ(operand.I32(longSums*k.size()), r.at)
	SUBQ(operand.U8(longSums*k.lanes()), r.left)
	JGE(operand.LabelRef(label))
	ADDQ(operand.U8(longSums*k.lanes()), r.left)
	one := func() {
		if j.nan {
			k.watch(k.vec(0), k.vec(0))
		}
		j.join(k.vec(0), k.longSum(0))
	}
	SUBQ(operand.U8(k.lanes()), r.left)
	JLT(operand.LabelRef(label + "Tail"))
	Label(label + "Vector")
	k.load(operand.Mem{Base: r.at}, k.vec(0))
	one()
	ADDQ(operand.U8(k.size()), r.at)
	SUBQ(operand.U8(k.lanes()), r.left)
	JGE(operand.LabelRef(label + "Vector"))
	Label(label + "Tail")
	ADDQ(operand.U8(k.lanes()), r.left)
	JZ(operand.LabelRef(label + "Done"))
	k.loadElse(c, j, operand.Mem{Base: r.at}, tail, k.vec(0))
	one()
	Label(label + "Done")
	for width := 1; width < longSums; width *= 2 {
		for i := 0; i < longSums; i += 2 * width {
			j.join(k.longSum(i+width), k.longSum(i))
		}
	}
}
