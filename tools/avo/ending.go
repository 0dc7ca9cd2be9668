package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ending returns the Go declaration of the parameters of the epilogue in registers. finish enables the epilogue, the biases may
// be nil, and lo and hi are the bounds.
func (k *kernels) ending() string {
	return fmt.Sprintf("finish bool, biasRow, biasCol *%s, lo, hi %s", k.typ(), k.typ())
}

// end writes the epilogue for the given number of rows of sums, each with one vector for each mask. The results have the same
// bits as those of the kernel that the method epilogue writes. A zero mask means a whole vector. It overwrites RAX and vectors 0
// and 1.
func (k *kernels) end(rows int, masks []mask, sums func(row, v int) reg.VecPhysical) {
	Load(Param("finish"), reg.AL)
	TESTB(reg.AL, reg.AL)
	JZ(operand.LabelRef("ended"))
	Load(Param("biasRow"), reg.RAX)
	TESTQ(reg.RAX, reg.RAX)
	JZ(operand.LabelRef("columns"))
	for row := range rows {
		k.broadcast(operand.Mem{Base: reg.RAX, Disp: row * k.elem}, k.vec(row%2))
		for v := range masks {
			k.add(k.vec(row%2), sums(row, v), sums(row, v))
		}
	}
	Label("columns")
	Load(Param("biasCol"), reg.RAX)
	TESTQ(reg.RAX, reg.RAX)
	JZ(operand.LabelRef("bounds"))
	for v, m := range masks {
		from := operand.Mem{Base: reg.RAX, Disp: v * k.size()}
		if m == (mask{}) {
			k.load(from, k.vec(v%2))
		} else {
			k.loadMasked(from, m, k.vec(v%2))
		}
		for row := range rows {
			k.add(k.vec(v%2), sums(row, v), sums(row, v))
		}
	}
	Label("bounds")
	k.broadcastParam("lo", k.vec(0))
	k.broadcastParam("hi", k.vec(1))
	for row := range rows {
		for v := range masks {
			k.pick(VMAXPS, VMAXPD)(sums(row, v), k.vec(0), sums(row, v))
			k.pick(VMINPS, VMINPD)(sums(row, v), k.vec(1), sums(row, v))
		}
	}
	Label("ended")
}
