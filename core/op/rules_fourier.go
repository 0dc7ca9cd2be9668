package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// signal contains complex lines [lines, n], in two tensors.
type signal struct{ re, im Desc }

// direct is the length up to which a transform is computed as one product with a matrix. Longer transforms are factored (Cooley and Tukey
// 1965); lengths with large prime factors become convolutions (Bluestein 1970).
const direct = 64

// fourier transforms lines of length n, unscaled.
func fourier(b *Builder, x signal, n int, inverse bool) signal {
	if b.Err() != nil {
		return x
	}
	n1 := factor(n)
	switch {
	case n <= direct || n1 == 1 && n <= 4*direct:
		return dft(b, x, n, n, inverse)
	case n1 == 1:
		return bluestein(b, x, n, inverse)
	}
	// With j = j1·n2+j2 and k = k1+n1·k2: transform over j1, multiply by exp(∓2πi·j2·k1/n), transform over j2.
	n2, lines := n/n1, x.re.Shape[0]
	turned := func(v Desc, d1, d2 int) Desc { // [lines·?, d1·d2] to lines of d1
		return b.Reshape(b.Permute(b.Reshape(v, shape.Of(lines, d1, d2)), 0, 2, 1), shape.Of(lines*d2, d1))
	}
	y := fourier(b, signal{turned(x.re, n1, n2), turned(x.im, n1, n2)}, n1, inverse) // [lines·n2, n1]
	cos, sin := twiddles(b, y.re.DType, n2, n1, n)
	if inverse {
		sin = b.Do(Neg, sin)
	}
	flat := func(v Desc) Desc { return b.Reshape(v, shape.Of(lines, n2, n1)) }
	re, im := flat(y.re), flat(y.im)
	z := signal{b.Do(Add, b.Do(Mul, re, cos), b.Do(Mul, im, sin)), b.Do(Sub, b.Do(Mul, im, cos), b.Do(Mul, re, sin))}
	z = fourier(b, signal{turned(z.re, n2, n1), turned(z.im, n2, n1)}, n2, inverse) // [lines·n1, n2]
	back := func(v Desc) Desc {
		return b.Reshape(b.Permute(b.Reshape(v, shape.Of(lines, n1, n2)), 0, 2, 1), shape.Of(lines, n))
	}
	return signal{back(z.re), back(z.im)}
}

// factor returns the greatest factor of n that is at most the square root of n and at most direct. It returns 1 if there is no other factor.
func factor(n int) int {
	for f := min(direct, int(math.Sqrt(float64(n)))); f > 1; f-- {
		if n%f == 0 {
			return f
		}
	}
	return 1
}

// dft multiplies lines of length n by the first bins columns of the DFT matrix.
func dft(b *Builder, x signal, n, bins int, inverse bool) signal {
	cos, sin := twiddles(b, x.re.DType, n, bins, n)
	lines := x.re.Shape[0]
	both := b.Concat(0, x.re, x.im)
	c, s := b.Do(MatMul, both, cos), b.Do(MatMul, both, sin)
	re := func(v Desc) Desc { return b.Narrow(v, 0, 0, lines) }
	im := func(v Desc) Desc { return b.Narrow(v, 0, lines, lines) }
	if inverse {
		return signal{b.Do(Sub, re(c), im(s)), b.Do(Add, im(c), re(s))}
	}
	return signal{b.Do(Add, re(c), im(s)), b.Do(Sub, im(c), re(s))}
}

// twiddles returns cos and sin of 2π·jk/n for j below rows and k below cols. jk is reduced modulo n in integers, so that the
// angle is as exact for large n as for small.
func twiddles(b *Builder, d dtype.DType, rows, cols, n int) (cos, sin Desc) {
	j := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", rows, 1), Int("axis", 0))[0]
	k := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", 1, cols), Int("axis", 1))[0]
	return turnsOf(b, d, b.Do(Mul, j, k), n)
}

// turnsOf returns cos and sin of 2π·p/n for integers p that are not negative.
func turnsOf(b *Builder, d dtype.DType, p Desc, n int) (cos, sin Desc) {
	whole := func(v int) Desc { return b.FullInt(dtype.I64, int64(v), nil) }
	p = b.Do(Rem, p, whole(n))
	p = b.Do(Where, b.Do(Less, whole(n), b.Do(Mul, p, whole(2))), b.Do(Sub, p, whole(n)), p) // in (-n/2, n/2]
	half := b.Do(Equal, b.Do(Mul, p, whole(2)), whole(n))
	angle := b.Cast(p, d)
	angle = b.Do(Mul, b.Do(Div, angle, b.Like(angle, float64(n))), b.Like(angle, 2*math.Pi))
	return b.Do(Cos, angle), b.Do(Where, half, b.Like(angle, 0), b.Do(Sin, angle))
}

// bluestein uses jk = (j²+k²-(k-j)²)/2: the transform is a multiplication by a chirp, a convolution with its conjugate, and another
// multiplication by the chirp.
func bluestein(b *Builder, x signal, n int, inverse bool) signal {
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	d := x.re.DType
	at := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", 1, n), Int("axis", 1))[0]
	cos, sin := turnsOf(b, d, b.Do(Mul, at, at), 2*n) // π·j²/n
	if inverse {
		sin = b.Do(Neg, sin)
	}
	times := func(x, y signal) signal {
		return signal{b.Do(Sub, b.Do(Mul, x.re, y.re), b.Do(Mul, x.im, y.im)), b.Do(Add, b.Do(Mul, x.re, y.im), b.Do(Mul, x.im, y.re))}
	}
	chirp := signal{cos, b.Do(Neg, sin)}
	grow := func(v Desc, lo, hi int) Desc { return b.Un(Pad, v, Ints("lo", 0, lo), Ints("hi", 0, hi)) }
	y := times(x, chirp)
	y = fourier(b, signal{grow(y.re, 0, m-n), grow(y.im, 0, m-n)}, m, false)
	round := func(v Desc) Desc { // v[0], v[1], ..., zeros, ..., v[2], v[1]
		return b.Do(Add, grow(v, 0, m-n), grow(b.Un(Flip, b.Narrow(v, 1, 1, n-1), Ints("axes", 1)), m-n+1, 0))
	}
	h := fourier(b, signal{round(cos), round(sin)}, m, false)
	y = fourier(b, times(y, h), m, true)
	scale := b.Like(y.re, 1/float64(m))
	y = signal{b.Do(Mul, b.Narrow(y.re, 1, 0, n), scale), b.Do(Mul, b.Narrow(y.im, 1, 0, n), scale)}
	return times(y, chirp)
}

// scaled applies the normalisation of the attribute norm to a transform of length n.
func scaled(b *Builder, x Desc, n int, a Attrs, inverse bool) Desc {
	switch norm := a.Str("norm"); {
	case norm == "ortho":
		return b.Do(Mul, x, b.Like(x, 1/math.Sqrt(float64(n))))
	case (norm == "backward") == inverse:
		return b.Do(Div, x, b.Like(x, float64(n)))
	}
	return x
}
