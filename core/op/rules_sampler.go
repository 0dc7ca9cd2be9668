package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// sampler reads [N, C, spatial...] tensors at points between their elements.
type sampler struct {
	sums
	dims    shape.Shape // the spatial dimensions, none empty
	mode    string      // nearest, linear or cubic
	padding string      // zeros, border or reflection
	align   bool        // reflection is about the centres of the outermost elements, not their edges
	cubicA  float64
}

// tap is one of the elements whose weighted sum is the value at a point: its index in row-major order of the spatial dimensions (i64) and
// its weight, each [N, P].
type tap struct{ index, weight Desc }

// sample reads x at coordinates, one [N, P] tensor per spatial dimension in units of elements. The result is [N, C, P].
func (s sampler) sample(x Desc, at []Desc) Desc {
	if s.Err() != nil {
		return Desc{}
	}
	n, p := x.Shape[0], at[0].Shape[1]
	x = s.Reshape(x, shape.Of(n, x.Shape[1], s.dims.Size()))
	var sum Desc
	for i, t := range s.joined(at) {
		v := s.With(Gather, []Desc{x, t.index}, Int("axis", 2), Int("batch", 1))
		weight := s.Reshape(t.weight, shape.Of(n, 1, p))
		v = s.orZero(s.Do(NotEqual, weight, s.n(weight, 0)), s.mul(v, weight)) // an element with weight zero may be infinite
		if i > 0 {
			v = s.add(sum, v)
		}
		sum = v
	}
	return sum
}

// joined returns the taps of all dimensions combined.
func (s sampler) joined(at []Desc) []tap {
	all := s.along(0, at[0])
	for d := 1; d < len(at); d++ {
		var next []tap
		own := s.along(d, at[d])
		for _, p := range all {
			row := s.mulN(p.index, float64(s.dims[d]))
			for _, q := range own {
				next = append(next, tap{s.add(row, q.index), s.mul(p.weight, q.weight)})
			}
		}
		all = next
	}
	return all
}

// along returns the taps along one dimension.
func (s sampler) along(d int, x Desc) []tap {
	last := float64(s.dims[d] - 1)
	low, high := -0.5, last+0.5
	if s.align {
		low, high = 0, last
	}
	if s.mode == "cubic" {
		base := s.Do(Floor, x)
		ratio := s.sub(x, base)
		var out []tap
		for k := -1; k <= 2; k++ {
			out = append(out, s.element(d, s.addN(base, float64(k)), keys(s.sums, s.Do(Abs, s.addN(ratio, float64(-k))), s.cubicA), low, high))
		}
		return out
	}
	switch s.padding {
	case "border":
		x = s.clampN(x, 0, last)
	case "reflection":
		x = s.clampN(s.reflect(x, low, high), 0, last)
	}
	if s.mode == "nearest" {
		x = s.Do(Round, x)
		return []tap{s.element(d, x, s.Expand(s.n(x, 1), x.Shape), low, high)}
	}
	base := s.Do(Floor, x)
	ratio := s.sub(x, base)
	return []tap{s.element(d, base, s.sub(s.n(ratio, 1), ratio), low, high), s.element(d, s.addN(base, 1), ratio, low, high)}
}

// element returns the tap at an integer position, moved inside by the padding mode if it is outside.
func (s sampler) element(d int, at, weight Desc, low, high float64) tap {
	last := float64(s.dims[d] - 1)
	switch {
	case s.padding == "zeros" || s.mode != "cubic":
		weight = s.orZero(s.within(at, s.n(at, 0), s.n(at, last)), weight)
	case s.padding == "reflection":
		at = s.reflect(at, low, high)
	}
	return tap{s.Cast(s.clampN(at, 0, last), dtype.I64), weight}
}

// reflect folds x into [low, high].
func (s sampler) reflect(x Desc, low, high float64) Desc {
	width := high - low
	if width <= 0 {
		return s.Expand(s.n(x, low), x.Shape)
	}
	u := s.Do(Abs, s.addN(x, -low))
	u = s.sub(u, s.mulN(s.Do(Floor, s.divN(u, 2*width)), 2*width))
	return s.addN(s.Do(Min, u, s.sub(s.n(u, 2*width), u)), low)
}
