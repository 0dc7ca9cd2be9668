package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose writes the packing of up to a vector of lines, each contiguous along the inner dimension: dst[p*width+l] =
// src[l*line+p] for l < lines and p < depth. It works square by square: line l is loaded to vector l, and after four (for
// float64, three) rounds of interleaving each position p is a vector.
func (k *kernels) transpose() { k.transposeTo("transpose", false) }

// transposeTo writes transpose or, if nonTemporal is set, a variant for a whole vector of lines that uses non-temporal stores,
// and requires that the rows of dst are aligned to the vector size.
func (k *kernels) transposeTo(name string, nonTemporal bool) {
	TEXT(k.name(name), 4, fmt.Sprintf(
		"func(lines, depth int, src *%s, line int, dst *%s, width int)", k.typ(), k.typ()))
	Pragma("noescape")
	shift := operand.U8(map[int]int{4: 2, 8: 3}[k.elem])
	lines, depth, src, line, dst, width := reg.R8, reg.RDX, reg.RSI, reg.R9, reg.RDI, reg.R10
	at, left, count := reg.R11, reg.R12, reg.R13
	n := k.lanes()
	across, along := mask{k: reg.K1}, mask{k: reg.K2}
	Load(Param("lines"), lines)
	MOVQ(lines, reg.RBX)
	k.masksFor(reg.RBX, across)
	Load(Param("depth"), depth)
	Load(Param("src"), src)
	Load(Param("line"), line)
	if k.paired {
		SHLQ(operand.U8(1), line)
	} else {
		SHLQ(shift, line)
	}
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(shift, width)
	Label("square")
	MOVQ(depth, count)
	CMPQ(count, operand.U8(n))
	JLE(operand.LabelRef("narrow"))
	MOVQ(operand.U32(n), count)
	Label("narrow")
	MOVQ(count, reg.RBX)
	k.masksFor(reg.RBX, along)
	MOVQ(src, at)
	MOVQ(lines, left)
	for i := range n {
		if nonTemporal {
			PREFETCHT1(operand.Mem{Base: at, Disp: fetchBeside})
		}
		k.loadMasked(operand.Mem{Base: at}, along, k.vec(i))
		if i+1 < n {
			DECQ(left)
			JZ(operand.LabelRef("turn"))
			ADDQ(line, at)
		}
	}
	Label("turn")
	for _, from := range k.interleave() {
		if nonTemporal {
			VMOVNTPS(k.vec(from), operand.Mem{Base: dst})
		} else {
			k.storeMasked(k.vec(from), across, operand.Mem{Base: dst})
		}
		ADDQ(width, dst)
		DECQ(count)
		JZ(operand.LabelRef("stored"))
	}
	Label("stored")
	ADDQ(operand.U8(k.size()), src)
	SUBQ(operand.U8(n), depth)
	JG(operand.LabelRef("square"))
	VZEROUPPER()
	RET()
}

// interleave writes the rounds of interleaving, which alternate between two halves of the registers. It returns the numbers of
// the registers that contain the positions, in order.
func (k *kernels) interleave() []int {
	n, from, to := k.lanes(), 0, k.lanes()
	turn := func() { from, to = to, from }
	if k.elem == 4 {
		for i := 0; i < n; i += 2 {
			VUNPCKLPS(k.vec(from+i+1), k.vec(from+i), k.vec(to+i))
			VUNPCKHPS(k.vec(from+i+1), k.vec(from+i), k.vec(to+i+1))
		}
		turn()
	}
	// This round interleaves units of 64 bits: of neighbouring registers for float64, of registers two apart for float32.
	group := n / 4
	for g := 0; g < n; g += group {
		for i := range group / 2 {
			a, b := from+g+i, from+g+i+group/2
			VUNPCKLPD(k.vec(b), k.vec(a), k.vec(to+g+2*i))
			VUNPCKHPD(k.vec(b), k.vec(a), k.vec(to+g+2*i+1))
		}
	}
	turn()
	// Now vector g+j holds, in its quarter q, position q*group+j of the lines of group g: two rounds gather the quarters.
	const even, odd = 0x88, 0xdd
	for j := range group {
		for half := range 2 {
			a, b := k.vec(from+2*half*group+j), k.vec(from+(2*half+1)*group+j)
			VSHUFF32X4(operand.U8(even), b, a, k.vec(to+2*half*group+j))
			VSHUFF32X4(operand.U8(odd), b, a, k.vec(to+(2*half+1)*group+j))
		}
	}
	turn()
	for j := range group {
		for q := range 2 {
			a, b := k.vec(from+q*group+j), k.vec(from+(2+q)*group+j)
			VSHUFF32X4(operand.U8(even), b, a, k.vec(to+q*group+j))
			VSHUFF32X4(operand.U8(odd), b, a, k.vec(to+(2+q)*group+j))
		}
	}
	turn()
	places := make([]int, n)
	for i := range places {
		places[i] = from + i
	}
	return places
}
