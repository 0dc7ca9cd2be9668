package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// square writes the packing of lines that are contiguous along the inner dimension, with plain stores of 16 or 8 bytes:
// dst[p*width+l] = src[l*line+p] for p < depth. depth is a positive multiple of the number of elements in 16 bytes. lines is four or two
// for float32, and two for float64.
func (k *kernels) square(lines int) {
	TEXT(fmt.Sprintf("%sx%d", k.name("square"), lines), 4, fmt.Sprintf(
		"func(depth int, src *%s, line int, dst *%s, width int)", k.typ(), k.typ()))
	Pragma("noescape")
	shift := operand.U8(map[int]int{4: 2, 8: 3}[k.elem])
	depth, src, line, three, dst, width := reg.RDX, reg.RSI, reg.R9, reg.R11, reg.RDI, reg.R10
	Load(Param("depth"), depth)
	Load(Param("src"), src)
	Load(Param("line"), line)
	SHLQ(shift, line)
	LEAQ(operand.Mem{Base: line, Index: line, Scale: 2}, three)
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(shift, width)
	x := func(i int) operand.Op { return registers[i] }
	from := []operand.Mem{{Base: src}, {Base: src, Index: line, Scale: 1}, {Base: src, Index: line, Scale: 2}, {Base: src, Index: three, Scale: 1}}
	Label("square")
	for i := range lines {
		k.load(from[i], x(i))
	}
	store := func(op func(...operand.Op), v int) {
		op(x(v), operand.Mem{Base: dst})
		ADDQ(width, dst)
	}
	low := func(ops ...operand.Op) { VMOVLPD(ops...) }
	high := func(ops ...operand.Op) { VMOVHPD(ops...) }
	switch {
	case k.elem == 8:
		VUNPCKLPD(x(1), x(0), x(4))
		VUNPCKHPD(x(1), x(0), x(5))
		store(VMOVUPD, 4)
		store(VMOVUPD, 5)
	case lines == 2:
		VUNPCKLPS(x(1), x(0), x(4))
		VUNPCKHPS(x(1), x(0), x(5))
		store(low, 4)
		store(high, 4)
		store(low, 5)
		store(high, 5)
	default:
		VUNPCKLPS(x(1), x(0), x(4))
		VUNPCKHPS(x(1), x(0), x(5))
		VUNPCKLPS(x(3), x(2), x(6))
		VUNPCKHPS(x(3), x(2), x(7))
		for i := range 2 {
			VUNPCKLPD(x(6+i), x(4+i), x(2*i))
			VUNPCKHPD(x(6+i), x(4+i), x(2*i+1))
		}
		for i := range 4 {
			store(VMOVUPS, i)
		}
	}
	ADDQ(operand.U8(16), src)
	SUBQ(operand.U8(16/k.elem), depth)
	JG(operand.LabelRef("square"))
	RET()
}
