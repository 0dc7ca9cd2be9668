package op

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var spectralRules = map[Code]Decomposition{
	FFT: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		axis, n := a.Int("axis"), x[0].Shape[a.Int("axis")]
		re, im := parts(b, x[0])
		y := fourier(b, signal{linesOf(b, re, axis), linesOf(b, im, axis)}, n, a.Bool("inverse"))
		s := x[0].Shape[:len(x[0].Shape)-1]
		return scaled(b, paired(b, unlined(b, y.re, s, axis), unlined(b, y.im, s, axis)), n, a, a.Bool("inverse"))
	}),
	RFFT: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		axis := a.Int("axis")
		n := lengthOr(a.Int("n"), x[0].Shape[axis])
		v := linesOf(b, resized(b, x[0], axis, n), axis)
		var y signal
		if n <= direct {
			cos, sin := twiddles(b, v.DType, n, n/2+1, n)
			y = signal{b.Do(MatMul, v, cos), b.Do(Neg, b.Do(MatMul, v, sin))}
		} else {
			y = fourier(b, signal{v, zerosLike(b, v)}, n, false)
			y = signal{b.Narrow(y.re, 1, 0, n/2+1), b.Narrow(y.im, 1, 0, n/2+1)}
		}
		s := x[0].Shape.Clone()
		s[axis] = n/2 + 1
		return scaled(b, paired(b, unlined(b, y.re, s, axis), unlined(b, y.im, s, axis)), n, a, false)
	}),
	IRFFT: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		axis, n := a.Int("axis"), a.Int("n")
		re, im := parts(b, resized(b, x[0], axis, n/2+1))
		mirrored := func(v Desc) (Desc, Desc) { // elements 0 to n/2, and the elements from n/2+1 on
			v = linesOf(b, v, axis)
			return v, b.Un(Flip, b.Narrow(v, 1, 1, (n-1)/2), Ints("axes", 1))
		}
		re, re2 := mirrored(re)
		im, im2 := mirrored(im)
		y := fourier(b, signal{b.Concat(1, re, re2), b.Concat(1, im, b.Do(Neg, im2))}, n, true).re
		s := slices.Clone(x[0].Shape[:len(x[0].Shape)-1])
		s[axis] = n
		return scaled(b, unlined(b, y, s, axis), n, a, true)
	}),
	FFTShift: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		y := x[0]
		for _, axis := range a.Ints("axes") {
			n := y.Shape[axis]
			first := (n + 1) / 2 // the number of elements that move to the end
			if a.Bool("inverse") {
				first = n / 2
			}
			if n > 1 && b.Err() == nil {
				y = b.Concat(axis, b.Narrow(y, axis, first, n-first), b.Narrow(y, axis, 0, first))
			}
		}
		return y
	}),
	STFT: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		n, hop, last := a.Int("n_fft"), a.Int("hop"), len(x[0].Shape)-1
		length, before := x[0].Shape[last], 0
		if a.Bool("center") {
			before = n / 2
		}
		frames := 1 + (length+2*before-n)/hop
		at := b.Do(Add, places(b, frames, hop, n), b.FullInt(dtype.I64, int64(-before), nil))
		if before > 0 { // mirror at both ends
			end := b.FullInt(dtype.I64, int64(length-1), nil)
			at = b.Do(Sub, end, b.Do(Abs, b.Do(Sub, end, b.Do(Abs, at))))
		}
		y := b.With(Gather, []Desc{x[0], at}, Int("axis", last))
		y = b.Do(Mul, y, centred(b, x[1], n))
		if a.Bool("onesided") {
			return b.Un(RFFT, y, Int("axis", last+1))
		}
		return b.Un(FFT, paired(b, y, zerosLike(b, y)), Int("axis", last+1))
	}),
	ISTFT: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s, n, hop := x[0].Shape, a.Int("n_fft"), a.Int("hop")
		last := len(s) - 1
		frames, outer := s[last-2], s[:last-2]
		total := n + hop*(frames-1)
		var y Desc
		if a.Bool("onesided") {
			y = b.Un(IRFFT, x[0], Int("axis", last-1), Int("n", n))
		} else {
			y, _ = parts(b, b.Un(FFT, x[0], Int("axis", last-1), Flag("inverse", true)))
		}
		window := centred(b, x[1], n)
		at := b.Reshape(places(b, frames, hop, n), shape.Of(frames*n))
		overlaid := func(v Desc) Desc { // overlaid adds up lines of frames at their positions
			lines := shape.Shape(v.Shape[:max(0, len(v.Shape)-2)]).Size()
			zero := b.Expand(b.Like(v, 0), shape.Of(lines, total))
			return b.With(Scatter, []Desc{zero, at, b.Reshape(v, shape.Of(lines, frames*n))}, Int("axis", 1), Str("mode", "add"))
		}
		sum := overlaid(b.Do(Mul, y, window))
		weight := overlaid(b.Expand(b.Do(Mul, window, window), shape.Of(frames, n)))
		covered := b.Do(Less, b.Like(weight, 1e-11), weight)
		y = b.Do(Where, covered, b.Do(Div, sum, b.Do(Where, covered, weight, b.Like(weight, 1))), b.Like(sum, 0))
		cut := 0
		if a.Bool("center") {
			cut = n / 2
		}
		length := lengthOr(a.Int("length"), total-2*cut)
		y = b.Narrow(y, 1, cut, total-cut)
		return b.Reshape(resized(b, y, 1, length), append(outer[:len(outer):len(outer)], length))
	}),
	HannWindow: windowRule(func(b *Builder, a Attrs, k Desc, n int) Desc { return cosines(b, a, k, n, 0.5, -0.5) }),
	HammingWindow: windowRule(func(b *Builder, a Attrs, k Desc, n int) Desc {
		return cosines(b, a, k, n, a.Float("alpha"), a.Float("alpha")-1)
	}),
	BlackmanWindow: windowRule(func(b *Builder, a Attrs, k Desc, n int) Desc { return cosines(b, a, k, n, 0.42, -0.5, 0.08) }),
	KaiserWindow: windowRule(func(b *Builder, a Attrs, k Desc, n int) Desc {
		// I0(z) is the sum over m of (z²/4)^m/m!², and 1-(2k/N-1)² is 4k(N-k)/N².
		t := b.Cast(b.Do(Mul, k, b.Do(Sub, b.FullInt(dtype.I64, int64(n), nil), k)), windowType(a))
		t = b.Do(Div, t, b.Like(t, float64(n)*float64(n)/4))
		c := besselTerms(a.Float("beta"))
		y := b.Like(t, c[len(c)-1])
		for m := len(c) - 2; m >= 0; m-- {
			y = b.Do(Add, b.Do(Mul, y, t), b.Like(t, c[m]))
		}
		return b.Expand(y, k.Shape)
	}),
}

// besselTerms returns the terms of I0(beta) divided by their sum.
func besselTerms(beta float64) []float64 {
	logs, peak := []float64{0}, 0.0
	for m := 1; beta > 0; m++ {
		l := logs[m-1] + 2*math.Log(beta/2/float64(m))
		if l < peak-50 && float64(m) > beta/2 {
			break
		}
		logs, peak = append(logs, l), max(peak, l)
	}
	sum := 0.0
	for i := len(logs) - 1; i >= 0; i-- {
		sum += math.Exp(logs[i] - peak)
	}
	for i, l := range logs {
		logs[i] = math.Exp(l-peak) / sum
	}
	return logs
}

// windowRule returns the rule of a window function, given a function of the indices (i64) and N.
func windowRule(f func(b *Builder, a Attrs, k Desc, n int) Desc) Decomposition {
	return elementwise(func(b *Builder, _ []Desc, a Attrs) Desc {
		size, n := a.Int("size"), a.Int("size")
		if !a.Bool("periodic") {
			n--
		}
		if size < 2 {
			return b.All(Full, nil, ScalarInt("value", 1), Type("dtype", a.DType("dtype")), Ints("shape", size))[0]
		}
		k := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", size), Int("axis", 0))[0]
		return b.Cast(f(b, a, k, n), a.DType("dtype"))
	})
}

// windowType returns the type to compute a window in.
func windowType(a Attrs) dtype.DType {
	if d := a.DType("dtype"); d == dtype.F64 {
		return d
	}
	return dtype.F32
}

// cosines returns the sum of c[m]·cos(2πmk/n).
func cosines(b *Builder, a Attrs, k Desc, n int, c ...float64) Desc {
	y := b.Scalar(windowType(a), c[0])
	for m, f := range c[1:] {
		cos, _ := turnsOf(b, windowType(a), b.Do(Mul, k, b.FullInt(dtype.I64, int64(m+1), nil)), n)
		y = b.Do(Add, y, b.Do(Mul, cos, b.Like(cos, f)))
	}
	return y
}

// linesOf returns x as [lines, n] along axis.
func linesOf(b *Builder, x Desc, axis int) Desc {
	y := axisLast(b, x, axis)
	if b.Err() != nil {
		return y
	}
	n := y.Shape[len(y.Shape)-1]
	return b.Reshape(y, shape.Of(shape.Shape(y.Shape[:len(y.Shape)-1]).Size(), n))
}

// unlined is the inverse of linesOf; s is the shape of the result.
func unlined(b *Builder, x Desc, s shape.Shape, axis int) Desc {
	moved := append(slices.Delete(slices.Clone(s), axis, axis+1), s[axis])
	return b.Permute(b.Reshape(x, moved), restore(axis, len(s))...)
}

// parts returns the real and imaginary parts of a complex tensor.
func parts(b *Builder, x Desc) (re, im Desc) {
	last := len(x.Shape) - 1
	if b.Err() != nil {
		return x, x
	}
	part := func(k int) Desc { return b.Reshape(b.Narrow(x, last, k, 1), x.Shape[:last]) }
	return part(0), part(1)
}

// paired joins real and imaginary parts.
func paired(b *Builder, re, im Desc) Desc {
	up := func(v Desc) Desc { return b.Reshape(v, append(v.Shape[:len(v.Shape):len(v.Shape)], 1)) }
	return b.Concat(len(re.Shape), up(re), up(im))
}

func zerosLike(b *Builder, x Desc) Desc { return b.Expand(b.Like(x, 0), x.Shape) }

// resized truncates x, or pads it with zeros, at the end of axis to length n.
func resized(b *Builder, x Desc, axis, n int) Desc {
	if b.Err() != nil || x.Shape[axis] == n {
		return x
	}
	lo, hi := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	hi[axis] = n - x.Shape[axis]
	return b.Un(Pad, x, Ints("lo", lo...), Ints("hi", hi...))
}

// centred pads a window with zeros on both sides, fewer before, to length n.
func centred(b *Builder, window Desc, n int) Desc {
	if b.Err() != nil || window.Shape[0] == n {
		return window
	}
	missing := n - window.Shape[0]
	return b.Un(Pad, window, Ints("lo", missing/2), Ints("hi", missing-missing/2))
}

// places returns the indices f·hop+j (i64) of frames.
func places(b *Builder, frames, hop, n int) Desc {
	f := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", frames, 1), Int("axis", 0))[0]
	j := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", 1, n), Int("axis", 1))[0]
	return b.Do(Add, b.Do(Mul, f, b.FullInt(dtype.I64, int64(hop), nil)), j)
}
