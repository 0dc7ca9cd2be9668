package main

// The polynomials come from Cephes (Moshier), as in the plain Go of package vecmath.

// functions writes the exponential and functions derived from it.
func (k *kernels) functions() {
	k.unary("exp", 2, k.exp)
	k.unary("sigmoid", 2, k.sigmoid)
	k.unary("tanh", 2, k.tanh)
	k.elementwise("silu", "func(n int, dst, x *float32, alpha float32)", []string{"x"}, []string{"alpha"}, 2, "",
		func(in, by []value) value { return k.do("fmul", k.sigmoid(k.do("fmul", in[0], by[0])), in[0]) })
	k.expSub()
}

// expSub writes the exponentials of numbers minus a shift, and their sum.
func (k *kernels) expSub() {
	k.function("expSub", "func(n int, dst, x *float32, shift float32) float32", "sets dst to the exponentials of x less shift and returns their sum.", func() {
		k.get("n", "R0")
		k.get("dst", "R1")
		k.get("x", "R2")
		shift, sum := k.spread("shift"), k.zero()
		body := func(x value) value { return k.exp(k.do("fsub", x, shift)) }
		k.span("x", "R0", place{"R1", 4}, []place{{"R2", 4}}, 2, false, func(in []value) value {
			y := body(in[0])
			k.into(sum, "fadd", 0, sum, y)
			return y
		})
		k.line("BEQ done")
		k.line("rest:")
		k.emit(func() {
			y := body(k.load("S.P", "4(R2)"))
			k.store("S.P", y, "4(R1)")
			k.into(sum, "fadd", 0, sum, k.first(y))
		})
		k.line("SUBS $1, R0")
		k.line("BNE rest")
		k.line("done:")
		k.emit(func() {
			s := k.do("faddp", sum, sum)
			k.store("S", k.do("faddp", s, s), k.param("ret"))
		})
		k.line("RET")
	})
}

// horner evaluates a polynomial.
func (k *kernels) horner(x value, coefficients ...float32) value {
	p := k.of(coefficients[0])
	for _, f := range coefficients[1:] {
		p = k.do("fmla", k.of(f), p, x)
	}
	return p
}

// between clamps x to [lo, hi]; a NaN stays NaN.
func (k *kernels) between(x value, lo, hi float32) value {
	return k.do("fmax", k.do("fmin", x, k.of(hi)), k.of(lo))
}

// power returns two to the power n - bias, for integers n.
func (k *kernels) power(n value, bias uint32) value {
	return k.shift("shl", 23, k.do("add", n, k.bits(bias)))
}

// reduced returns x - n·log 2, with log 2 as the sum of two constants.
func (k *kernels) reduced(x, n value) value {
	return k.do("fmls", k.do("fmls", x, n, k.of(0.693359375)), n, k.of(-2.12194440e-4))
}

// expPolynomial returns exp(x)-1, for magnitudes up to half of log 2.
func (k *kernels) expPolynomial(x value) value {
	p := k.horner(x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	return k.do("fmla", x, p, k.do("fmul", x, x))
}

// exp returns the exponential. It clamps arguments to [-104, 89]; the result at these bounds is 0 or infinity.
func (k *kernels) exp(x value) value {
	x = k.between(x, -104, 89)
	n := k.do("frintn", k.do("fmul", x, k.of(1.44269504088896341)))
	p := k.do("fadd", k.expPolynomial(k.reduced(x, n)), k.of(1))
	// Two powers of two, so that only the last product rounds.
	n = k.do("fcvtns", n)
	half := k.shift("sshr", 1, n)
	p = k.do("fmul", p, k.power(half, 127))
	return k.do("fmul", p, k.power(k.do("sub", n, half), 127))
}

func (k *kernels) sigmoid(x value) value {
	return k.do("fdiv", k.of(1), k.do("fadd", k.exp(k.do("fneg", x)), k.of(1)))
}

// signed returns a magnitude with the sign of x.
func (k *kernels) signed(magnitude, x value) value {
	return k.do("orr", magnitude, k.do("and", x, k.bits(1<<31)))
}

func (k *kernels) tanh(x value) value {
	a := k.do("fabs", x)
	// 1 - 2/(exp(2|x|)+1), with the sign of x.
	e := k.do("fadd", k.exp(k.do("fadd", a, a)), k.of(1))
	far := k.signed(k.do("fsub", k.of(1), k.do("fdiv", k.of(2), e)), x)
	// Near zero a polynomial is more exact.
	z := k.do("fmul", x, x)
	p := k.horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314442036e-1, -3.33332819422e-1)
	near := k.do("fmla", x, k.do("fmul", p, z), x)
	return k.choose(k.do("fcmgt", k.of(0.625), a), near, far)
}
