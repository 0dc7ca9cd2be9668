package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// level is an instruction set level for which kernels are written.
type level struct {
	name string
	wide bool // 64-byte vectors, 32 of them, and mask registers
	rows int  // rows of a full tile, which is two vectors wide
	// maskedRows is the number of rows of a tile with masked columns.
	maskedRows int
	table      operand.Mem // 64 bytes of ones and 64 of zeros
	counters   operand.Mem // 0 to 7
	places     operand.Mem // permutation indices of the even elements of two vectors, then of the odd ones
}

var levels = map[string]*level{
	"avx512": {name: "AVX512", wide: true, rows: 14},
	"avx2":   {name: "AVX2", rows: 6, maskedRows: 4},
}

// masks emits the table of masks for levels without mask registers.
func (l *level) masks() {
	if l.wide {
		return
	}
	l.table = GLOBL("masks", 8|16) // read only, no pointers
	for i := range 16 {
		DATA(8*i, operand.U64(map[bool]uint64{true: 1<<64 - 1}[i < 8]))
	}
}

// parting emits a table of the permutation indices that separate even and odd elements at levels with 64-byte vectors.
func (l *level) parting() {
	if !l.wide {
		return
	}
	l.places = GLOBL("places", 8|16) // read only, no pointers
	for i := range 32 {
		DATA(4*i, operand.U32(uint32(2*(i%16)+i/16)))
	}
}

// counting emits a table of 0, 1, 2, ..., 7, in 64 bits each.
func (l *level) counting() {
	l.counters = GLOBL("counters", 8|16) // read only, no pointers
	for i := range 8 {
		DATA(8*i, operand.U64(i))
	}
}

// kernels writes the kernels of one element type.
type kernels struct {
	*level
	elem   int  // size of an element in bytes
	paired bool // elements are pairs of bfloat16 numbers, sums float32
}

// typ returns the Go name of the element type.
func (k *kernels) typ() string { return fmt.Sprintf("float%d", 8*k.elem) }

// name returns the name of a function at this level.
func (k *kernels) name(what string) string {
	if k.paired {
		return what + "Pairs" + k.level.name
	}
	return fmt.Sprintf("%s%d%s", what, 8*k.elem, k.level.name)
}

// size returns the size of a vector in bytes.
func (k *kernels) size() int {
	if k.wide {
		return 64
	}
	return 32
}

func (k *kernels) lanes() int { return k.size() / k.elem }

var registers = []reg.VecPhysical{
	reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7,
	reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
	reg.X16, reg.X17, reg.X18, reg.X19, reg.X20, reg.X21, reg.X22, reg.X23,
	reg.X24, reg.X25, reg.X26, reg.X27, reg.X28, reg.X29, reg.X30, reg.X31,
}

// vec returns vector register number i.
func (k *kernels) vec(i int) reg.VecPhysical {
	if k.wide {
		return registers[i].AsZ().(reg.VecPhysical)
	}
	return registers[i].AsY().(reg.VecPhysical)
}

// pick returns the one of two instructions that suits the element type.
func (k *kernels) pick(single, double func(...operand.Op)) func(...operand.Op) {
	if k.elem == 4 {
		return single
	}
	return double
}

// fma adds x*y to acc.
func (k *kernels) fma(x, y, acc operand.Op) {
	if k.paired {
		k.pairsDot(x, y, acc)
		return
	}
	k.pick(VFMADD231PS, VFMADD231PD)(x, y, acc)
}

func (k *kernels) add(x, y, to operand.Op)   { k.pick(VADDPS, VADDPD)(x, y, to) }
func (k *kernels) load(from, to operand.Op)  { k.pick(VMOVUPS, VMOVUPD)(from, to) }
func (k *kernels) store(from, to operand.Op) { k.pick(VMOVUPS, VMOVUPD)(from, to) }

func (k *kernels) broadcast(from, to operand.Op) { k.pick(VBROADCASTSS, VBROADCASTSD)(from, to) }

func (k *kernels) zero(v operand.Op) {
	if k.wide {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

// mask selects a number of lanes at run time.
type mask struct {
	k reg.OpmaskPhysical // mask register, at a wide level
	v reg.VecPhysical    // mask vector, at other levels
}

// loadMasked reads the lanes of a mask and sets the others to zero.
func (k *kernels) loadMasked(from operand.Mem, m mask, to operand.Op) {
	switch {
	case k.wide && k.elem == 4:
		VMOVUPS_Z(from, m.k, to)
	case k.wide:
		VMOVUPD_Z(from, m.k, to)
	case k.elem == 4:
		VMASKMOVPS(from, m.v, to)
	default:
		VMASKMOVPD(from, m.v, to)
	}
}

// storeMasked writes the lanes of a mask.
func (k *kernels) storeMasked(from operand.Op, m mask, to operand.Mem) {
	switch {
	case k.wide:
		k.pick(VMOVUPS, VMOVUPD)(from, m.k, to)
	case k.elem == 4:
		VMASKMOVPS(from, m.v, to)
	default:
		VMASKMOVPD(from, m.v, to)
	}
}

// masksFor sets the masks of consecutive vectors so that they select n lanes in total. n is at most the number of lanes of the
// vectors. It overwrites n, RCX and RAX.
func (k *kernels) masksFor(n reg.GPPhysical, masks ...mask) {
	if k.wide {
		MOVQ(n, reg.RCX)
		MOVQ(operand.I32(-1), reg.RAX)
		SHLQ(reg.CL, reg.RAX)
		NOTQ(reg.RAX)
		for i, m := range masks {
			if i > 0 {
				SHRQ(operand.U8(k.lanes()), reg.RAX)
			}
			KMOVW(reg.EAX, m.k)
		}
		return
	}
	LEAQ(k.table.Offset(64), reg.RAX)
	SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[k.elem]), n)
	SUBQ(n, reg.RAX)
	for i, m := range masks {
		VMOVUPS(operand.Mem{Base: reg.RAX, Disp: 32 * i}, m.v)
	}
}
