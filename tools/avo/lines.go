package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stride is an operand of a loop over whole vectors: its name and the size of an element in bytes.
type stride struct {
	name string
	elem int
}

// fetchAhead is the prefetch distance in bytes of loops that only read, or that write with non-temporal stores.
const fetchAhead = 6 << 10

// fetchBeside is the prefetch distance in bytes of loops over short rows that are far apart. The elements after such a row are
// read soon.
const fetchBeside = 512

// whole writes a loop over n elements, a positive multiple of the number of lanes. body computes one vector; at contains the
// addresses of the operands, in their order.
func (k *kernels) whole(operands []stride, body func(at []operand.Mem)) {
	places := []reg.GPPhysical{reg.RDI, reg.RSI, reg.R8, reg.R9}[:len(operands)]
	Load(Param("n"), reg.RDX)
	at := make([]operand.Mem, len(operands))
	for i, o := range operands {
		Load(Param(o.name), places[i])
		at[i] = operand.Mem{Base: places[i]}
	}
	Label("vector")
	body(at)
	for i, o := range operands {
		ADDQ(operand.I32(o.elem*k.lanes()), places[i])
	}
	SUBQ(operand.U8(k.lanes()), reg.RDX)
	JNE(operand.LabelRef("vector"))
}

func (k *kernels) done() {
	VZEROUPPER()
	RET()
}

// half returns register i at half the size of a vector.
func (k *kernels) half(i int) operand.Op {
	if k.wide {
		return registers[i].AsY()
	}
	return registers[i]
}

// storage writes conversions between float32 and other types of storage, copies with non-temporal stores and with prefetching,
// and selection by bytes.
func (k *kernels) storage(c *numbers) {
	x, t := k.vec(0), k.vec(1)
	convert := func(name, from, to string, fromSize, toSize int, body func(from, to operand.Mem)) {
		TEXT(k.name(name), 4, "func(n int, dst *"+to+", x *"+from+")")
		Pragma("noescape")
		k.whole([]stride{{"dst", toSize}, {"x", fromSize}}, func(at []operand.Mem) { body(at[1], at[0]) })
		k.done()
	}
	convert("fromF16", "uint16", "float32", 2, 4, func(from, to operand.Mem) {
		VCVTPH2PS(from, x)
		k.store(x, to)
	})
	convert("toF16", "float32", "uint16", 4, 2, func(from, to operand.Mem) {
		k.load(from, x)
		VCVTPS2PH(operand.U8(0), x, to)
	})
	k.toF16NonTemporal()
	convert("fromBF16", "uint16", "float32", 2, 4, func(from, to operand.Mem) {
		VPMOVZXWD(from, x)
		VPSLLD(operand.U8(16), x, x)
		k.store(x, to)
	})
	convert("toBF16", "float32", "uint16", 4, 2, func(from, to operand.Mem) {
		k.load(from, x)
		VPSRLD(operand.U8(16), x, t)
		VANDPS(c.bits(1), t, k.vec(2))
		VPADDD(c.bits(0x7fff), k.vec(2), k.vec(2))
		VPADDD(x, k.vec(2), k.vec(2))
		VPSRLD(operand.U8(16), k.vec(2), k.vec(2))
		VORPS(c.bits(0x40), t, t)
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(3), x, x, mask) })
		k.blend(t, k.vec(2), x)
		if k.wide {
			VPMOVDW(x, to)
			return
		}
		VPACKUSDW(x, x, x)
		VPERMQ(operand.U8(0x08), x, x)
		VMOVUPS(k.half(0), to)
	})
	convert("toI32", "float32", "int32", 4, 4, func(from, to operand.Mem) {
		Comment("Numbers out of range give the least integer: right for negative ones.")
		k.load(from, x)
		VCVTTPS2DQ(x, t)
		VMOVUPS(c.bits(1<<31-1), k.vec(2))
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(13), c.of(1<<31), x, mask) })
		k.blend(k.vec(2), t, t)
		k.zero(k.vec(2))
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(3), x, x, mask) })
		k.blend(k.vec(2), t, t)
		k.store(t, to)
	})
	convert("fromI32", "int32", "float32", 4, 4, func(from, to operand.Mem) {
		VCVTDQ2PS(from, x)
		k.store(x, to)
	})
	convert("fromU8", "uint8", "float32", 1, 4, func(from, to operand.Mem) {
		VPMOVZXBD(from, x)
		VCVTDQ2PS(x, x)
		k.store(x, to)
	})
	convert("fromI8", "int8", "float32", 1, 4, func(from, to operand.Mem) {
		VPMOVSXBD(from, x)
		VCVTDQ2PS(x, x)
		k.store(x, to)
	})

	TEXT(k.name("stream"), 4, "func(n int, dst, x *float32)")
	Pragma("noescape")
	Doc(k.name("stream") + " copies with non-temporal stores; dst is aligned to a vector.")
	k.whole([]stride{{"dst", 4}, {"x", 4}}, func(at []operand.Mem) {
		k.load(at[1], x)
		VMOVNTPS(x, at[0])
	})
	k.done()

	TEXT(k.name("fence"), 4, "func()")
	Doc(k.name("fence") + " makes what was stored with non-temporal stores visible to other threads.")
	SFENCE()
	RET()

	TEXT(k.name("streamAhead"), 4, "func(n int, dst, x, next, other *float32)")
	Pragma("noescape")
	Doc(k.name("streamAhead") + " is stream that meanwhile fetches as many bytes from next and from other.")
	k.whole([]stride{{"dst", 4}, {"x", 4}, {"next", 4}, {"other", 4}}, func(at []operand.Mem) {
		PREFETCHT0(at[2])
		PREFETCHT0(at[3])
		k.load(at[1], x)
		VMOVNTPS(x, at[0])
	})
	k.done()

	TEXT(k.name("copyAhead"), 4, "func(n int, dst, x, next *float32)")
	Pragma("noescape")
	Doc(k.name("copyAhead") + " copies and meanwhile fetches as many bytes from next.")
	k.whole([]stride{{"dst", 4}, {"x", 4}, {"next", 4}}, func(at []operand.Mem) {
		PREFETCHT0(at[2])
		k.load(at[1], x)
		k.store(x, at[0])
	})
	k.done()

	k.choices()
}

// quantized writes the conversions to and from bytes by a scale and a zero point.
func (k *kernels) quantized(c *numbers) {
	x := k.vec(0)
	TEXT(k.name("quantize"), 4, "func(n int, dst *uint8, x *float32, scale, zero, lo, hi float32)")
	Pragma("noescape")
	Doc(k.name("quantize") + " divides by scale, rounds to even, adds zero, and brings the sum into [lo, hi]; NaN counts as 0.")
	for i, name := range []string{"scale", "zero", "lo", "hi"} {
		k.broadcastParam(name, k.vec(8+i))
	}
	k.whole([]stride{{"dst", 1}, {"x", 4}}, func(at []operand.Mem) {
		k.load(at[1], x)
		VDIVPS(k.vec(8), x, x)
		k.round(0, x)
		k.zero(k.vec(1))
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(3), x, x, mask) })
		k.blend(k.vec(1), x, x)
		VADDPS(k.vec(9), x, x)
		VMAXPS(k.vec(10), x, x)
		VMINPS(k.vec(11), x, x)
		VCVTPS2DQ(x, x)
		if k.wide {
			VPMOVDB(x, at[0])
			return
		}
		VANDPS(c.bits(0xff), x, x)
		VPACKUSDW(x, x, x)
		VPACKUSWB(x, x, x)
		VEXTRACTI128(operand.U8(1), x, k.half(1))
		VPUNPCKLDQ(k.half(1), k.half(0), k.half(0))
		VMOVQ(k.half(0), at[0])
	})
	k.done()
	for _, p := range []struct {
		name, typ string
		widen     func(...operand.Op)
	}{{"dequantizeU8", "uint8", VPMOVZXBD}, {"dequantizeI8", "int8", VPMOVSXBD}} {
		TEXT(k.name(p.name), 4, "func(n int, dst *float32, x *"+p.typ+", scale float32, zero int32)")
		Pragma("noescape")
		k.broadcastParam("scale", k.vec(8))
		k.broadcastParam("zero", k.vec(9))
		k.whole([]stride{{"dst", 4}, {"x", 1}}, func(at []operand.Mem) {
			p.widen(at[1], x)
			VPSUBD(k.vec(9), x, x)
			VCVTDQ2PS(x, x)
			VMULPS(k.vec(8), x, x)
			k.store(x, at[0])
		})
		k.done()
	}
}

// lineSums writes reductions of a line of n elements, a positive multiple of the number of lanes, to one partial result per lane,
// or to half as many in float64. It also writes the elementwise loops standard and linear.
func (k *kernels) lineSums(c *numbers) {
	x, y := k.vec(0), k.vec(1)
	out := func(vectors ...int) {
		Load(Param("out"), reg.RDI)
		for i, v := range vectors {
			k.store(k.vec(v), operand.Mem{Base: reg.RDI, Disp: i * k.size()})
		}
		k.done()
	}
	TEXT(k.name("sumLine"), 4, "func(n int, x *float32, out *float32)")
	Pragma("noescape")
	Doc(k.name("sumLine") + " takes a multiple of four vectors.")
	for i := range 4 {
		k.zero(k.vec(4 + i))
	}
	Load(Param("n"), reg.RDX)
	Load(Param("x"), reg.RSI)
	Label("vector")
	for at := 0; at < 4*k.size(); at += 64 {
		PREFETCHT0(operand.Mem{Base: reg.RSI, Disp: fetchAhead + at})
	}
	for i := range 4 {
		VADDPS(operand.Mem{Base: reg.RSI, Disp: i * k.size()}, k.vec(4+i), k.vec(4+i))
	}
	ADDQ(operand.I32(4*k.size()), reg.RSI)
	SUBQ(operand.U8(4*k.lanes()), reg.RDX)
	JNE(operand.LabelRef("vector"))
	VADDPS(k.vec(5), k.vec(4), k.vec(4))
	VADDPS(k.vec(7), k.vec(6), k.vec(6))
	VADDPS(k.vec(6), k.vec(4), k.vec(4))
	out(4)

	Comment("Keys order as integers like the numbers do, the zeros too; a NaN is seen apart from them.")
	for _, p := range []struct {
		name string
		join func(...operand.Op)
		none uint32
	}{{"maxLine", VPMAXSD, 0x807fffff}, {"minLine", VPMINSD, 0x7f800000}} {
		TEXT(k.name(p.name), 4, "func(n int, x *float32, out *int32)")
		Pragma("noescape")
		Doc(k.name(p.name) + " gives keys, then words of which one is not zero if there is a NaN.")
		VMOVUPS(c.bits(p.none), k.vec(4))
		VMOVUPS(c.bits(p.none), k.vec(5))
		k.zero(k.vec(6))
		k.whole([]stride{{"x", 4}}, func(at []operand.Mem) {
			k.load(at[0], x)
			VPSRAD(operand.U8(31), x, y)
			VANDPS(c.bits(1<<31-1), y, y)
			VXORPS(x, y, y)
			p.join(y, k.vec(4), k.vec(4))
			Comment("Above infinity without its sign: NaN.")
			VANDPS(c.bits(1<<31-1), x, x)
			VMOVUPS(c.bits(infinity), y)
			VPSUBD(x, y, y)
			VORPS(y, k.vec(6), k.vec(6))
		})
		VPSRLD(operand.U8(31), k.vec(6), k.vec(6))
		out(4, 6)
	}

	for _, p := range []struct {
		name, params, doc string
	}{{"total", "x *float32, out *float64", "sums numbers"},
		{"squares", "x *float32, mean float32, out *float64", "sums the squares of what numbers differ from mean by"}} {
		TEXT(k.name(p.name), 4, "func(n int, "+p.params+")")
		Pragma("noescape")
		Doc(k.name(p.name) + " " + p.doc + ".")
		if p.name == "squares" {
			k.broadcastParam("mean", k.vec(8))
		}
		for i := range 4 {
			k.zero(k.vec(4 + i))
		}
		step := func(at operand.Mem, sum int) {
			if p.name == "total" {
				for h := range 2 {
					VCVTPS2PD(at.Offset(h*k.size()/2), k.vec(h))
					VADDPD(k.vec(h), k.vec(sum+h), k.vec(sum+h))
				}
				return
			}
			k.load(at, x)
			VSUBPS(k.vec(8), x, x)
			if k.wide {
				VEXTRACTF64X4(operand.U8(1), x, k.half(1))
			} else {
				VEXTRACTF128(operand.U8(1), x, k.half(1))
			}
			VCVTPS2PD(k.half(0), k.vec(2))
			VCVTPS2PD(k.half(1), k.vec(3))
			VFMADD231PD(k.vec(2), k.vec(2), k.vec(sum))
			VFMADD231PD(k.vec(3), k.vec(3), k.vec(sum+1))
		}
		Comment("Two vectors at a time have four sums, which do not wait for each other.")
		at := operand.Mem{Base: reg.RSI}
		Load(Param("n"), reg.RDX)
		Load(Param("x"), reg.RSI)
		SUBQ(operand.U8(2*k.lanes()), reg.RDX)
		JLT(operand.LabelRef("rest"))
		Label("two")
		step(at, 4)
		step(at.Offset(k.size()), 6)
		ADDQ(operand.I32(2*k.size()), reg.RSI)
		SUBQ(operand.U8(2*k.lanes()), reg.RDX)
		JGE(operand.LabelRef("two"))
		Label("rest")
		ADDQ(operand.U8(2*k.lanes()), reg.RDX)
		JZ(operand.LabelRef("done"))
		step(at, 4)
		Label("done")
		VADDPD(k.vec(5), k.vec(4), k.vec(4))
		VADDPD(k.vec(7), k.vec(6), k.vec(6))
		VADDPD(k.vec(6), k.vec(4), k.vec(4))
		out(4)
	}

	TEXT(k.name("standard"), 4, "func(n int, dst, x *float32, mean, factor float32)")
	Pragma("noescape")
	Doc(k.name("standard") + " sets dst to (x-mean)*factor.")
	k.broadcastParam("mean", k.vec(8))
	k.broadcastParam("factor", k.vec(9))
	k.loop([]string{"x"}, true, func() {
		VSUBPS(k.vec(8), x, x)
		VMULPS(k.vec(9), x, x)
	})
	TEXT(k.name("linear"), 4, "func(n int, dst, x *float32, factor, bias float32)")
	Pragma("noescape")
	Doc(k.name("linear") + " sets dst to x*factor+bias.")
	k.broadcastParam("factor", k.vec(8))
	k.broadcastParam("bias", k.vec(9))
	k.loop([]string{"x"}, true, func() { VFMADD213PS(k.vec(9), k.vec(8), x) })
}
