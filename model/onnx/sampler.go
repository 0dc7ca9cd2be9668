package onnx

import (
	"github.com/goburn/burn/core/dtype"
)

// sampler reads [N, C, spatial...] tensors at points between their elements.
type sampler struct {
	calc
	dims    []int  // the spatial dimensions
	method  string // nearest, linear or cubic
	padding string // zeros, border or reflection
	align   bool   // reflect at the centres of the outermost elements instead of their edges
}

// tap is one term of the weighted sum for a point: the index of the element in row-major order of the spatial dimensions, and its
// weight, each [N, P].
type tap struct{ index, weight value }

// sample reads x at coordinates, one [N, P] tensor per spatial dimension in units of elements. The result is [N, C, P].
func (s sampler) sample(x value, at []value) value {
	given := x.dtype()
	x = s.wide(x)
	x = s.reshape(x, x.shape()[0], x.shape()[1], product(s.dims))
	var sum value
	for _, p := range s.taps(at) {
		v := s.gather(x, p.index, 2, 1)
		if p.weight.present() {
			v = s.mul(v, s.cast(s.unsqueeze(p.weight, 1), x.dtype()))
		}
		if sum.present() {
			v = s.add(sum, v)
		}
		sum = v
	}
	return s.cast(sum, given)
}

// taps combines the taps of all dimensions. An absent weight means 1.
func (s sampler) taps(at []value) []tap {
	all := []tap{{}}
	for d, x := range at {
		var joined []tap
		for _, p := range all {
			for _, q := range s.along(d, x) {
				if p.index.present() {
					q.index = s.add(s.mulN(p.index, float64(s.dims[d])), q.index)
				}
				if p.weight.present() && q.weight.present() {
					q.weight = s.mul(p.weight, q.weight)
				} else if p.weight.present() {
					q.weight = p.weight
				}
				joined = append(joined, q)
			}
		}
		all = joined
	}
	return all
}

// along returns the taps of one dimension.
func (s sampler) along(d int, x value) []tap {
	size := float64(s.dims[d])
	if s.method == "nearest" {
		x = s.round(x)
	}
	low, high := -0.5, size-0.5
	if s.align {
		low, high = 0, size-1
	}
	inside := s.and(s.atMost(s.like(x, low), x), s.atMost(x, s.like(x, high)))
	switch s.padding {
	case "border":
		if s.method != "cubic" { // for cubic, element clamps each position
			x = s.where(inside, x, s.clamp(x, 0, size-1))
		}
	case "reflection":
		x = s.where(inside, x, s.reflect(x, low, high))
	}
	if s.method == "nearest" {
		return []tap{s.element(d, x, value{}, low, high)}
	}
	base := s.floor(x)
	r := s.sub(x, base)
	rest := s.sub(s.like(r, 1), r)
	if s.method == "linear" {
		return []tap{s.element(d, base, rest, low, high), s.element(d, s.addN(base, 1), r, low, high)}
	}
	var taps []tap
	for k, w := range []value{s.outer(s.addN(r, 1)), s.inner(r), s.inner(rest), s.outer(s.addN(rest, 1))} {
		taps = append(taps, s.element(d, s.addN(base, float64(k-1)), w, low, high))
	}
	return taps
}

// cubicA is the parameter of the cubic kernel in grid sampling.
const cubicA = -0.75

// inner and outer evaluate Keys' cubic kernel for distances in [0, 1] and in [1, 2].
func (s sampler) inner(x value) value {
	y := s.addN(s.mulN(x, cubicA+2), -(cubicA + 3))
	return s.addN(s.mul(s.mul(y, x), x), 1)
}

func (s sampler) outer(x value) value {
	y := s.addN(s.mulN(x, cubicA), -5*cubicA)
	y = s.addN(s.mul(y, x), 8*cubicA)
	return s.addN(s.mul(y, x), -4*cubicA)
}

// element returns the tap at an integer position. If the position is outside, the padding sets the weight to 0 or moves the position inside.
func (s sampler) element(d int, at, weight value, low, high float64) tap {
	last := float64(s.dims[d] - 1)
	switch s.padding {
	case "zeros":
		inside := s.and(s.atMost(s.like(at, 0), at), s.atMost(at, s.like(at, last)))
		if weight.present() {
			weight = s.where(inside, weight, s.like(weight, 0))
		} else {
			weight = s.cast(inside, at.dtype())
		}
	case "reflection":
		at = s.reflect(at, low, high)
	}
	return tap{s.cast(s.clamp(at, 0, last), dtype.I64), weight}
}

// reflect folds x into [low, high] by reflection.
func (s sampler) reflect(x value, low, high float64) value {
	width := high - low
	if width <= 0 {
		return s.like(x, low)
	}
	u := s.abs(s.addN(x, -low))
	u = s.sub(u, s.mulN(s.floor(s.divN(u, 2*width)), 2*width))
	return s.addN(s.min(u, s.sub(s.like(u, 2*width), u)), low)
}
