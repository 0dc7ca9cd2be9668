package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// poolShapes lists the widths and strides of windows that have specialised loops.
var poolShapes = [][2]int{{2, 1}, {3, 1}, {5, 1}, {2, 2}, {3, 2}, {3, 3}}

// soon is the prefetch distance of pool in lines.
const soon = 4

// pools writes the kernels of package window.
func pools(level *level) {
	level.masks()
	k := &kernels{level: level, elem: 4}
	places := k.phasePlaces()
	for _, s := range poolShapes {
		k.pool("poolMax", places, s[0], s[1])
		k.pool("poolSum", places, s[0], s[1])
	}
}

// phasePlaces emits a table that contains, for the strides two and three and each phase, the permutation indices that gather the
// elements phase, phase+stride, ...
func (k *kernels) phasePlaces() operand.Mem {
	table := GLOBL("phases", 8|16) // read only, no pointers
	at := 0
	for stride := 2; stride <= 3; stride++ {
		for phase := range stride {
			for i := range k.lanes() {
				DATA(at, operand.U32(uint32(stride*i+phase)))
				at += 4
			}
		}
	}
	return table
}

// pool writes the reduction of windows of rows x size elements: dst[y*dstRow+i] is the reduction of
// src[y*lineStep+r*srcRow+i*stride+t] over r < rows and t < size. The kernel of the maximum returns whether all elements were
// finite; if not, dst may lack a NaN.
//
// Elements are loaded in groups of stride vectors and reduced over the rows in memory order; then the phases of a group are
// separated.
func (k *kernels) pool(what string, places operand.Mem, size, stride int) {
	most := what == "poolMax"
	result := ""
	if most {
		result = " bool"
	}
	TEXT(fmt.Sprintf("%sx%dx%d", k.name(what), size, stride), 4, fmt.Sprintf(
		"func(lines, rows, cols int, dst *%s, dstRow int, src *%[1]s, srcRow, lineStep int)%s", k.typ(), result))
	Pragma("noescape")
	cols, dst, dstRow, src, srcRow, lineStep := reg.R8, reg.RDI, reg.R9, reg.RSI, reg.R10, reg.R11
	left, from, at, row, to := reg.R12, reg.R13, reg.RDX, reg.RBX, reg.R15
	for _, p := range []struct {
		name   string
		to     reg.GPPhysical
		stride bool
	}{{"cols", cols, false}, {"dst", dst, false}, {"dstRow", dstRow, true}, {"src", src, false}, {"srcRow", srcRow, true}, {"lineStep", lineStep, true}} {
		Load(Param(p.name), p.to)
		if p.stride {
			SHLQ(operand.U8(2), p.to)
		}
	}
	next := 0
	vec := func() reg.VecPhysical { next++; return k.vec(next - 1) }
	groups := (size + stride - 1) / stride
	sum, v, part := vec(), vec(), vec()
	var zero, start reg.VecPhysical
	var flags []reg.VecPhysical
	if most {
		zero, start, flags = vec(), vec(), []reg.VecPhysical{vec(), vec()}
		if k.wide {
			flags = append(flags, vec(), vec(), vec(), vec())
		}
		k.zero(zero)
		for _, flag := range flags {
			k.zero(flag)
		}
		k.constant(0xff800000, start)
	}
	phases := &phases{kernels: k, stride: stride, part: part}
	phases.prepare(places, vec)
	count := groups * stride
	next3 := k.wide && size == 3 && stride == 2 // tap 2 is tap 0 of the next window: one more element is enough
	if next3 {
		count = 3
	}
	accs := make([]reg.VecPhysical, count)
	for i := range accs {
		accs[i] = vec()
	}
	masks := make([]mask, count)
	for i := range masks {
		switch {
		case stride == 1 && i > 0:
			masks[i] = masks[0]
		case k.wide:
			masks[i] = mask{k: []reg.OpmaskPhysical{reg.K1, reg.K2, reg.K3, reg.K4}[i]}
		default:
			masks[i] = mask{v: vec()}
		}
	}
	store := mask{k: reg.K5, v: accs[0]}

	Label("column")
	MOVQ(cols, left)
	CMPQ(left, operand.U8(k.lanes()))
	JLE(operand.LabelRef("narrow"))
	MOVQ(operand.U32(k.lanes()), left)
	Label("narrow")
	for i := range masks {
		if stride == 1 && i > 0 {
			break
		}
		g, v := i/stride, i%stride
		beyond := min(size-g*stride, stride)
		if next3 {
			v, beyond = i, size
		}
		Comment("Elements of a vector that windows need.")
		IMUL3Q(operand.U8(stride), left, row)
		ADDQ(operand.I32(beyond-stride-v*k.lanes()), row)
		MOVQ(operand.I32(0), at)
		CMPQ(row, at)
		CMOVQLT(at, row)
		MOVQ(operand.I32(k.lanes()), at)
		CMPQ(row, at)
		CMOVQGT(at, row)
		k.masksFor(row, masks[i])
	}
	if k.wide {
		MOVQ(left, row)
		k.masksFor(row, store)
	}
	MOVQ(src, from)
	MOVQ(dst, to)
	Load(Param("lines"), left)
	Label("line")
	for _, acc := range accs {
		if most {
			k.move(start, acc)
		} else {
			k.zero(acc)
		}
	}
	MOVQ(from, at)
	Load(Param("rows"), row)
	Label("row")
	LEAQ(operand.Mem{Base: at, Index: lineStep, Scale: soon}, reg.RAX)
	for w := range stride {
		for b := 0; b < k.size(); b += 64 {
			PREFETCHT0(operand.Mem{Base: reg.RAX, Disp: w*k.size() + b})
		}
	}
	for i, acc := range accs {
		g, w := i/stride, i%stride
		if next3 {
			g, w = 0, i
		}
		k.loadMasked(operand.Mem{Base: at, Disp: 4*g*stride + w*k.size()}, masks[i], v)
		if most {
			VMAXPS(v, acc, acc)
			VFMADD231PS(v, zero, flags[i%len(flags)])
		} else {
			VADDPS(v, acc, acc)
		}
	}
	ADDQ(srcRow, at)
	DECQ(row)
	JNZ(operand.LabelRef("row"))
	for t := range size {
		to := v
		if t == 0 {
			to = sum
		}
		switch {
		case next3 && t == 2:
			VALIGND(operand.U8(1), part, accs[2], to)
		case next3 && t == 0:
			phases.pick(accs[:2], 0, part)
			k.move(part, sum)
		case next3:
			phases.pick(accs[:2], t, to)
		default:
			phases.pick(accs[t/stride*stride:][:stride], t%stride, to)
		}
		switch {
		case t == 0:
		case most:
			VMAXPS(v, sum, sum)
		default:
			VADDPS(v, sum, sum)
		}
	}
	if !k.wide {
		MOVQ(cols, row)
		MOVQ(operand.I32(k.lanes()), reg.RAX)
		CMPQ(row, reg.RAX)
		CMOVQGT(reg.RAX, row)
		k.masksFor(row, store)
	}
	k.storeMasked(sum, store, operand.Mem{Base: to})
	ADDQ(dstRow, to)
	ADDQ(lineStep, from)
	DECQ(left)
	JNZ(operand.LabelRef("line"))
	ADDQ(operand.I32(stride*k.size()), src)
	ADDQ(operand.U8(k.size()), dst)
	SUBQ(operand.U8(k.lanes()), cols)
	JG(operand.LabelRef("column"))
	if most {
		for _, flag := range flags[1:] {
			VADDPS(flag, flags[0], flags[0])
		}
		if k.wide {
			VCMPPS(operand.U8(3), flags[0], flags[0], reg.K1)
			KMOVW(reg.K1, reg.EAX)
		} else {
			VCMPPS(operand.U8(3), flags[0], flags[0], flags[0])
			VMOVMSKPS(flags[0], reg.EAX)
		}
		TESTL(reg.EAX, reg.EAX)
		SETEQ(reg.AL)
		Store(reg.AL, ReturnIndex(0))
	}
	VZEROUPPER()
	RET()
}

// phases separates groups of stride vectors into phases: phase p consists of the elements p, p+stride, ... of a group.
type phases struct {
	*kernels
	stride int
	part   reg.VecPhysical
	places []reg.VecPhysical // permutation indices, by phase
}

// third returns a bit mask of the lanes of a phase, with stride three, whose elements come from vector number from of the group
// or a later one.
func (p *phases) third(phase, from int) (bits int) {
	for i := range p.lanes() {
		if 3*i+phase >= from*p.lanes() {
			bits |= 1 << i
		}
	}
	return bits
}

func (p *phases) prepare(table operand.Mem, vec func() reg.VecPhysical) {
	if p.stride == 1 || p.stride == 2 && !p.wide {
		return
	}
	for phase := range p.stride {
		at := phase
		if p.stride == 3 {
			at += 2
		}
		v := vec()
		VMOVUPS(table.Offset(at*p.size()), v)
		p.places = append(p.places, v)
		if p.stride == 3 && p.wide {
			MOVL(operand.U32(uint32(p.third(phase, 2))), reg.EAX)
			KMOVW(reg.EAX, []reg.OpmaskPhysical{reg.K4, reg.K6, reg.K7}[phase])
		}
	}
}

// pick writes one phase of a group to a register.
func (p *phases) pick(group []reg.VecPhysical, phase int, to reg.VecPhysical) {
	switch {
	case p.stride == 1:
		p.move(group[0], to)
	case p.wide:
		p.move(p.places[phase], to)
		VPERMI2PS(group[1], group[0], to)
		if p.stride == 3 {
			VPERMPS(group[2], p.places[phase], []reg.OpmaskPhysical{reg.K4, reg.K6, reg.K7}[phase], to)
		}
	case p.stride == 2:
		VSHUFPS(operand.U8([]uint8{0x88, 0xdd}[phase]), group[1], group[0], to)
		VPERMPD(operand.U8(0xd8), to, to)
	default:
		VPERMPS(group[0], p.places[phase], to)
		for v := 1; v < 3; v++ {
			VPERMPS(group[v], p.places[phase], p.part)
			VBLENDPS(operand.U8(uint8(p.third(phase, v))), p.part, to, to)
		}
	}
}
