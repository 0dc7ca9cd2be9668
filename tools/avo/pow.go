package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// pow writes the powers of positive numbers to one exponent, computed in float64. The logarithm to base 2 is computed by the
// series of atanh((m-1)/(m+1)), with m within a factor of √2 of one, and the power of two by the series of the exponential. Both
// series are truncated with an error below 2^-27.
func (k *kernels) pow(c *numbers) {
	const mantissa, root, shift = 1<<52 - 1, 0x3fe6a09e667f3bcd, 1 << 52
	TEXT(k.name("powTo"), 4, "func(n int, dst, x *float32, y float64)")
	Pragma("noescape")
	Doc(k.name("powTo") + " is for finite numbers that are positive or, if the exponent is more than 1/5, zero.")
	y, err := Param("y").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(y.Addr, k.vec(8))
	x, e, m, t, p := k.vec(0), k.vec(1), k.vec(2), k.vec(3), k.vec(4)
	horner := func(by operand.Op, coefficients ...float64) {
		VMOVUPD(c.double(coefficients[0]), p)
		for _, f := range coefficients[1:] {
			VFMADD213PD(c.double(f), by, p)
		}
	}
	k.whole([]stride{{"dst", 4}, {"x", 4}}, func(at []operand.Mem) {
		for h := range 2 {
			VCVTPS2PD(at[1].Offset(h*k.size()/2), x)
			Comment("Exponent and mantissa.")
			VMOVUPD(c.bits64(1023<<52), e)
			VPSUBQ(c.bits64(root), x, x)
			VPADDQ(e, x, x)
			VPSRLQ(operand.U8(52), x, e)
			VORPD(c.double(shift), e, e)
			VSUBPD(c.double(shift+1023), e, e)
			VANDPD(c.bits64(mantissa), x, m)
			VPADDQ(c.bits64(root), m, m)
			VADDPD(c.double(1), m, t)
			VSUBPD(c.double(1), m, m)
			VDIVPD(t, m, m)
			VMULPD(m, m, t)
			series := []float64{}
			for i := 6; i >= 0; i-- {
				series = append(series, 2/math.Ln2/float64(2*i+1))
			}
			horner(t, series...)
			VFMADD231PD(p, m, e)
			VMULPD(k.vec(8), e, e)
			VMOVUPD(c.double(-160), t)
			VMAXPD(e, t, e)
			VMOVUPD(c.double(160), t)
			VMINPD(e, t, e)
			if k.wide {
				VRNDSCALEPD(operand.U8(0), e, m)
			} else {
				VROUNDPD(operand.U8(0), e, m)
			}
			VSUBPD(m, e, e)
			VMULPD(c.double(math.Ln2), e, e)
			horner(e, 1./40320, 1./5040, 1./720, 1./120, 1./24, 1./6, 1./2, 1, 1)
			VADDPD(c.double(shift+1023), m, m)
			VPSLLQ(operand.U8(52), m, m)
			VMULPD(m, p, p)
			if k.wide {
				VCVTPD2PS(p, k.half(4))
			} else {
				VCVTPD2PSY(p, k.half(4))
			}
			VMOVUPS(k.half(4), at[0].Offset(h*k.size()/2))
		}
	})
	k.done()
}
