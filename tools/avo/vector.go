package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dot writes the products of a vector with rows of a matrix, one or four. The
// order of summation is the same for both.
func (k *kernels) dot(rows int) {
	TEXT(fmt.Sprintf("%sx%d", k.name("dot"), rows), 4, fmt.Sprintf(
		"func(n int, x, m *%s, row int, out *%s)", k.typ(), k.typ()))
	Pragma("noescape")
	n, x, m, row, three, out := reg.RDX, reg.RSI, reg.RDI, reg.R8, reg.R9, reg.R10
	tail := mask{reg.K1, k.vec(15)}
	Load(Param("n"), n)
	MOVQ(n, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Load(Param("x"), x)
	Load(Param("m"), m)
	Load(Param("row"), row)
	SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[k.elem]), row)
	LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, three)
	at := func(r, disp int) operand.Mem {
		place := operand.Mem{Base: m, Disp: disp}
		switch r {
		case 1, 2:
			place.Index, place.Scale = row, uint8(r)
		case 3:
			place.Index, place.Scale = three, 1
		}
		return place
	}
	sum := func(r, half int) reg.VecPhysical { return k.vec(4 + 2*r + half) }
	for r := range rows {
		k.zero(sum(r, 0))
		k.zero(sum(r, 1))
	}
	SUBQ(operand.U8(2*k.lanes()), n)
	JLT(operand.LabelRef("one"))
	Label("two")
	for half := range 2 {
		k.load(operand.Mem{Base: x, Disp: half * k.size()}, k.vec(half))
		for r := range rows {
			k.fma(at(r, half*k.size()), k.vec(half), sum(r, half))
		}
	}
	ADDQ(operand.I32(2*k.size()), x)
	ADDQ(operand.I32(2*k.size()), m)
	SUBQ(operand.U8(2*k.lanes()), n)
	JGE(operand.LabelRef("two"))
	Label("one")
	ADDQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	k.load(operand.Mem{Base: x}, k.vec(0))
	for r := range rows {
		k.fma(at(r, 0), k.vec(0), sum(r, 0))
	}
	ADDQ(operand.U8(k.size()), x)
	ADDQ(operand.U8(k.size()), m)
	SUBQ(operand.U8(k.lanes()), n)
	Label("tail")
	ADDQ(operand.U8(k.lanes()), n)
	JZ(operand.LabelRef("reduce"))
	k.loadMasked(operand.Mem{Base: x}, tail, k.vec(0))
	for r := range rows {
		k.loadMasked(at(r, 0), tail, k.vec(1))
		k.fma(k.vec(1), k.vec(0), sum(r, 1))
	}
	Label("reduce")
	Load(Param("out"), out)
	for r := range rows {
		k.reduce(sum(r, 0), sum(r, 1), operand.Mem{Base: out, Disp: r * k.elem})
	}
	VZEROUPPER()
	RET()
}

// reduce stores the sum of all lanes of two vectors. It uses vector 2.
func (k *kernels) reduce(v, w reg.VecPhysical, to operand.Mem) {
	k.add(w, v, v)
	x, y := v.AsX(), v.AsY()
	if k.wide {
		VEXTRACTF64X4(operand.U8(1), v, reg.Y2)
		k.add(reg.Y2, y, y)
	}
	VEXTRACTF128(operand.U8(1), y, reg.X2)
	k.add(reg.X2, x, x)
	if k.elem == 4 {
		VHADDPS(x, x, x)
		VHADDPS(x, x, x)
		VMOVSS(x, to)
	} else {
		VHADDPD(x, x, x)
		VMOVSD(x, to)
	}
}

// axpy writes the sum of a vector and multiples of other vectors, one or
// eight, added in order: y += x[0]*m[0] + x[1]*m[1] ...
func (k *kernels) axpy(cols int) {
	TEXT(fmt.Sprintf("%sx%d", k.name("axpy"), cols), 4, fmt.Sprintf(
		"func(n int, y, x, m *%s, col int)", k.typ()))
	Pragma("noescape")
	n, y, m, col := reg.RDX, reg.RDI, reg.RSI, reg.R8
	tail := mask{reg.K1, k.vec(15)}
	Load(Param("n"), n)
	MOVQ(n, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Load(Param("y"), y)
	Load(Param("x"), reg.RAX)
	Load(Param("m"), m)
	Load(Param("col"), col)
	SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[k.elem]), col)
	for c := range cols {
		k.broadcast(operand.Mem{Base: reg.RAX, Disp: c * k.elem}, k.vec(4+c))
	}
	places := k.rowPlaces(cols, m, col)
	SUBQ(operand.U8(k.lanes()), n)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(operand.Mem{Base: y}, k.vec(0))
	for c := range cols {
		k.fma(places.at[c], k.vec(4+c), k.vec(0))
	}
	k.store(k.vec(0), operand.Mem{Base: y})
	ADDQ(operand.U8(k.size()), y)
	for _, base := range places.bases {
		ADDQ(operand.U8(k.size()), base)
	}
	SUBQ(operand.U8(k.lanes()), n)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(k.lanes()), n)
	JZ(operand.LabelRef("done"))
	k.loadMasked(operand.Mem{Base: y}, tail, k.vec(0))
	for c := range cols {
		k.loadMasked(places.at[c], tail, k.vec(1))
		k.fma(k.vec(1), k.vec(4+c), k.vec(0))
	}
	k.storeMasked(k.vec(0), tail, operand.Mem{Base: y})
	Label("done")
	VZEROUPPER()
	RET()
}
