package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// depthwise writes the kernels of package depthwise, at levels with mask registers.
func depthwise(level *level) {
	if !level.wide {
		return
	}
	level.parting()
	zeros := GLOBL("zeros", 8|16) // read only, no pointers
	for i := range 32 {
		DATA(8*i, operand.U64(0))
	}
	k := &kernels{level: level, elem: 4}
	for _, size := range []int{3, 5} {
		for _, stride := range []int{1, 2} {
			k.depthwise(zeros, size, stride)
		}
	}
}

// The fields of depthwise.call, in words of 8 bytes.
const (
	dwChannels = iota
	dwDst
	dwSrc
	dwWeights
	dwBias
	dwMasks
	dwRows
	dwInRows
	dwInRow
	dwOutRow
	dwInChannel
	dwOutChannel
	dwTop
	dwLeft
	dwBlocks
	dwClamp
)

// depthwise writes the convolution of planes with one size x size kernel each, whose weights stay in registers. Elements around a
// plane are zero: masks exclude them within a row, and rows outside are read from a row of zeros.
func (k *kernels) depthwise(zeros operand.Mem, size, stride int) {
	TEXT(fmt.Sprintf("%sx%dx%d", k.name("planes"), size, stride), 4, "func(c *byte)")
	Pragma("noescape")
	c, src, dst, from, to := reg.R15, reg.RSI, reg.RDI, reg.RDX, reg.RBX
	row, left, ptr, none := reg.RCX, reg.R8, reg.R9, reg.R10
	masks, inRow, outRow, inRows := reg.R11, reg.R12, reg.R13, reg.R14
	field := func(i int) operand.Mem { return operand.Mem{Base: c, Disp: 8 * i} }
	local := AllocLocal(32)
	channels, weights, bias, blocks := local, local.Offset(8), local.Offset(16), local.Offset(24)
	weight := func(y, x int) reg.VecPhysical { return k.vec(y*size + x) }
	Load(Param("c"), c)
	for _, l := range []struct {
		field int
		to    operand.Mem
	}{{dwChannels, channels}, {dwWeights, weights}, {dwBias, bias}} {
		MOVQ(field(l.field), reg.RAX)
		MOVQ(reg.RAX, l.to)
	}
	MOVQ(field(dwSrc), src)
	MOVQ(field(dwDst), dst)
	MOVQ(field(dwInRow), inRow)
	MOVQ(field(dwOutRow), outRow)
	MOVQ(field(dwInRows), inRows)
	LEAQ(zeros, none)

	Label("channel")
	MOVQ(weights, reg.RAX)
	for i := range size * size {
		k.broadcast(operand.Mem{Base: reg.RAX, Disp: 4 * i}, weight(i/size, i%size))
	}
	ADDQ(operand.I32(4*size*size), reg.RAX)
	MOVQ(reg.RAX, weights)
	MOVQ(field(dwBlocks), reg.RAX)
	MOVQ(reg.RAX, blocks)
	MOVQ(field(dwMasks), masks)
	MOVQ(field(dwLeft), reg.RAX) // an offset in bytes, at most zero
	LEAQ(operand.Mem{Base: src, Index: reg.RAX, Scale: 1}, from)
	MOVQ(dst, to)

	Label("block")
	MOVQ(field(dwTop), row)
	MOVQ(row, ptr)
	IMULQ(inRow, ptr)
	ADDQ(from, ptr)
	MOVQ(field(dwRows), left)
	if stride == 1 {
		k.depthwiseRows(field(dwClamp), bias, masks, row, left, ptr, none, to, inRow, outRow, inRows, size, weight)
	} else {
		k.depthwiseHalves(field(dwClamp), bias, masks, row, left, ptr, none, to, inRow, outRow, inRows, size, weight)
	}
	MOVQ(field(dwRows), reg.RAX)
	IMULQ(outRow, reg.RAX)
	SUBQ(reg.RAX, to)
	ADDQ(operand.U8(k.size()), to)
	ADDQ(operand.I32(stride*k.size()), from)
	ADDQ(operand.U8(16), masks)
	DECQ(blocks)
	JNZ(operand.LabelRef("block"))

	ADDQ(field(dwInChannel), src)
	ADDQ(field(dwOutChannel), dst)
	ADDQ(operand.U8(4), bias)
	DECQ(channels)
	JNZ(operand.LabelRef("channel"))
	VZEROUPPER()
	RET()
}

// pickRow sets RAX to the address of a row of the source, or to the address of the row of zeros if the row is outside.
func pickRow(row, inRows, ptr, none reg.GPPhysical) {
	MOVQ(ptr, reg.RAX)
	CMPQ(row, inRows)
	CMOVQCC(none, reg.RAX) // compared as unsigned numbers: rows above the plane, which are negative, are large
}

// depthwiseRows writes the rows of a block for stride one. Each row of the source is added to the sums of all output rows that it
// contributes to; size is their number.
func (k *kernels) depthwiseRows(clamp, bias operand.Mem, masks, row, left, ptr, none, to, inRow, outRow, inRows reg.GPPhysical, size int, weight func(y, x int) reg.VecPhysical) {
	taps := []reg.OpmaskPhysical{reg.K1, reg.K2, reg.K3, reg.K4, reg.K5}[:size]
	out := mask{k: reg.K6}
	for x, m := range taps {
		KMOVW(operand.Mem{Base: masks, Disp: 2 * x}, m)
	}
	KMOVW(operand.Mem{Base: masks, Disp: 14}, out.k)
	// The first sum belongs to the output row that is completed first.
	sum := func(y int) reg.VecPhysical { return k.vec(size*size + y) }
	v := k.vec(size*size + size)
	begin := func(y int) {
		MOVQ(bias, reg.RAX)
		k.broadcast(operand.Mem{Base: reg.RAX}, sum(y))
	}
	for y := range size {
		begin(y)
	}
	add := func(whole bool) {
		pickRow(row, inRows, ptr, none)
		for x, m := range taps {
			k.loadMasked(operand.Mem{Base: reg.RAX, Disp: 4 * x}, mask{k: m}, v)
			for y := range size {
				k.fma(v, weight(y, x), sum(size-1-y))
			}
		}
		INCQ(row)
		ADDQ(inRow, ptr)
		if whole {
			k.endRow(clamp, sum(0), v, out, to, outRow)
		}
		for y := range size - 1 {
			k.move(sum(y+1), sum(y))
		}
		begin(size - 1)
	}
	for range size - 1 { // the first rows complete no output row: their first sums are dropped
		add(false)
	}
	Label("row")
	add(true)
	DECQ(left)
	JNZ(operand.LabelRef("row"))
}

// depthwiseHalves writes the rows of a block for stride two, from the elements at even and odd columns.
func (k *kernels) depthwiseHalves(clamp, bias operand.Mem, masks, row, left, ptr, none, to, inRow, outRow, inRows reg.GPPhysical, size int, weight func(y, x int) reg.VecPhysical) {
	loads := []reg.OpmaskPhysical{reg.K1, reg.K2, reg.K3, reg.K4, reg.K5, reg.K6}[:2*((size+1)/2)]
	out := mask{k: reg.K7}
	for i, m := range loads {
		KMOVW(operand.Mem{Base: masks, Disp: 2 * i}, m)
	}
	KMOVW(operand.Mem{Base: masks, Disp: 14}, out.k)
	at := size * size
	even, odd, sum, low, high, part, other := k.vec(at), k.vec(at+1), k.vec(at+2), k.vec(at+3), k.vec(at+4), k.vec(at+5), k.vec(at+6)
	VMOVDQU32(k.places, even)
	VMOVDQU32(k.places.Offset(64), odd)
	Label("row")
	MOVQ(bias, reg.RAX)
	k.broadcast(operand.Mem{Base: reg.RAX}, sum)
	for y := range size {
		pickRow(row, inRows, ptr, none)
		for x := 0; x < size; x += 2 {
			k.loadMasked(operand.Mem{Base: reg.RAX, Disp: 4 * x}, mask{k: loads[x]}, low)
			k.loadMasked(operand.Mem{Base: reg.RAX, Disp: 4*x + 64}, mask{k: loads[x+1]}, high)
			k.move(even, part)
			VPERMI2PS(high, low, part)
			k.fma(part, weight(y, x), sum)
			if x+1 < size {
				k.move(odd, other)
				VPERMI2PS(high, low, other)
				k.fma(other, weight(y, x+1), sum)
			}
		}
		INCQ(row)
		ADDQ(inRow, ptr)
	}
	k.endRow(clamp, sum, low, out, to, outRow)
	for range size - 2 {
		DECQ(row)
		SUBQ(inRow, ptr)
	}
	DECQ(left)
	JNZ(operand.LabelRef("row"))
}

// endRow clamps a sum to the bounds at clamp and stores it.
func (k *kernels) endRow(clamp operand.Mem, sum, v reg.VecPhysical, out mask, to, outRow reg.GPPhysical) {
	k.broadcast(clamp, v)
	VMAXPS(sum, v, sum)
	k.broadcast(clamp.Offset(4), v)
	VMINPS(sum, v, sum)
	k.storeMasked(sum, out, operand.Mem{Base: to})
	ADDQ(outRow, to)
}
