package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The polynomials come from Cephes (Moshier), as in the plain Go of package vecmath.

// functions writes the loops of elementary functions.
func (k *kernels) functions(c *numbers) {
	k.unary("exp", func() { k.exp(c) })
	k.unary("sigmoid", func() {
		k.negate(c)
		k.exp(c)
		k.reciprocalOfOneMore(c)
	})
	k.unary("tanh", func() { k.tanh(c) })

	TEXT(k.name("silu"), 4, "func(n int, dst, x *float32, alpha float32)")
	Pragma("noescape")
	k.broadcastParam("alpha", k.vec(8))
	k.loop([]string{"x"}, true, func() {
		VMOVAPS(k.vec(0), k.vec(5))
		VMULPS(k.vec(8), k.vec(0), k.vec(0))
		k.negate(c)
		k.exp(c)
		k.reciprocalOfOneMore(c)
		VMULPS(k.vec(5), k.vec(0), k.vec(0))
	})

	TEXT(k.name("expSub"), 4, "func(n int, dst, x *float32, shift float32) float32")
	Pragma("noescape")
	Doc(k.name("expSub") + " sets dst to the exponentials of x less shift and returns their sum.")
	k.broadcastParam("shift", k.vec(8))
	k.zero(k.vec(9))
	VMOVUPS(c.of(89), k.vec(10))
	VMOVUPS(c.of(-104), k.vec(11))
	k.sumLoop(c)
}

// sumLoop writes the loop of expSub, which keeps the sum in vector 9.
func (k *kernels) sumLoop(c *numbers) {
	tail := mask{reg.K1, k.vec(15)}
	Load(Param("n"), reg.RDX)
	MOVQ(reg.RDX, reg.RBX)
	ANDQ(operand.I32(k.lanes()-1), reg.RBX)
	k.masksFor(reg.RBX, tail)
	Load(Param("dst"), reg.RDI)
	Load(Param("x"), reg.RSI)
	from, to := operand.Mem{Base: reg.RSI}, operand.Mem{Base: reg.RDI}
	SUBQ(operand.U8(k.lanes()), reg.RDX)
	JLT(operand.LabelRef("tail"))
	Label("vector")
	k.load(from, k.vec(0))
	VSUBPS(k.vec(8), k.vec(0), k.vec(0))
	k.expWithin(c, k.vec(10), k.vec(11))
	VADDPS(k.vec(0), k.vec(9), k.vec(9))
	k.store(k.vec(0), to)
	ADDQ(operand.U8(k.size()), reg.RSI)
	ADDQ(operand.U8(k.size()), reg.RDI)
	SUBQ(operand.U8(k.lanes()), reg.RDX)
	JGE(operand.LabelRef("vector"))
	Label("tail")
	ADDQ(operand.U8(k.lanes()), reg.RDX)
	JZ(operand.LabelRef("done"))
	k.loadMasked(from, tail, k.vec(0))
	VSUBPS(k.vec(8), k.vec(0), k.vec(0))
	k.expWithin(c, k.vec(10), k.vec(11))
	k.storeMasked(k.vec(0), tail, to)
	if k.wide {
		VADDPS(k.vec(0), k.vec(9), reg.K1, k.vec(9))
	} else {
		VANDPS(tail.v, k.vec(0), k.vec(0))
		VADDPS(k.vec(0), k.vec(9), k.vec(9))
	}
	Label("done")
	k.zero(k.vec(0))
	result, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	k.reduce(k.vec(9), k.vec(0), result.Addr)
	VZEROUPPER()
	RET()
}

// negate flips the sign of vector 0.
func (k *kernels) negate(c *numbers) { VXORPS(c.bits(1<<31), k.vec(0), k.vec(0)) }

// reciprocalOfOneMore sets vector 0 to 1/(1+vector 0).
func (k *kernels) reciprocalOfOneMore(c *numbers) {
	VADDPS(c.of(1), k.vec(0), k.vec(0))
	VMOVUPS(c.of(1), k.vec(1))
	VDIVPS(k.vec(0), k.vec(1), k.vec(0))
}

// horner evaluates a polynomial of vector x into vector p.
func (k *kernels) horner(c *numbers, x, p int, coefficients ...float32) {
	VMOVUPS(c.of(coefficients[0]), k.vec(p))
	for _, f := range coefficients[1:] {
		VFMADD213PS(c.of(f), k.vec(x), k.vec(p))
	}
}

// exp sets vector 0 to its exponential. It uses vectors 1 to 3.
func (k *kernels) exp(c *numbers) {
	k.expWithin(c, nil, nil)
}

// expWithin is like exp. hi and lo are vectors that contain the bounds of the argument, 89 and -104; if one is nil its bound is
// loaded from the table.
func (k *kernels) expWithin(c *numbers, hi, lo operand.Op) {
	x, n, p, t := k.vec(0), k.vec(1), k.vec(2), k.vec(3)
	Comment("What lies outside overflows or vanishes as its bound does; a NaN stays one.")
	bound := func(v operand.Op, f float32) operand.Op {
		if v != nil {
			return v
		}
		VMOVUPS(c.of(f), t)
		return t
	}
	VMINPS(x, bound(hi, 89), x)
	VMAXPS(x, bound(lo, -104), x)
	VMULPS(c.of(1.44269504088896341), x, n)
	if k.wide {
		VRNDSCALEPS(operand.U8(0), n, n)
	} else {
		VROUNDPS(operand.U8(0), n, n)
	}
	VFNMADD231PS(c.of(0.693359375), n, x)
	VFNMADD231PS(c.of(-2.12194440e-4), n, x)
	k.horner(c, 0, 2, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	VMULPS(x, x, t)
	VFMADD213PS(x, t, p)
	VADDPS(c.of(1), p, p)
	if k.wide {
		VSCALEFPS(n, p, x)
		return
	}
	Comment("Two powers of two, so that only the last product rounds.")
	VCVTPS2DQ(n, n)
	VPSRAD(operand.U8(1), n, t)
	VPSUBD(t, n, n)
	for _, v := range []operand.Op{t, n} {
		VPADDD(c.bits(127), v, v)
		VPSLLD(operand.U8(23), v, v)
	}
	VMULPS(t, p, p)
	VMULPS(n, p, x)
}

// tanh sets vector 0 to its hyperbolic tangent. It uses vectors 1 to 6.
func (k *kernels) tanh(c *numbers) {
	x, a, z := k.vec(4), k.vec(5), k.vec(6)
	VMOVAPS(k.vec(0), x)
	VANDPS(c.bits(1<<31-1), x, a)
	VADDPS(a, a, k.vec(0))
	k.exp(c)
	Comment("1 - 2/(exp(2|x|)+1), with the sign of x.")
	VADDPS(c.of(1), k.vec(0), k.vec(0))
	VMOVUPS(c.of(2), k.vec(1))
	VDIVPS(k.vec(0), k.vec(1), k.vec(0))
	VMOVUPS(c.of(1), k.vec(1))
	VSUBPS(k.vec(0), k.vec(1), k.vec(3))
	VANDPS(c.bits(1<<31), x, k.vec(1))
	VORPS(k.vec(1), k.vec(3), k.vec(3))
	Comment("Near zero a polynomial keeps the digits.")
	VMULPS(x, x, z)
	k.horner(c, 6, 2, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314442036e-1, -3.33332819422e-1)
	VMULPS(z, k.vec(2), k.vec(2))
	VFMADD213PS(x, x, k.vec(2))
	k.choose(2, 3, func(mask operand.Op) { VCMPPS(operand.U8(1), c.of(0.625), a, mask) })
}
