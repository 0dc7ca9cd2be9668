package main

import "math"

var infinity = math.Float32bits(float32(math.Inf(1)))

// elementary writes logarithms, error functions and functions derived from them.
func (k *kernels) elementary() {
	k.unary("log", 2, k.log)
	k.unary("log1p", 2, k.log1p)
	k.unary("expm1", 2, k.expm1)
	k.unary("erf", 2, k.erf)
	k.unary("gelu", 2, k.gelu)
	k.unary("geluTanh", 2, k.geluTanh)
	k.unary("softplus", 1, func(x value) value {
		return k.do("fadd", k.log1p(k.exp(k.do("fneg", k.do("fabs", x)))), k.do("fmax", x, k.bits(0)))
	})
	k.unary("mish", 2, func(x value) value {
		// tanh(log(1+e)) is e(e+2)/(e(e+2)+2).
		e := k.exp(k.do("fmin", x, k.of(20)))
		e = k.do("fmul", e, k.do("fadd", e, k.of(2)))
		return k.do("fmul", k.do("fdiv", e, k.do("fadd", e, k.of(2))), x)
	})
	k.elementwise("elu", "func(n int, dst, x *float32, alpha, gamma, by float32)", []string{"x"}, []string{"alpha", "gamma", "by"}, 2,
		"multiplies gamma by x or, where it is negative, by alpha*(exp(x/by)-1).",
		func(in, by []value) value {
			x := in[0]
			y := k.do("fmul", k.expm1(k.do("fdiv", x, by[2])), by[0])
			return k.do("fmul", k.choose(k.do("fcmgt", k.bits(0), x), y, x), by[1])
		})
}

func (k *kernels) log(x value) value {
	// Denormals are scaled.
	small := k.do("fcmgt", k.of(0x1p-126), x)
	scaled := k.choose(small, k.do("fmul", x, k.of(1<<23)), x)
	exponent, rest := k.logParts(scaled)
	e := k.do("fadd", k.do("and", small, k.of(-23)), k.do("scvtf", exponent))
	return k.logSpecial(x, k.logPolynomial(rest, e), 0)
}

// logParts splits a normal number into its exponent and its mantissa minus one.
func (k *kernels) logParts(x value) (exponent, rest value) {
	x = k.do("sub", x, k.bits(0x3f3504f3))
	exponent = k.shift("sshr", 23, x)
	rest = k.do("add", k.do("and", x, k.bits(0x007fffff)), k.bits(0x3f3504f3))
	return exponent, k.do("fsub", rest, k.of(1))
}

// logPolynomial returns log(1+r) + log(2^e).
func (k *kernels) logPolynomial(r, e value) value {
	z := k.do("fmul", r, r)
	p := k.horner(r, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	y := k.do("fmul", k.do("fmul", z, r), p)
	y = k.do("fmla", y, e, k.of(-2.12194440e-4))
	y = k.do("fmls", y, z, k.of(0.5))
	return k.do("fmla", k.do("fadd", r, y), e, k.of(0.693359375))
}

// logSpecial returns y, except where the argument x is outside the range of the polynomial: there it returns -infinity for x
// equal to pole, NaN for x below pole, and x for infinity and NaN.
func (k *kernels) logSpecial(x, y value, pole float32) value {
	y = k.choose(k.do("fcmeq", x, k.of(pole)), k.bits(infinity|1<<31), y)
	y = k.choose(k.do("fcmgt", k.of(pole), x), k.bits(0x7fc00000), y)
	return k.choose(k.do("fcmgt", k.bits(infinity), x), y, x)
}

func (k *kernels) log1p(x value) value {
	// The rounding error of the sum, scaled like the sum, is added to its mantissa.
	sum := k.do("fadd", x, k.of(1))
	lost := k.do("fsub", x, k.do("fsub", sum, k.of(1)))
	exponent, rest := k.logParts(sum)
	scale := k.shift("shl", 23, k.do("sub", k.bits(127), k.do("smin", exponent, k.bits(126))))
	y := k.logPolynomial(k.do("fmla", rest, lost, scale), k.do("scvtf", exponent))
	return k.logSpecial(x, k.signed(y, x), -1)
}

func (k *kernels) expm1(x value) value {
	r := k.between(x, -25, 89)
	n := k.do("frintn", k.do("fmul", r, k.of(1.44269504088896341)))
	p := k.expPolynomial(k.reduced(r, n))
	// Twice (p*s + s - 1/2), where s is half of the power of two.
	s := k.power(k.do("fcvtns", n), 126)
	y := k.do("fmla", k.do("fsub", s, k.of(0.5)), p, s)
	return k.signed(k.do("fadd", y, y), x)
}

// erf returns the error function, by the polynomials of N. Juffa.
func (k *kernels) erf(x value) value {
	a := k.do("fmin", k.do("fabs", x), k.of(4))
	s := k.do("fmul", a, a)
	near := k.horner(s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	near = k.do("fmla", x, near, x)
	r := k.horner(a, -1.72853470e-5, 3.83197126e-4)
	r = k.do("fmla", k.horner(a, -3.88396438e-3, 2.42546219e-2), r, s)
	for _, f := range []float32{-1.06777877e-1, -6.34846687e-1, -1.28717512e-1} {
		r = k.do("fmla", k.of(f), r, a)
	}
	r = k.exp(k.do("fmla", k.do("fneg", a), r, a))
	far := k.signed(k.do("fsub", k.of(1), r), x)
	return k.choose(k.do("fcmgt", a, k.of(0.927734375)), far, near)
}

// gelu returns x times the normal distribution function of x. For an argument -a the function is exp(-a²/2)/(1+a/2) times a
// polynomial in (a-7/2)/(a+7/2), which was fitted with an error of 9e-9.
func (k *kernels) gelu(x value) value {
	a := k.do("fmin", k.do("fabs", x), k.of(18))
	q := k.do("fdiv", k.do("fsub", a, k.of(3.5)), k.do("fadd", a, k.of(3.5)))
	p := k.horner(q, 6.681952072540298e-05, 0.00011322417412884533, -0.0005162045126780868, -0.000547208299394697,
		0.004410558380186558, -0.0055974870920181274, -0.011796148493885994, 0.06332120299339294, -0.14242611825466156, 0.2924491763114929)
	p = k.do("fdiv", p, k.do("fmla", k.of(1), a, k.of(0.5)))
	// The square and its rounding error.
	square := k.do("fmul", a, a)
	low := k.do("fmul", k.do("fmla", k.do("fneg", square), a, a), k.of(-0.5))
	p = k.do("fmul", p, k.exp(k.do("fmul", square, k.of(-0.5))))
	p = k.do("fmla", p, p, low)
	return k.do("fmul", k.choose(k.do("fcmgt", x, k.bits(0)), k.do("fsub", k.of(1), p), p), x)
}

// geluTanh returns x/(1+exp(-t)), where t is x·(c0 + c1·x²), computed as the sum of a high and a low part.
func (k *kernels) geluTanh(x value) value {
	const c0, c1 = 1.5957691216057308, 0.07135481627260025
	low := func(f float64) float32 { return float32(f - float64(float32(f))) }
	a := k.between(x, -20, 20)
	s := k.do("fmul", a, a)
	h := k.do("fmul", s, k.of(c1))
	p := k.do("fadd", h, k.of(c0))
	// The rounding errors of the sum, the product, the square and the constants.
	t := k.do("fsub", p, k.of(c0))
	e := k.do("fsub", h, t)
	e = k.do("fadd", e, k.do("fsub", k.of(c0), k.do("fsub", p, t)))
	e = k.do("fadd", e, k.do("fmla", k.do("fneg", h), s, k.of(c1)))
	e = k.do("fmla", e, k.do("fmla", k.do("fneg", s), a, a), k.of(c1))
	e = k.do("fmla", e, s, k.of(low(c1)))
	e = k.do("fadd", e, k.of(low(c0)))
	high := k.do("fmul", a, p)
	rest := k.do("fmla", k.do("fneg", high), a, p)
	rest = k.do("fmla", rest, a, e)
	// Uses the exponential of -|t|, which is at most one, and equals 1-low times the exponential of the high half.
	rest = k.do("eor", rest, k.do("and", high, k.bits(1<<31)))
	y := k.exp(k.do("fneg", k.do("fabs", high)))
	y = k.do("fmls", y, y, rest)
	over := k.choose(k.shift("sshr", 31, x), y, k.of(1))
	return k.do("fmul", k.do("fdiv", over, k.do("fadd", y, k.of(1))), x)
}

// trig writes sine and cosine, for arguments up to about 48000: the argument is reduced by multiples of π/2 in three parts (Cody
// and Waite), and the polynomials come from N. Juffa.
func (k *kernels) trig() {
	for quadrant, name := range []string{"sin", "cos"} {
		k.unary(name, 2, func(x value) value {
			n := k.do("frintn", k.do("fmul", x, k.of(0.636619747)))
			r := k.do("fmls", x, n, k.of(1.57079601e+00))
			r = k.do("fmls", r, n, k.of(3.13916473e-07))
			r = k.do("fmls", r, n, k.of(5.39030253e-15))
			n = k.do("fcvtns", n)
			if quadrant == 1 {
				n = k.do("add", n, k.bits(1))
			}
			s := k.do("fmul", r, r)
			sine := k.horner(s, 2.86567956e-6, -1.98559923e-4, 8.33338592e-3, -1.66666672e-1)
			sine = k.do("fmla", r, sine, k.do("fmul", s, r))
			cosine := k.horner(s, 2.44677067e-5, -1.38877297e-3, 4.16666567e-2, -0.5, 1)
			odd := k.shift("sshr", 31, k.shift("shl", 31, n))
			y := k.choose(odd, cosine, sine)
			y = k.do("eor", y, k.shift("shl", 31, k.shift("ushr", 1, n)))
			if quadrant == 0 {
				y = k.choose(k.do("fcmeq", x, k.bits(0)), x, y) // zero keeps its sign
			}
			return y
		})
	}
}

// pow writes the powers of positive numbers to one exponent, computed in float64. The logarithm to base 2 is computed by the
// series of atanh((m-1)/(m+1)), with m within a factor of √2 of one, and the power of two by the series of the exponential. Both
// series are truncated with an error below 2^-27.
func (k *kernels) pow() {
	k.whole("pow", "float32", "float32", ", y float64", []string{"y"}, 1,
		"is for finite numbers that are positive or, if the exponent is more than 1/5, zero.",
		func(x value, by []value) value {
			low := k.do("fcvtn.2d", k.powHalf(k.do("fcvtl.2d", x), by[0]))
			return k.do("zip1.2d", low, k.do("fcvtn.2d", k.powHalf(k.do("fcvtl2.2d", x), by[0])))
		})
}

func (k *kernels) powHalf(x, y value) value {
	const mantissa, root, shift = 1<<52 - 1, 0x3fe6a09e667f3bcd, 1 << 52
	horner := func(by value, coefficients ...float64) value {
		p := k.double(coefficients[0])
		for _, f := range coefficients[1:] {
			p = k.do("fmla.2d", k.double(f), p, by)
		}
		return p
	}
	// Exponent and mantissa.
	x = k.do("add.2d", k.do("sub.2d", x, k.number(root)), k.number(1023<<52))
	e := k.do("orr", k.shift("ushr.2d", 52, x), k.double(shift))
	e = k.do("fsub.2d", e, k.double(shift+1023))
	m := k.do("add.2d", k.do("and", x, k.number(mantissa)), k.number(root))
	m = k.do("fdiv.2d", k.do("fsub.2d", m, k.double(1)), k.do("fadd.2d", m, k.double(1)))
	series := []float64{}
	for i := 6; i >= 0; i-- {
		series = append(series, 2/math.Ln2/float64(2*i+1))
	}
	e = k.do("fmla.2d", e, m, horner(k.do("fmul.2d", m, m), series...))
	e = k.do("fmul.2d", e, y)
	e = k.do("fmin.2d", k.do("fmax.2d", e, k.double(-160)), k.double(160))
	n := k.do("frintn.2d", e)
	p := horner(k.do("fmul.2d", k.do("fsub.2d", e, n), k.double(math.Ln2)), 1./40320, 1./5040, 1./720, 1./120, 1./24, 1./6, 1./2, 1, 1)
	return k.do("fmul.2d", p, k.shift("shl.2d", 52, k.do("fadd.2d", n, k.double(shift+1023))))
}
