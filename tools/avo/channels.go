package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// standardRows writes a normalisation with one set of parameters per row: dst is (x-mean)*factor+bias. With non-temporal stores, rows
// consist of whole vectors and dst is aligned to the vector size.
func (k *kernels) standardRows(nonTemporal bool) {
	name := "standardRows"
	if nonTemporal {
		name += "NonTemporal"
	}
	TEXT(k.name(name), 4, "func(rows, cols int, dst, x, mean, factor, bias *float32)")
	Pragma("noescape")
	Doc(k.name(name) + " sets each row of dst to (x-mean)*factor+bias.")
	rows, cols, left, dst, x, v := reg.R8, reg.R9, reg.RDX, reg.RDI, reg.RSI, k.vec(0)
	tail := mask{reg.K1, k.vec(15)}
	params := []reg.GPPhysical{reg.R10, reg.R11, reg.R12}
	Load(Param("rows"), rows)
	Load(Param("cols"), cols)
	MOVQ(cols, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	for i, p := range []string{"mean", "factor", "bias"} {
		Load(Param(p), params[i])
	}
	body := func() {
		VSUBPS(k.vec(8), v, v)
		VFMADD213PS(k.vec(10), k.vec(9), v)
	}
	Label("row")
	for i, p := range params {
		k.broadcast(operand.Mem{Base: p}, k.vec(8+i))
		ADDQ(operand.U8(4), p)
	}
	MOVQ(cols, left)
	SUBQ(operand.U8(k.lanes()), left)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	if nonTemporal {
		PREFETCHT0(operand.Mem{Base: x, Disp: fetchAhead})
	}
	k.load(operand.Mem{Base: x}, v)
	body()
	if nonTemporal {
		VMOVNTPS(v, operand.Mem{Base: dst})
	} else {
		k.store(v, operand.Mem{Base: dst})
	}
	ADDQ(operand.U8(k.size()), x)
	ADDQ(operand.U8(k.size()), dst)
	SUBQ(operand.U8(k.lanes()), left)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(k.lanes()), left)
	JZ(operand.LabelRef("next"))
	k.loadMasked(operand.Mem{Base: x}, tail, v)
	body()
	k.storeMasked(v, tail, operand.Mem{Base: dst})
	LEAQ(operand.Mem{Base: x, Index: left, Scale: 4}, x)
	LEAQ(operand.Mem{Base: dst, Index: left, Scale: 4}, dst)
	Label("next")
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	k.done()
}

// toF16NonTemporal writes the rounding to binary16 with non-temporal stores: n is a multiple of two vectors and dst is aligned to the
// vector size.
func (k *kernels) toF16NonTemporal() {
	TEXT(k.name("toF16NonTemporal"), 4, "func(n int, dst *uint16, x *float32)")
	Pragma("noescape")
	Doc(k.name("toF16NonTemporal") + " takes a multiple of two vectors.")
	n, dst, x := reg.RDX, reg.RDI, reg.RSI
	Load(Param("n"), n)
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Label("vector")
	for i := range 2 {
		PREFETCHT0(operand.Mem{Base: x, Disp: fetchAhead + i*k.size()})
		k.load(operand.Mem{Base: x, Disp: i * k.size()}, k.vec(i))
		VCVTPS2PH(operand.U8(0), k.vec(i), k.half(i))
	}
	if k.wide {
		VINSERTF64X4(operand.U8(1), k.half(1), k.vec(0), k.vec(0))
	} else {
		VINSERTF128(operand.U8(1), k.half(1), k.vec(0), k.vec(0))
	}
	VMOVNTPS(k.vec(0), operand.Mem{Base: dst})
	ADDQ(operand.I32(2*k.size()), x)
	ADDQ(operand.I32(k.size()), dst)
	SUBQ(operand.U8(2*k.lanes()), n)
	JNE(operand.LabelRef("vector"))
	k.done()
}
