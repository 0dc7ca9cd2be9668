package vecmath

import "math"

const (
	log2e  = 1.44269504088896341
	ln2Hi  = 0.693359375 // few bits, so that its product with an exponent is exact
	ln2Lo  = -2.12194440e-4
	magic  = 3 << 22 // adding it rounds a small float32 to an integer
	expTop = 88.72284
	expLow = -103.97208
)

// exp reduces the argument to |r| <= ln2/2 and evaluates the minimax polynomial of Cephes (Moshier).
func exp(x float32) float32 {
	if !(x <= expTop) {
		if x > expTop {
			return float32(math.Inf(1))
		}
		return x // NaN
	}
	if x < expLow {
		return 0
	}
	k := (x*log2e + magic) - magic
	r := x - k*ln2Hi
	r -= k * ln2Lo
	p := float32(1.9875691500e-4)
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	p = p*r*r + r + 1
	n := int32(k)
	if n < -125 || n > 127 { // in two steps, so that only the last one rounds
		half := n / 2
		return p * pow2(half) * pow2(n-half)
	}
	return p * pow2(n)
}

// pow2 returns 2 to the power n, for n in [-126, 127].
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// log splits off the exponent and evaluates the polynomial of Cephes (Moshier) around 1.
func log(x float32) float32 {
	b := math.Float32bits(x)
	if b-0x00800000 >= 0x7f000000 { // zero, denormal, negative, infinite or NaN
		switch {
		case x == 0:
			return float32(math.Inf(-1))
		case x < 0:
			return float32(math.NaN())
		case b >= 0x7f800000:
			return x
		}
		return log(x*(1<<23)) - 23*math.Ln2
	}
	// m in [sqrt(1/2), sqrt(2))
	shifted := b - 0x3f3504f3
	e := float32(int32(shifted) >> 23)
	m := math.Float32frombits(shifted&0x007fffff + 0x3f3504f3)
	r := m - 1
	z := r * r
	p := float32(7.0376836292e-2)
	p = p*r - 1.1514610310e-1
	p = p*r + 1.1676998740e-1
	p = p*r - 1.2420140846e-1
	p = p*r + 1.4249322787e-1
	p = p*r - 1.6668057665e-1
	p = p*r + 2.0000714765e-1
	p = p*r - 2.4999993993e-1
	p = p*r + 3.3333331174e-1
	y := r * z * p
	y += e * ln2Lo
	y -= 0.5 * z
	return r + y + e*ln2Hi
}

// tanh returns the hyperbolic tangent. Near zero it uses a polynomial of Cephes, because the exponential form loses digits there.
func tanh(x float32) float32 {
	a := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if a < 0.625 {
		z := x * x
		p := float32(-5.70498872745e-3)
		p = p*z + 2.06390887954e-2
		p = p*z - 5.37397155531e-2
		p = p*z + 1.33314422036e-1
		p = p*z - 3.33332819422e-1
		return p*z*x + x
	}
	if a > 9.1 {
		return math.Float32frombits(math.Float32bits(1) | math.Float32bits(x)&(1<<31))
	}
	t := 1 - 2/(exp(2*a)+1)
	if x < 0 {
		return -t
	}
	return t // NaN also reaches this line and is returned
}

// erf uses a Taylor series near zero and one minus erfc elsewhere.
func erf(x float32) float32 {
	a := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if a < 0.5 {
		z := x * x
		p := float32(1.0 / 9360)
		p = p*z - 1.0/1320
		p = p*z + 1.0/216
		p = p*z - 1.0/42
		p = p*z + 1.0/10
		p = p*z - 1.0/3
		return x * (2 / math.SqrtPi) * (p*z + 1)
	}
	if a > 4 {
		a = 4 // erfc is then less than half a unit in the last place of one
	}
	if x != x {
		return x
	}
	y := 1 - erfc(float64(a))
	if x < 0 {
		return -y
	}
	return y
}

// erfc returns 1-erf(x) for x >= 0, with a relative error of some 2e-7: Chebyshev fit of Numerical Recipes (Press et al.), section 6.2,
// "erfcc".
func erfc(x float64) float32 {
	t := 1 / (1 + 0.5*float32(x))
	p := float32(0.17087277)
	p = p*t - 0.82215223
	p = p*t + 1.48851587
	p = p*t - 1.13520398
	p = p*t + 0.27886807
	p = p*t - 0.18628806
	p = p*t + 0.09678418
	p = p*t + 0.37409196
	p = p*t + 1.00002368
	// The square is much larger than the other term: round it before the addition, to keep its digits.
	arg := -x*x + float64(p*t-1.26551223)
	hi := float32(arg)
	return t * exp(hi) * (1 + float32(arg-float64(hi)))
}

func gelu(x float32) float32 {
	if x < 0 {
		if x < -50 { // the result underflows, minus infinity included (NaN, as in the formula)
			if x < -math.MaxFloat32 {
				return float32(math.NaN())
			}
			return x * 0
		}
		return x * (0.5 * erfc(-float64(x)*(math.Sqrt2/2)))
	}
	if x > 10 {
		return x
	}
	return x * (1 - 0.5*erfc(float64(x)*(math.Sqrt2/2)))
}
