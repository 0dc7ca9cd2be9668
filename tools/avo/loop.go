package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// numbers is the table of the constants that the loops of a file use. Each constant is repeated to fill 64 bytes.
type numbers struct {
	table   operand.Mem
	at      map[uint32]int
	doubles map[uint64]int
}

func newNumbers() *numbers {
	return &numbers{table: GLOBL("numbers", 8|16), at: map[uint32]int{}, doubles: map[uint64]int{}} // read only, no pointers
}

// bits returns the address of a constant given by its bits.
func (n *numbers) bits(b uint32) operand.Mem {
	at, ok := n.at[b]
	if !ok {
		at = 64 * (len(n.at) + len(n.doubles))
		n.at[b] = at
		for i := range 16 {
			DATA(at+4*i, operand.U32(b))
		}
	}
	return n.table.Offset(at)
}

// bits64 returns the address of a constant of 64 bits.
func (n *numbers) bits64(b uint64) operand.Mem {
	at, ok := n.doubles[b]
	if !ok {
		at = 64 * (len(n.at) + len(n.doubles))
		n.doubles[b] = at
		for i := range 8 {
			DATA(at+8*i, operand.U64(b))
		}
	}
	return n.table.Offset(at)
}

func (n *numbers) double(f float64) operand.Mem { return n.bits64(math.Float64bits(f)) }

func (n *numbers) of(f float32) operand.Mem { return n.bits(math.Float32bits(f)) }

// loop writes a loop over n elements. The elements of operand from[i] are loaded into vector i, and body computes the result in
// vector 0, which is stored to dst if dst is set. The tail is masked. It uses RDX, RDI, RSI, R8, R9 and RBX, and at levels
// without mask registers vector 15.
func (k *kernels) loop(from []string, dst bool, body func()) {
	n, to := reg.RDX, reg.RDI
	places := []reg.GPPhysical{reg.RSI, reg.R8, reg.R9}[:len(from)]
	tail := mask{reg.K1, k.vec(15)}
	Load(Param("n"), n)
	MOVQ(n, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	if dst {
		Load(Param("dst"), to)
	}
	for i, name := range from {
		Load(Param(name), places[i])
	}
	SUBQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	for i, p := range places {
		k.load(operand.Mem{Base: p}, k.vec(i))
		ADDQ(operand.U8(k.size()), p)
	}
	body()
	if dst {
		k.store(k.vec(0), operand.Mem{Base: to})
		ADDQ(operand.U8(k.size()), to)
	}
	SUBQ(operand.U8(k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(k.lanes()), n)
	JZ(operand.LabelRef("done"))
	for i, p := range places {
		k.loadMasked(operand.Mem{Base: p}, tail, k.vec(i))
	}
	body()
	if dst {
		k.storeMasked(k.vec(0), tail, operand.Mem{Base: to})
	}
	Label("done")
	VZEROUPPER()
	RET()
}
