package onnx

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// spectrum computes discrete Fourier transforms of the rows of [M, n] matrices, given as real and imaginary parts; an
// absent imaginary part is zero.
type spectrum struct{ calc }

// fit crops or pads the rows to length n.
func (s spectrum) fit(v value, n int) value {
	if !v.present() {
		return v
	}
	return s.pad(v, []int{0, 0}, []int{0, n - v.shape()[1]}, op.ScalarInt("value", 0))
}

// mirror completes one half of a symmetric (sign 1) or antisymmetric (sign -1) spectrum of length n.
func (s spectrum) mirror(v value, n int, sign float64) value {
	half := n/2 + 1
	if !v.present() || n < 3 {
		return v
	}
	rest := s.narrow(v, 1, 1, n-half)
	rest = s.do(op.Flip, []value{rest}, op.Ints("axes", 1))
	return s.concat(1, v, s.mulN(rest, sign))
}

// direct is the length up to which a transform is one matrix product even if it could be split.
const direct = 64

// transform computes the unscaled transform. A length a·b is computed as b transforms of length a, a multiplication by roots of
// unity, and a transforms of length b (Cooley and Tukey).
func (s spectrum) transform(re, im value, inverse bool) (value, value) {
	rows, n := re.shape()[0], re.shape()[1]
	a := 1
	if n > direct {
		for d := 2; d*d <= n; d++ {
			if n%d == 0 {
				a = d
			}
		}
	}
	sign := -1.0
	if inverse {
		sign = 1
	}
	if a == 1 {
		cos, sin := s.roots(re, n, n, n, sign)
		return s.product(re, im, cos, sin)
	}
	b := n / a
	// Element j1·b+j2 is at [j2, j1]; after the first transform, [j2, k1] holds a part of k1+k2·a.
	split := func(v value, p, q int) value {
		if !v.present() {
			return v
		}
		return s.permute(s.reshape(v, rows, p, q), 0, 2, 1)
	}
	flat := func(v value, p, q int) value {
		if !v.present() {
			return v
		}
		return s.reshape(v, p, q)
	}
	re, im = s.transform(flat(split(re, a, b), rows*b, a), flat(split(im, a, b), rows*b, a), inverse)
	cos, sin := s.roots(re, b, a, n, sign)
	re, im = s.reshape(re, rows, b, a), s.reshape(im, rows, b, a)
	re, im = s.sub(s.mul(re, cos), s.mul(im, sin)), s.add(s.mul(re, sin), s.mul(im, cos))
	re, im = s.transform(flat(split(re, b, a), rows*a, b), flat(split(im, b, a), rows*a, b), inverse)
	return s.reshape(split(re, a, b), rows, n), s.reshape(split(im, a, b), rows, n)
}

// roots returns exp(sign·2πi·j·k/n) for j < rows and k < cols, in the type of like.
func (s spectrum) roots(like value, rows, cols, n int, sign float64) (cos, sin value) {
	s.reserve(like.dtype(), rows, cols)
	s.scratch(8, rows, cols)
	c, d := make([]float64, rows*cols), make([]float64, rows*cols)
	for j := range rows {
		for k := range cols {
			angle := 2 * math.Pi * float64(j*k%n) / float64(n)
			c[j*cols+k], d[j*cols+k] = math.Cos(angle), sign*math.Sin(angle)
		}
	}
	return s.constFloats(like.dtype(), []int{rows, cols}, c), s.constFloats(like.dtype(), []int{rows, cols}, d)
}

// product returns the complex matrix product (re + i·im)·(cos + i·sin).
func (s spectrum) product(re, im, cos, sin value) (value, value) {
	x, y := s.matmul(re, cos, false, false), s.matmul(re, sin, false, false)
	if im.present() {
		x = s.sub(x, s.matmul(im, sin, false, false))
		y = s.add(y, s.matmul(im, cos, false, false))
	}
	return x, y
}
