package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// trig writes sine and cosine, for arguments up to about 48000: the argument is reduced by multiples of π/2 in three parts (Cody
// and Waite), and the polynomials come from N. Juffa. Bodies use vectors 1 to 7.
func (k *kernels) trig(c *numbers) {
	for quadrant, name := range []string{"sin", "cos"} {
		k.unary(name, func() {
			x, r, n, s, sine, cosine := k.vec(4), k.vec(0), k.vec(1), k.vec(5), k.vec(6), k.vec(7)
			VMOVAPS(r, x)
			VMULPS(c.of(0.636619747), x, n)
			k.round(0, n)
			VFNMADD231PS(c.of(1.57079601e+00), n, r)
			VFNMADD231PS(c.of(3.13916473e-07), n, r)
			VFNMADD231PS(c.of(5.39030253e-15), n, r)
			VCVTPS2DQ(n, n)
			if quadrant == 1 {
				VPADDD(c.bits(1), n, n)
			}
			VMULPS(r, r, s)
			k.horner(c, 5, 6, 2.86567956e-6, -1.98559923e-4, 8.33338592e-3, -1.66666672e-1)
			VMULPS(r, s, k.vec(2))
			VFMADD213PS(r, k.vec(2), sine)
			k.horner(c, 5, 7, 2.44677067e-5, -1.38877297e-3, 4.16666567e-2, -0.5, 1)
			VPSLLD(operand.U8(31), n, k.vec(3))
			k.bySign(k.vec(3))
			k.blend(cosine, sine, r)
			VPSRLD(operand.U8(1), n, n)
			VPSLLD(operand.U8(31), n, n)
			VXORPS(n, r, r)
			if quadrant == 0 {
				Comment("Zero keeps its sign.")
				k.zero(k.vec(2))
				k.where(func(mask operand.Op) { VCMPPS(operand.U8(0), k.vec(2), x, mask) })
				k.blend(x, r, r)
			}
		})
	}
}
