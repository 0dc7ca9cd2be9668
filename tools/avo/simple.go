package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unary writes a loop over one operand whose body works on vector 0.
func (k *kernels) unary(name string, body func()) {
	TEXT(k.name(name), 4, "func(n int, dst, x *float32)")
	Pragma("noescape")
	k.loop([]string{"x"}, true, body)
}

// unaryBy is like unary, with another parameter, in vector 8.
func (k *kernels) unaryBy(name, param string, body func()) {
	TEXT(k.name(name), 4, "func(n int, dst, x *float32, "+param+" float32)")
	Pragma("noescape")
	k.broadcastParam(param, k.vec(8))
	k.loop([]string{"x"}, true, body)
}

// round writes the rounding of v to an integer: 0 to nearest even, 1 down, 2 up, 3 toward zero.
func (k *kernels) round(mode uint8, v operand.Op) {
	if k.wide {
		VRNDSCALEPS(operand.U8(mode), v, v)
	} else {
		VROUNDPS(operand.U8(mode), v, v)
	}
}

// simple writes the loops of functions that consist of one or two instructions.
func (k *kernels) simple(c *numbers) {
	x := k.vec(0)
	k.unary("neg", func() { k.negate(c) })
	k.unary("abs", func() { VANDPS(c.bits(1<<31-1), x, x) })
	k.unary("square", func() { VMULPS(x, x, x) })
	k.unary("sqrt", func() { VSQRTPS(x, x) })
	k.unary("reciprocal", func() {
		VMOVUPS(c.of(1), k.vec(1))
		VDIVPS(x, k.vec(1), x)
	})
	k.unary("rsqrt", func() {
		VSQRTPS(x, x)
		VMOVUPS(c.of(1), k.vec(1))
		VDIVPS(x, k.vec(1), x)
	})
	for mode, name := range []string{"round", "floor", "ceil", "trunc"} {
		k.unary(name, func() { k.round(uint8(mode), x) })
	}
	k.unaryBy("leaky", "alpha", func() {
		VMULPS(k.vec(8), x, k.vec(1))
		VMAXPS(k.vec(1), x, x)
	})

	TEXT(k.name("gate"), 4, "func(n int, dst, x *float32, alpha, alphaLow, beta, betaLow, times float32)")
	Pragma("noescape")
	Doc(k.name("gate") + " brings alpha*x+beta into [0, 1]; both numbers are sums of two. If times is not zero the result is multiplied by x.")
	for i, name := range []string{"alpha", "alphaLow", "beta", "betaLow", "times"} {
		k.broadcastParam(name, k.vec(8+i))
	}
	k.loop([]string{"x"}, true, func() {
		VMOVAPS(x, k.vec(4))
		Comment("No infinity, whose product with a low half may be NaN.")
		VMOVUPS(c.of(1<<60), k.vec(1))
		VMINPS(x, k.vec(1), x)
		VMOVUPS(c.of(-1<<60), k.vec(1))
		VMAXPS(x, k.vec(1), x)
		VMOVAPS(x, k.vec(2))
		VFMADD213PS(k.vec(10), k.vec(8), x)
		VFMADD213PS(k.vec(11), k.vec(9), k.vec(2))
		VADDPS(k.vec(2), x, x)
		k.zero(k.vec(1))
		VMAXPS(x, k.vec(1), x)
		VMOVUPS(c.of(1), k.vec(1))
		VMINPS(x, k.vec(1), x)
		VMULPS(x, k.vec(4), k.vec(2))
		k.zero(k.vec(1))
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(4), k.vec(1), k.vec(12), mask) })
		k.blend(k.vec(2), x, x)
	})
}

// where writes a comparison to the mask that blend uses: K2 or vector 14.
func (k *kernels) where(compare func(mask operand.Op)) {
	if k.wide {
		compare(reg.K2)
	} else {
		compare(k.vec(14))
	}
}

// bySign sets the mask that blend uses to the signs of v.
func (k *kernels) bySign(v operand.Op) {
	if k.wide {
		VPMOVD2M(v, reg.K2)
	} else {
		VMOVAPS(v, k.vec(14))
	}
}

// blend writes to a register the lanes of yes where the mask is set, and the lanes of no elsewhere. The register may be the same as yes or
// no.
func (k *kernels) blend(yes, no, to operand.Op) {
	if k.wide {
		VBLENDMPS(yes, no, reg.K2, to)
	} else {
		VBLENDVPS(k.vec(14), yes, no, to)
	}
}
