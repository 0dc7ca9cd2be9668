package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// philox writes Philox 4x32 with ten rounds. The four words of a block are in the low halves of the 64-bit lanes of four vectors;
// the high halves are unused until the end. Two sets of blocks are computed together, to keep the multipliers busy.
func (k *kernels) philox(c *numbers) {
	const sets = 2
	lanes := k.size() / 8
	TEXT(k.name("philox"), 4, "func(groups int, dst *uint32, key, counter uint64)")
	Pragma("noescape")
	Doc(k.name("philox") + " writes groups of 2·lanes blocks of four words, lanes being those of 64 bits, for counters from the given one on.")
	Load(Param("groups"), reg.RDX)
	Load(Param("dst"), reg.RDI)
	count, err := Param("counter").Resolve()
	if err != nil {
		panic(err)
	}
	counter, k0, k1 := k.vec(14), k.vec(12), k.vec(13)
	word := func(set, i int) reg.VecPhysical { return k.vec(6*set + i) }
	VPBROADCASTQ(count.Addr, counter)
	Load(Param("key"), reg.RSI)
	MOVQ(reg.RSI, reg.R8)
	SHRQ(operand.U8(32), reg.R8)
	VPADDQ(k.counters, counter, counter)
	Label("group")
	for i, half := range []reg.Register{reg.ESI, reg.R8L} {
		x := registers[12+i]
		VMOVD(half, x)
		VPBROADCASTD(x, k.vec(12+i))
	}
	for s := range sets {
		k.move(counter, word(s, 0))
		VPSRLQ(operand.U8(32), counter, word(s, 1))
		k.xor(word(s, 2), word(s, 2), word(s, 2))
		k.xor(word(s, 3), word(s, 3), word(s, 3))
		VPADDQ(c.bits64(uint64(lanes)), counter, counter)
	}
	for round := range 10 {
		if round > 0 {
			VPADDD(c.bits(0x9E3779B9), k0, k0)
			VPADDD(c.bits(0xBB67AE85), k1, k1)
		}
		for s := range sets {
			x0, x1, x2, x3, p0, p1 := word(s, 0), word(s, 1), word(s, 2), word(s, 3), word(s, 4), word(s, 5)
			VPMULUDQ(c.bits(0xD2511F53), x0, p0)
			VPMULUDQ(c.bits(0xCD9E8D57), x2, p1)
			VPSRLQ(operand.U8(32), p1, x0)
			k.xor(x0, x1, x0)
			k.xor(x0, k0, x0)
			VPSRLQ(operand.U8(32), p0, x2)
			k.xor(x2, x3, x2)
			k.xor(x2, k1, x2)
			k.move(p1, x1)
			k.move(p0, x3)
		}
	}
	for s := range sets {
		x0, x1, x2, x3, lo, hi := word(s, 0), word(s, 1), word(s, 2), word(s, 3), word(s, 4), word(s, 5)
		for _, pair := range [][2]reg.VecPhysical{{x0, x1}, {x2, x3}} {
			VPSLLQ(operand.U8(32), pair[0], pair[0])
			VPSRLQ(operand.U8(32), pair[0], pair[0])
			VPSLLQ(operand.U8(32), pair[1], pair[1])
			k.or(pair[0], pair[1], pair[0])
		}
		VPUNPCKLQDQ(x2, x0, lo)
		VPUNPCKHQDQ(x2, x0, hi)
		for b := range lanes {
			from := lo
			if b%2 == 1 {
				from = hi
			}
			to := operand.Mem{Base: reg.RDI, Disp: 16 * (s*lanes + b)}
			if k.wide {
				VEXTRACTI64X2(operand.U8(b/2), from, to)
			} else {
				VEXTRACTI128(operand.U8(b/2), from, to)
			}
		}
	}
	ADDQ(operand.U32(16*sets*lanes), reg.RDI)
	DECQ(reg.RDX)
	JNZ(operand.LabelRef("group"))
	VZEROUPPER()
	RET()
}

func (k *kernels) xor(a, b, to operand.Op) {
	if k.wide {
		VPXORD(b, a, to)
	} else {
		VPXOR(b, a, to)
	}
}

func (k *kernels) or(a, b, to operand.Op) {
	if k.wide {
		VPORD(b, a, to)
	} else {
		VPOR(b, a, to)
	}
}
