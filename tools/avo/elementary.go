package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

var infinity = math.Float32bits(float32(math.Inf(1)))

// elementary writes the loops of logarithms, error functions and functions derived from them.
func (k *kernels) elementary(c *numbers) {
	k.unary("log", func() { k.log(c) })
	k.unary("log1p", func() { k.log1p(c) })
	k.unary("expm1", func() { k.expm1(c) })
	k.unary("erf", func() { k.erf(c) })
	k.unary("gelu", func() { k.gelu(c) })
	k.unary("geluTanh", func() { k.geluTanh(c) })
	k.unary("softplus", func() {
		VMOVAPS(k.vec(0), k.vec(10))
		VORPS(c.bits(1<<31), k.vec(0), k.vec(0))
		k.exp(c)
		k.log1p(c)
		k.zero(k.vec(1))
		VMAXPS(k.vec(10), k.vec(1), k.vec(1))
		VADDPS(k.vec(1), k.vec(0), k.vec(0))
	})
	k.unary("mish", func() {
		Comment("tanh(log(1+e)) is e(e+2)/(e(e+2)+2).")
		VMOVAPS(k.vec(0), k.vec(4))
		VMOVUPS(c.of(20), k.vec(1))
		VMINPS(k.vec(0), k.vec(1), k.vec(0))
		k.exp(c)
		VADDPS(c.of(2), k.vec(0), k.vec(1))
		VMULPS(k.vec(1), k.vec(0), k.vec(0))
		VADDPS(c.of(2), k.vec(0), k.vec(1))
		VDIVPS(k.vec(1), k.vec(0), k.vec(0))
		VMULPS(k.vec(4), k.vec(0), k.vec(0))
	})

	TEXT(k.name("elu"), 4, "func(n int, dst, x *float32, alpha, gamma, by float32)")
	Pragma("noescape")
	Doc(k.name("elu") + " multiplies gamma by x or, where it is negative, by alpha*(exp(x/by)-1).")
	for i, name := range []string{"alpha", "gamma", "by"} {
		k.broadcastParam(name, k.vec(8+i))
	}
	k.loop([]string{"x"}, true, func() {
		VMOVAPS(k.vec(0), k.vec(4))
		VDIVPS(k.vec(10), k.vec(0), k.vec(0))
		k.expm1(c)
		VMULPS(k.vec(8), k.vec(0), k.vec(0))
		k.zero(k.vec(1))
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(1), k.vec(1), k.vec(4), mask) })
		k.blend(k.vec(0), k.vec(4), k.vec(0))
		VMULPS(k.vec(9), k.vec(0), k.vec(0))
	})
}

// log sets vector 0 to its natural logarithm. It uses vectors 1 to 6.
func (k *kernels) log(c *numbers) {
	x, e := k.vec(4), k.vec(2)
	VMOVAPS(k.vec(0), x)
	Comment("Denormals are scaled.")
	VMULPS(c.of(1<<23), x, k.vec(1))
	VMOVUPS(c.of(-23), k.vec(3))
	k.zero(e)
	k.where(func(mask operand.Op) { VCMPPS(operand.U8(1), c.of(0x1p-126), x, mask) })
	k.blend(k.vec(3), e, e)
	k.blend(k.vec(1), x, k.vec(1))
	k.logParts(c)
	VCVTDQ2PS(k.vec(5), k.vec(5))
	VADDPS(k.vec(5), e, e)
	k.logPolynomial(c)
	k.logSpecial(c, 0)
}

// logParts splits vector 1, a normal number, into its exponent, in vector 5, and its mantissa minus one, in vector 0. It uses
// vector 3.
func (k *kernels) logParts(c *numbers) {
	VPSUBD(c.bits(0x3f3504f3), k.vec(1), k.vec(3))
	VPSRAD(operand.U8(23), k.vec(3), k.vec(5))
	VANDPS(c.bits(0x007fffff), k.vec(3), k.vec(3))
	VPADDD(c.bits(0x3f3504f3), k.vec(3), k.vec(3))
	VSUBPS(c.of(1), k.vec(3), k.vec(0))
}

// logPolynomial sets vector 0, r, to log(1+r) + log(2^e) for the exponent e in vector 2. It uses vectors 1, 5 and 6.
func (k *kernels) logPolynomial(c *numbers) {
	r, z, p, y, e := k.vec(0), k.vec(1), k.vec(5), k.vec(6), k.vec(2)
	VMULPS(r, r, z)
	k.horner(c, 0, 5, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	VMULPS(r, z, y)
	VMULPS(p, y, y)
	VFMADD231PS(c.of(-2.12194440e-4), e, y)
	VFNMADD231PS(c.of(0.5), z, y)
	VADDPS(y, r, r)
	VFMADD231PS(c.of(0.693359375), e, r)
}

// logSpecial replaces the result in vector 0 where the argument in vector 4 is outside the range of the polynomial: by -infinity where the
// argument equals pole, by NaN where the argument is less than pole, and by the argument where the argument is infinity or NaN. It uses
// vector 1.
func (k *kernels) logSpecial(c *numbers, pole float32) {
	x, y := k.vec(4), k.vec(0)
	special := func(predicate uint8, of, result operand.Op) {
		k.where(func(mask operand.Op) { VCMPPS(operand.U8(predicate), of, x, mask) })
		if m, ok := result.(operand.Mem); ok {
			VMOVUPS(m, k.vec(1))
			result = k.vec(1)
		}
		k.blend(result, y, y)
	}
	special(0, c.of(pole), c.bits(infinity|1<<31)) // equal
	special(1, c.of(pole), c.bits(0x7fc00000))     // less
	special(5, c.bits(infinity), x)                // not less
}

// log1p sets vector 0, x, to log(1+x). It uses vectors 1 to 7.
func (k *kernels) log1p(c *numbers) {
	x, lost := k.vec(4), k.vec(7)
	VMOVAPS(k.vec(0), x)
	Comment("What the sum loses, scaled as the sum is, is added to what is left of it.")
	VADDPS(c.of(1), x, k.vec(1))
	VSUBPS(c.of(1), k.vec(1), lost)
	VSUBPS(lost, x, lost)
	k.logParts(c)
	VMOVUPS(c.bits(126), k.vec(3))
	VPMINSD(k.vec(5), k.vec(3), k.vec(3))
	VMOVUPS(c.bits(127), k.vec(2))
	VPSUBD(k.vec(3), k.vec(2), k.vec(3))
	VPSLLD(operand.U8(23), k.vec(3), k.vec(3))
	VFMADD231PS(k.vec(3), lost, k.vec(0))
	VCVTDQ2PS(k.vec(5), k.vec(2))
	k.logPolynomial(c)
	VANDPS(c.bits(1<<31), x, k.vec(1))
	VORPS(k.vec(1), k.vec(0), k.vec(0))
	k.logSpecial(c, -1)
}

// expm1 sets vector 0, x, to exp(x)-1. It uses vectors 1 to 3 and 11.
func (k *kernels) expm1(c *numbers) {
	x, n, p, t, kept := k.vec(0), k.vec(1), k.vec(2), k.vec(3), k.vec(11)
	VMOVAPS(x, kept)
	VMOVUPS(c.of(89), t)
	VMINPS(x, t, x)
	VMOVUPS(c.of(-25), t)
	VMAXPS(x, t, x)
	VMULPS(c.of(1.44269504088896341), x, n)
	k.round(0, n)
	VFNMADD231PS(c.of(0.693359375), n, x)
	VFNMADD231PS(c.of(-2.12194440e-4), n, x)
	k.horner(c, 0, 2, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	VMULPS(x, x, t)
	VFMADD213PS(x, t, p)
	Comment("Twice (p*s + s - 1/2), where s is half of the power of two.")
	VCVTPS2DQ(n, n)
	VPADDD(c.bits(126), n, n)
	VPSLLD(operand.U8(23), n, n)
	VSUBPS(c.of(0.5), n, t)
	VFMADD213PS(t, n, p)
	VADDPS(p, p, x)
	VANDPS(c.bits(1<<31), kept, t)
	VORPS(t, x, x)
}

// erf sets vector 0 to its error function, by the polynomials of N. Juffa. It uses vectors 1 to 7.
func (k *kernels) erf(c *numbers) {
	x, a, s, near := k.vec(4), k.vec(5), k.vec(6), k.vec(7)
	VMOVAPS(k.vec(0), x)
	VANDPS(c.bits(1<<31-1), x, a)
	VMOVUPS(c.of(4), k.vec(1))
	VMINPS(a, k.vec(1), a)
	VMULPS(a, a, s)
	k.horner(c, 6, 7, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	VFMADD213PS(x, x, near)
	k.horner(c, 5, 0, -1.72853470e-5, 3.83197126e-4)
	k.horner(c, 5, 1, -3.88396438e-3, 2.42546219e-2)
	r := k.vec(0)
	VFMADD213PS(k.vec(1), s, r)
	for _, f := range []float32{-1.06777877e-1, -6.34846687e-1, -1.28717512e-1} {
		VFMADD213PS(c.of(f), a, r)
	}
	VFMSUB213PS(a, a, r)
	k.exp(c)
	VMOVUPS(c.of(1), k.vec(1))
	VSUBPS(r, k.vec(1), r)
	VANDPS(c.bits(1<<31), x, k.vec(1))
	VORPS(k.vec(1), r, r)
	k.where(func(mask operand.Op) { VCMPPS(operand.U8(14), c.of(0.927734375), a, mask) })
	k.blend(r, near, r)
}

// gelu multiplies vector 0 by its normal distribution function. For an argument -a the function is exp(-a²/2)/(1+a/2) times a
// polynomial in (a-7/2)/(a+7/2), which was fitted with an error of 9e-9. It uses vectors 1 to 7.
func (k *kernels) gelu(c *numbers) {
	x, a, low, p := k.vec(4), k.vec(5), k.vec(6), k.vec(7)
	VMOVAPS(k.vec(0), x)
	VANDPS(c.bits(1<<31-1), x, a)
	VMOVUPS(c.of(18), k.vec(1))
	VMINPS(a, k.vec(1), a)
	VSUBPS(c.of(3.5), a, k.vec(1))
	VADDPS(c.of(3.5), a, k.vec(2))
	VDIVPS(k.vec(2), k.vec(1), k.vec(6))
	k.horner(c, 6, 7, 6.681952072540298e-05, 0.00011322417412884533, -0.0005162045126780868, -0.000547208299394697,
		0.004410558380186558, -0.0055974870920181274, -0.011796148493885994, 0.06332120299339294, -0.14242611825466156, 0.2924491763114929)
	VMOVUPS(c.of(0.5), k.vec(1))
	VFMADD213PS(c.of(1), a, k.vec(1))
	VDIVPS(k.vec(1), p, p)
	Comment("The square and what it loses.")
	VMULPS(a, a, k.vec(0))
	VMOVAPS(a, low)
	VFMSUB213PS(k.vec(0), a, low)
	VMULPS(c.of(-0.5), k.vec(0), k.vec(0))
	VMULPS(c.of(-0.5), low, low)
	k.exp(c)
	VMULPS(k.vec(0), p, p)
	VFMADD231PS(low, p, p)
	VMOVUPS(c.of(1), k.vec(1))
	VSUBPS(p, k.vec(1), k.vec(1))
	k.zero(k.vec(2))
	k.where(func(mask operand.Op) { VCMPPS(operand.U8(14), k.vec(2), x, mask) })
	k.blend(k.vec(1), p, p)
	VMULPS(p, x, k.vec(0))
}

// geluTanh sets vector 0, x, to x/(1+exp(-t)), where t is x·(c0 + c1·x²), computed as the sum of a high and a low part. It uses
// vectors 1 to 7 and 10.
func (k *kernels) geluTanh(c *numbers) {
	const c0, c1 = 1.5957691216057308, 0.07135481627260025
	low := func(f float64) float32 { return float32(f - float64(float32(f))) }
	x, a, s, h, p, e := k.vec(4), k.vec(5), k.vec(6), k.vec(7), k.vec(1), k.vec(2)
	VMOVAPS(k.vec(0), x)
	VMOVUPS(c.of(20), k.vec(1))
	VMINPS(x, k.vec(1), a)
	VMOVUPS(c.of(-20), k.vec(1))
	VMAXPS(a, k.vec(1), a)
	VMULPS(a, a, s)
	VMULPS(c.of(c1), s, h)
	VADDPS(c.of(c0), h, p)
	Comment("What the sum loses, the product, the square and the constants.")
	VSUBPS(c.of(c0), p, k.vec(3))
	VSUBPS(k.vec(3), h, e)
	VSUBPS(k.vec(3), p, k.vec(3))
	VMOVUPS(c.of(c0), k.vec(10))
	VSUBPS(k.vec(3), k.vec(10), k.vec(3))
	VADDPS(k.vec(3), e, e)
	VMOVUPS(c.of(c1), k.vec(3))
	VFMSUB213PS(h, s, k.vec(3))
	VADDPS(k.vec(3), e, e)
	VMOVAPS(a, k.vec(3))
	VFMSUB213PS(s, a, k.vec(3))
	VFMADD231PS(c.of(c1), k.vec(3), e)
	VFMADD231PS(c.of(low(c1)), s, e)
	VADDPS(c.of(low(c0)), e, e)
	VMULPS(p, a, k.vec(0))
	VFMSUB213PS(k.vec(0), a, p)
	VFMADD231PS(e, a, p)
	Comment("With the exponential of -|t|, at most one, which is 1-low times that of the high half.")
	VANDPS(c.bits(1<<31), k.vec(0), k.vec(3))
	VXORPS(k.vec(3), p, k.vec(7))
	VORPS(c.bits(1<<31), k.vec(0), k.vec(0))
	k.exp(c)
	VFNMADD231PS(k.vec(7), k.vec(0), k.vec(0))
	VMOVUPS(c.of(1), k.vec(1))
	VADDPS(k.vec(1), k.vec(0), k.vec(2))
	k.bySign(x)
	k.blend(k.vec(0), k.vec(1), k.vec(0))
	VDIVPS(k.vec(2), k.vec(0), k.vec(0))
	VMULPS(k.vec(0), x, k.vec(0))
}
