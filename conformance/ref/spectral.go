package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
)

// transform returns the Fourier sum by its definition, unscaled. im may be nil.
func transform(re, im []float64, inverse bool) (yr, yi []float64) {
	n := len(re)
	for k := range n {
		var r, i accumulator
		for j := range n {
			sin, cos := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
			if !inverse {
				sin = -sin
			}
			r.add(re[j] * cos)
			i.add(re[j] * sin)
			if im != nil {
				r.add(-im[j] * sin)
				i.add(im[j] * cos)
			}
		}
		yr, yi = append(yr, r.value()), append(yi, i.value())
	}
	return yr, yi
}

// scaleOf returns the factor that norm applies to a transform of length n.
func scaleOf(n int, norm string, inverse bool) float64 {
	switch {
	case norm == "ortho":
		return 1 / math.Sqrt(float64(n))
	case norm == "backward" && inverse || norm == "forward" && !inverse:
		return 1 / float64(n)
	}
	return 1
}

// resized returns xs truncated, or padded with zeros, to length n.
func resized(xs []float64, n int) []float64 {
	out := make([]float64, n)
	copy(out, xs)
	return out
}

// backReal returns the unscaled inverse transform, a real signal of length n. re and im are elements 0 to n/2 of its transform.
func backReal(re, im []float64, n int) []float64 {
	re, im = resized(re, n), resized(im, n)
	im[0] = 0
	for k := range n {
		switch {
		case 2*k == n:
			im[k] = 0
		case 2*k > n:
			re[k], im[k] = re[n-k], -im[n-k]
		}
	}
	x, _ := transform(re, im, true)
	return x
}

// framePlaces lists, for each frame, the positions of its elements, mirrored into [0, length).
func framePlaces(a op.Attrs, frames, length int) [][]int {
	out := make([][]int, frames)
	for f := range out {
		for j := range a.Int("n_fft") {
			p := f*a.Int("hop") + j
			if a.Bool("center") {
				p -= a.Int("n_fft") / 2
			}
			if p < 0 {
				p = -p
			}
			if p >= length {
				p = 2*(length-1) - p
			}
			out[f] = append(out[f], p)
		}
	}
	return out
}

// centredWindow returns the window with zeros on both sides.
func centredWindow(w []float64, n int) []float64 {
	return slices.Concat(make([]float64, (n-len(w))/2), w, make([]float64, n-len(w)-(n-len(w))/2))
}

func stft(n *op.Node, in []Tensor) Tensor {
	out, s := Zeros(n.Outputs[0]), n.Outputs[0].Shape
	frames, bins := s[len(s)-3], s[len(s)-2]
	window := centredWindow(in[1].F, n.Attrs.Int("n_fft"))
	for b, line := range lines(in[0].Desc.Shape, len(in[0].Desc.Shape)-1) {
		for f, places := range framePlaces(n.Attrs, frames, len(line)) {
			var xs []float64
			for j, p := range places {
				xs = append(xs, in[0].F[line[p]]*window[j])
			}
			re, im := transform(xs, nil, false)
			for k := range bins {
				to := 2 * ((b*frames+f)*bins + k)
				out.F[to], out.F[to+1] = re[k], im[k]
			}
		}
	}
	return out
}

func istft(n *op.Node, in []Tensor) Tensor {
	out, s, a := Zeros(n.Outputs[0]), in[0].Desc.Shape, n.Attrs
	frames, bins, length := s[len(s)-3], s[len(s)-2], n.Outputs[0].Shape[len(s)-3]
	size, cut := a.Int("n_fft"), 0
	if a.Bool("center") {
		cut = size / 2
	}
	window := centredWindow(in[1].F, size)
	total := size + a.Int("hop")*(frames-1)
	for b := range s[:len(s)-3].Size() {
		sum, weight := make([]accumulator, total), make([]accumulator, total)
		for f := range frames {
			var re, im []float64
			for k := range bins {
				p := 2 * ((b*frames+f)*bins + k)
				re, im = append(re, in[0].F[p]), append(im, in[0].F[p+1])
			}
			x, _ := transform(re, im, true)
			if a.Bool("onesided") {
				x = backReal(re, im, size)
			}
			for j, v := range x {
				sum[f*a.Int("hop")+j].add(v / float64(size) * window[j])
				weight[f*a.Int("hop")+j].add(window[j] * window[j])
			}
		}
		for k := range length {
			if p := k + cut; p < total && weight[p].value() > 1e-11 {
				out.F[b*length+k] = sum[p].value() / weight[p].value()
			}
		}
	}
	return out
}

// bessel returns the modified Bessel function of order 0, by its series.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for m := 1.0; term > sum*1e-20; m++ {
		term *= x / 2 / m * (x / 2 / m)
		sum += term
	}
	return sum
}

// taper returns a kernel that sets element k to f(2πk/N, k/N).
func taper(f func(a op.Attrs, angle, at float64) float64) kernel {
	return direct(func(n *op.Node, _ []Tensor) Tensor {
		out, size := Zeros(n.Outputs[0]), n.Attrs.Int("size")
		for k := range size {
			at := float64(k) / float64(size)
			if !n.Attrs.Bool("periodic") {
				at = float64(k) / float64(size-1)
			}
			if out.F[k] = 1; size > 1 {
				out.F[k] = f(n.Attrs, 2*math.Pi*at, at)
			}
		}
		return out
	})
}

var spectralKernels = map[op.Code]kernel{
	op.FFT: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s, inverse := Zeros(n.Outputs[0]), in[0].Desc.Shape, n.Attrs.Bool("inverse")
		scale := scaleOf(s[n.Attrs.Int("axis")], n.Attrs.Str("norm"), inverse)
		for _, line := range lines(s[:len(s)-1], n.Attrs.Int("axis")) {
			var re, im []float64
			for _, p := range line {
				re, im = append(re, in[0].F[2*p]), append(im, in[0].F[2*p+1])
			}
			re, im = transform(re, im, inverse)
			for k, p := range line {
				out.F[2*p], out.F[2*p+1] = re[k]*scale, im[k]*scale
			}
		}
		return out
	}),
	op.RFFT: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s, axis := Zeros(n.Outputs[0]), n.Outputs[0].Shape, n.Attrs.Int("axis")
		length := n.Attrs.Int("n")
		if length == 0 {
			length = in[0].Desc.Shape[axis]
		}
		scale := scaleOf(length, n.Attrs.Str("norm"), false)
		from := lines(in[0].Desc.Shape, axis)
		for i, line := range lines(s[:len(s)-1], axis) {
			re, im := transform(resized(floatsAt(in[0], from[i])[:min(length, len(from[i]))], length), nil, false)
			for k, p := range line {
				out.F[2*p], out.F[2*p+1] = re[k]*scale, im[k]*scale
			}
		}
		return out
	}),
	op.IRFFT: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s, axis, length := Zeros(n.Outputs[0]), in[0].Desc.Shape, n.Attrs.Int("axis"), n.Attrs.Int("n")
		scale := scaleOf(length, n.Attrs.Str("norm"), true)
		from := lines(s[:len(s)-1], axis)
		for i, line := range lines(n.Outputs[0].Shape, axis) {
			var re, im []float64
			for k, p := range from[i] {
				if k <= length/2 {
					re, im = append(re, in[0].F[2*p]), append(im, in[0].F[2*p+1])
				}
			}
			x := backReal(re, im, length)
			for k, p := range line {
				out.F[p] = x[k] * scale
			}
		}
		return out
	}),
	op.FFTShift: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s := Zeros(n.Outputs[0]), in[0].Desc.Shape
		each(s, func(pos int, idx []int) {
			to := slices.Clone(idx)
			for _, a := range n.Attrs.Ints("axes") {
				by := s[a] / 2
				if n.Attrs.Bool("inverse") {
					by = s[a] - by
				}
				to[a] = (idx[a] + by) % s[a]
			}
			out.set(at(s, to), in[0], pos)
		})
		return out
	}),
	op.STFT: direct(stft), op.ISTFT: direct(istft),
	op.HannWindow:    taper(func(_ op.Attrs, x, _ float64) float64 { return 0.5 - 0.5*math.Cos(x) }),
	op.HammingWindow: taper(func(a op.Attrs, x, _ float64) float64 { return a.Float("alpha") - (1-a.Float("alpha"))*math.Cos(x) }),
	op.BlackmanWindow: taper(func(_ op.Attrs, x, _ float64) float64 {
		return 0.42 - 0.5*math.Cos(x) + 0.08*math.Cos(2*x)
	}),
	op.KaiserWindow: taper(func(a op.Attrs, _, at float64) float64 {
		beta := a.Float("beta")
		return bessel(beta*math.Sqrt(max(0, 1-(2*at-1)*(2*at-1)))) / bessel(beta)
	}),
}
