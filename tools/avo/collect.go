package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// collect writes the packing of up to two vectors of adjacent lines, with an offset for each row: dst[p*width+l] =
// src[offsets[p]+l] for l < lines and p < depth. At levels without mask registers lines is exactly two vectors.
func (k *kernels) collect() {
	TEXT(k.name("collect"), 4, fmt.Sprintf(
		"func(lines, depth int, src *%s, offsets *int, dst *%s, width int)", k.typ(), k.typ()))
	Pragma("noescape")
	depth, src, offsets, dst, width, off := reg.RDX, reg.RSI, reg.R9, reg.RDI, reg.R10, reg.R11
	masks := []mask{{k: reg.K1}, {k: reg.K2}}
	if k.wide {
		Load(Param("lines"), reg.RBX)
		MOVQ(reg.RBX, reg.R12)
		k.masksFor(reg.RBX, masks...)
	}
	Load(Param("depth"), depth)
	Load(Param("src"), src)
	Load(Param("offsets"), offsets)
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[k.elem]), width)
	if k.wide {
		CMPQ(reg.R12, operand.U8(2*k.lanes()))
		JEQ(operand.LabelRef("whole"))
		CMPQ(reg.R12, operand.U8(k.lanes()))
		JLE(operand.LabelRef("one"))
	}
	loop := func(label string, vectors int, masked bool) {
		Label(label)
		MOVQ(operand.Mem{Base: offsets}, off)
		for v := range vectors {
			from := operand.Mem{Base: src, Index: off, Scale: uint8(k.elem), Disp: v * k.size()}
			to := operand.Mem{Base: dst, Disp: v * k.size()}
			if masked {
				k.loadMasked(from, masks[v], k.vec(v))
				k.storeMasked(k.vec(v), masks[v], to)
			} else {
				k.load(from, k.vec(v))
				k.store(k.vec(v), to)
			}
		}
		ADDQ(operand.U8(8), offsets)
		ADDQ(width, dst)
		DECQ(depth)
		JNZ(operand.LabelRef(label))
		VZEROUPPER()
		RET()
	}
	if k.wide {
		loop("two", 2, true)
		loop("one", 1, true)
	}
	loop("whole", 2, false)
}
