package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

func init() {
	register("HannWindow", 17, windowNode(func(x float64) float64 { return 0.5 - 0.5*math.Cos(x) }))
	register("HammingWindow", 17, windowNode(func(x float64) float64 { return 25.0/46 - 21.0/46*math.Cos(x) }))
	register("BlackmanWindow", 17, windowNode(func(x float64) float64 { return 0.42 - 0.5*math.Cos(x) + 0.08*math.Cos(2*x) }))
	register("MelWeightMatrix", 17, melWeightNode)
	register("DFT", 17, func(t *tracer, n *node) []value { return t.dftNode(n, n.int("axis", 1)) })
	register("DFT", 20, func(t *tracer, n *node) []value {
		axis := -2
		if v := n.input(2); v.present() {
			axis = t.hostInt(v)
		}
		return t.dftNode(n, axis)
	})
	register("STFT", 17, stftNode)
}

// windowNode returns the converter of a window function. The argument of f is an angle that runs over a full circle.
func windowNode(f func(angle float64) float64) converter {
	return func(t *tracer, n *node) []value {
		t.need(n, 0)
		size := t.hostInt(n.input(0))
		t.reserve(dtype.F64, size)
		turn := float64(size)
		if n.int("periodic", 1) == 0 {
			turn--
		}
		w := make([]float64, size)
		for i := range w {
			w[i] = f(2 * math.Pi * float64(i) / turn)
		}
		return []value{t.constFloats(t.elementType(n.int("output_datatype", 1)), []int{size}, w)}
	}
}

// melWeightNode returns the matrix that maps spectrum bins to triangular filters of equal width on the mel scale.
func melWeightNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2, 3, 4)
	bins, length, rate := t.hostInt(n.input(0)), t.hostInt(n.input(1)), t.hostInt(n.input(2))
	low, high := t.hostFloat(n.input(3)), t.hostFloat(n.input(4))
	if bins < 1 || length < 0 || rate < 1 {
		t.fail("%d mel bins over %d samples at %d hertz", bins, length, rate)
	}
	rows := length/2 + 1
	t.reserve(dtype.F64, rows, bins)
	t.scratch(8, bins)
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	edges := make([]int, bins+2) // edges of the triangles, as bins of the spectrum
	for i := range edges {
		m := mel(low) + float64(i)*(mel(high)-mel(low))/float64(bins+2)
		edges[i] = int(math.Floor(float64(length+1) * 700 * (math.Pow(10, m/2595) - 1) / float64(rate)))
	}
	w := make([]float64, rows*bins)
	set := func(row, bin int, v float64) {
		if row < 0 || row >= rows {
			t.fail("mel bin %d reaches bin %d of %d of the spectrum", bin, row, rows)
		}
		w[row*bins+bin] = v
	}
	for b := range bins {
		left, centre, right := edges[b], edges[b+1], edges[b+2]
		if left == centre {
			set(centre, b, 1)
		}
		for k := left; k <= centre && left < centre; k++ {
			set(k, b, float64(k-left)/float64(centre-left))
		}
		for k := centre; k < right; k++ {
			set(k, b, float64(right-k)/float64(right-centre))
		}
	}
	return []value{t.constFloats(t.elementType(n.int("output_datatype", 1)), []int{rows, bins}, w)}
}

// hostFloat returns the only element of a tensor.
func (t *tracer) hostFloat(v value) float64 {
	if v.shape().Size() != 1 {
		t.fail("want a scalar, got %v", v.shape())
	}
	return t.hostFloats(v)[0]
}

// dftNode transforms along an axis of a real [..., 1] or complex [..., 2] tensor.
func (t *tracer) dftNode(n *node, axis int) []value {
	t.need(n, 0)
	x, inverse, oneSided := n.input(0), n.int("inverse", 0) != 0, n.int("onesided", 0) != 0
	last := x.rank() - 1
	if last < 1 || x.shape()[last] != 1 && x.shape()[last] != 2 {
		t.fail("x is %v, want the last dimension 1 or 2", x.shape())
	}
	axis = t.axis(axis, x.rank())
	if axis == last {
		t.fail("axis %d holds the real and imaginary parts, want another axis", axis)
	}
	given := x.dtype()
	s := spectrum{calc: calc{t}}
	x = s.wide(x)
	length := x.shape()[axis]
	if inverse && oneSided {
		length = 2 * (length - 1)
	}
	if v := n.input(1); v.present() {
		length = t.hostInt(v)
	}
	if length < 1 {
		t.fail("dft_length is %d", length)
	}
	t.reserve(dtype.F64, length)
	// The axis moves to the end and all others are merged into one.
	order := append(without(x.rank()-1, axis), axis)
	part := func(k int) value {
		v := t.permute(t.squeeze(t.narrow(x, last, k, 1), last), order...)
		return t.reshape(v, v.shape()[:last-1].Size(), v.shape()[last-1])
	}
	re, im := part(0), value{}
	if x.shape()[last] == 2 {
		im = part(1)
	}
	keep := length
	if oneSided {
		keep = length/2 + 1
	}
	if inverse && oneSided {
		re, im = s.fit(re, keep), s.fit(im, keep)
		re, im = s.mirror(re, length, 1), s.mirror(im, length, -1)
	} else {
		re, im = s.fit(re, length), s.fit(im, length)
	}
	re, im = s.transform(re, im, inverse)
	parts := []value{re, im}
	if inverse && oneSided {
		parts, keep = parts[:1], length
	}
	outer := without(x.rank()-1, axis)
	dims := make([]int, 0, x.rank())
	for _, d := range outer {
		dims = append(dims, x.shape()[d])
	}
	back := make([]int, x.rank()-1)
	for i, a := range order {
		back[a] = i
	}
	for i, p := range parts {
		if inverse {
			p = s.mulN(p, 1/float64(length))
		}
		p = t.narrow(p, 1, 0, keep)
		p = t.permute(t.reshape(p, append(dims[:len(dims):len(dims)], keep)...), back...)
		parts[i] = t.unsqueeze(t.cast(p, given), last)
	}
	return []value{t.concat(last, parts...)}
}

// without returns 0, 1, ..., n-1 except k.
func without(n, k int) []int { return append(span(0, k), span(k+1, n)...) }

// stftNode transforms windowed frames of a signal [B, L] or [B, L, 1 or 2] into [B, frames, bins, 2].
func stftNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, s := n.input(0), spectrum{calc: calc{t}}
	step := t.hostInt(n.input(1))
	w := n.input(2)
	if x.rank() == 2 {
		x = t.unsqueeze(x, 2)
	}
	if x.rank() != 3 || step < 1 {
		t.fail("signal is %v and frame_step %d, want rank 3 and 1 or more", x.shape(), step)
	}
	given := x.dtype()
	x = s.wide(x)
	length := x.shape()[1]
	if w.present() {
		length = w.shape().Size()
	}
	if v := n.input(3); v.present() {
		length = t.hostInt(v)
	}
	if length < 1 || length > x.shape()[1] || w.present() && w.shape().Size() != length {
		t.fail("frame_length is %d for a signal %v", length, x.shape())
	}
	frames := 1 + (x.shape()[1]-length)/step
	t.reserve(dtype.F64, frames, length)
	t.scratch(8, frames, length)
	var index []int
	for f := range frames {
		index = append(index, span(f*step, f*step+length)...)
	}
	y := s.gather(x, t.constInts(dtype.I64, []int{frames, length}, index), 1, 0) // [B, frames, length, parts]
	if w.present() {
		y = s.mul(y, t.reshape(t.cast(w, x.dtype()), length, 1))
	}
	batch := x.shape()[0]
	part := func(k int) value { return t.reshape(t.narrow(y, 3, k, 1), batch*frames, length) }
	re, im := part(0), value{}
	if x.shape()[2] == 2 {
		im = part(1)
	}
	keep := length
	if n.int("onesided", 1) != 0 {
		keep = length/2 + 1
	}
	re, im = s.transform(re, im, false)
	shaped := func(v value) value {
		return t.reshape(t.cast(t.narrow(v, 1, 0, keep), given), batch, frames, keep, 1)
	}
	return []value{t.concat(3, shaped(re), shaped(im))}
}
