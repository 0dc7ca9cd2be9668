package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fetch is the prefetch distance of strip in rows.
const fetch = 8

// strip writes the packing of up to two vectors of adjacent lines: dst[p*width+l] = src[p*row+l] for l < lines and p < depth. At
// levels without mask registers lines is exactly two vectors.
func (k *kernels) strip() {
	TEXT(k.name("strip"), 4, fmt.Sprintf(
		"func(lines, depth int, src *%s, row int, dst *%s, width int)", k.typ(), k.typ()))
	Pragma("noescape")
	shift := operand.U8(map[int]int{4: 2, 8: 3}[k.elem])
	depth, src, row, dst, width := reg.RDX, reg.RSI, reg.R9, reg.RDI, reg.R10
	masks := []mask{{k: reg.K1}, {k: reg.K2}}
	Load(Param("depth"), depth)
	Load(Param("src"), src)
	Load(Param("row"), row)
	SHLQ(shift, row)
	Load(Param("dst"), dst)
	Load(Param("width"), width)
	SHLQ(shift, width)
	if k.wide {
		Load(Param("lines"), reg.RBX)
		MOVQ(reg.RBX, reg.R11)
		k.masksFor(reg.RBX, masks...)
		CMPQ(reg.R11, operand.U8(k.lanes()))
		JLE(operand.LabelRef("one"))
	}
	loop := func(label string, vectors int) {
		Label(label)
		for at := 0; at < vectors*k.size(); at += 64 {
			PREFETCHT0(operand.Mem{Base: src, Index: row, Scale: fetch, Disp: at})
		}
		for v := range vectors {
			from, to := operand.Mem{Base: src, Disp: v * k.size()}, operand.Mem{Base: dst, Disp: v * k.size()}
			if k.wide {
				k.loadMasked(from, masks[v], k.vec(v))
				k.storeMasked(k.vec(v), masks[v], to)
			} else {
				k.load(from, k.vec(v))
				k.store(k.vec(v), to)
			}
		}
		ADDQ(row, src)
		ADDQ(width, dst)
		DECQ(depth)
		JNZ(operand.LabelRef(label))
		VZEROUPPER()
		RET()
	}
	loop("two", 2)
	if k.wide {
		loop("one", 1)
	}
}
