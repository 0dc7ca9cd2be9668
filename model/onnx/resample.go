package onnx

import "math"

// resampling describes how Resize maps one axis.
type resampling struct {
	in, out     int
	scale       float64
	transform   string // coordinate_transformation_mode
	interpolate string // nearest, linear or cubic
	nearest     string // rounding of nearest; "simple" is the rounding of opsets before 11
	cubicA      float64
	antialias   bool
	exclude     bool    // weights of positions outside are 0, and the rest are normalised
	start, end  float64 // roi of tf_crop_and_resize
}

// taps holds, for each output position of an axis, the input positions of its weighted sum: index and weight have width entries
// per output. outside marks outputs that tf_crop_and_resize extrapolates, and is nil if there are none.
type taps struct {
	width   int
	index   []int
	weight  []float64
	outside []bool
}

// identity reports whether the axis stays unchanged in every mode.
func (r *resampling) identity() bool {
	return r.in == r.out && r.scale == 1 && r.transform != "tf_crop_and_resize"
}

// origin returns the coordinate of output position i on the input axis.
func (r *resampling) origin(i int) float64 {
	x, in := float64(i), float64(r.in)
	out := r.scale * in // not rounded
	switch r.transform {
	case "align_corners":
		if out == 1 {
			return 0
		}
		return x * (in - 1) / (out - 1)
	case "asymmetric":
		return x / r.scale
	case "tf_crop_and_resize":
		if out == 1 {
			return (r.end-r.start)*(in-1)/2 + r.start*(in-1)
		}
		return x*(r.end-r.start)*(in-1)/(out-1) + r.start*(in-1)
	case "pytorch_half_pixel":
		if out == 1 {
			return 0
		}
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / r.scale
	case "half_pixel_symmetric": // keeps the centre when the output length is not exactly scale times the input length
		return in/2*(1-float64(r.out)/out) + (x+0.5)/r.scale - 0.5
	}
	return (x+0.5)/r.scale - 0.5
}

// single computes origin in f32 steps, as other runtimes do. For coordinates on an element or midway between two, the last bit
// decides which element is nearest.
func (r *resampling) single(i int) float64 {
	x, scale := float32(i), float32(r.scale)
	switch r.transform {
	case "asymmetric":
		return float64(x / scale)
	case "half_pixel", "pytorch_half_pixel":
		if r.transform == "half_pixel" || r.scale*float64(r.in) != 1 {
			return float64(float32((x+0.5)/scale) - 0.5)
		}
	}
	return r.origin(i)
}

// round returns the input position that mode nearest selects for x.
func (r *resampling) round(x float64) int {
	switch r.nearest {
	case "floor":
		x = math.Floor(x)
	case "ceil":
		x = math.Ceil(x)
	case "round_prefer_ceil":
		x = math.Floor(x + 0.5)
	case "simple":
		if r.scale < 1 {
			x = math.Ceil(x)
		} else {
			x = math.Floor(x)
		}
	default: // round_prefer_floor
		x = math.Ceil(x - 0.5)
	}
	return r.clip(int(x))
}

func (r *resampling) clip(i int) int { return max(0, min(i, r.in-1)) }

func (r *resampling) table() taps {
	t := taps{}
	if r.in == 0 || r.out == 0 {
		return taps{width: 1}
	}
	for i := range r.out {
		x := r.origin(i)
		if r.transform == "tf_crop_and_resize" && (x < 0 || x > float64(r.in-1)) {
			if t.outside == nil {
				t.outside = make([]bool, r.out)
			}
			t.outside[i] = true
		}
		if r.interpolate == "nearest" {
			t.width = 1
			t.index, t.weight = append(t.index, r.round(r.single(i))), append(t.weight, 1)
			continue
		}
		base := math.Ceil(x) - 1 // the ratio is in (0, 1]
		first, w := r.coefficients(x - base)
		t.width = len(w)
		total := 0.0
		for k := range w {
			at := int(base) + first + k
			if r.exclude && (at < 0 || at >= r.in) {
				w[k] = 0
			}
			total += w[k]
			t.index = append(t.index, r.clip(at))
		}
		if r.exclude || r.antialias {
			for k := range w {
				w[k] /= total
			}
		}
		t.weight = append(t.weight, w...)
	}
	return t
}

// reach returns the approximate number of input positions that contribute to an output position.
func (r *resampling) reach() int {
	if r.interpolate != "nearest" && r.antialias && r.scale < 1 {
		return int(min(4/max(r.scale, 1e-12)+4, 1e12)) // also for NaN
	}
	return 4
}

// coefficients returns the weights of consecutive input positions around the point ratio, and the first of these positions.
func (r *resampling) coefficients(ratio float64) (first int, w []float64) {
	reach, kernel := 1.0, triangle
	if r.interpolate == "cubic" {
		reach, kernel = 2, func(x float64) float64 { return keys(x, r.cubicA) }
	}
	scale := 1.0
	if r.antialias {
		scale = min(r.scale, 1)
	}
	first = int(math.Floor(-reach/scale)) + 1
	for k := first; k < 2-first; k++ {
		w = append(w, kernel(math.Abs(float64(k)-ratio)*scale))
	}
	return first, w
}

func triangle(x float64) float64 { return max(0, 1-x) }

// keys returns Keys' cubic convolution kernel with parameter a.
func keys(x, a float64) float64 {
	switch {
	case x <= 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

// repeat returns k if the table repeats each input position k times, else 0.
func (t *taps) repeat(in int) int {
	if t.width != 1 || t.outside != nil || in == 0 || len(t.index) == 0 || len(t.index)%in != 0 {
		return 0
	}
	k := len(t.index) / in
	for i, at := range t.index {
		if at != i/k {
			return 0
		}
	}
	return k
}

// matrix returns the table as a dense [out, in] matrix.
func (t *taps) matrix(in int) []float64 {
	out := len(t.index) / t.width
	m := make([]float64, out*in)
	for i, at := range t.index {
		m[i/t.width*in+at] += t.weight[i]
	}
	return m
}
