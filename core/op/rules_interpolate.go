package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

var interpolateRules = map[Code]Decomposition{
	Interpolate: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		c, y, size := sums{b}, x[0], a.Ints("size")
		first, dims := trailing(y, len(size))
		for i, m := range size {
			if m == 0 {
				return b.FullInt(y.DType, 0, append(x[0].Shape[:first:first], size...))
			}
			scale := 0.0
			if s := a.Floats("scales"); len(s) > 0 {
				scale = s[i]
			}
			to := instead(y.Shape, first+i, m)
			along := newAxisMap(dims[i], m, scale, a.Str("coordinates"))
			if along.identity() {
				continue
			}
			if a.Str("mode") == "nearest" {
				y = b.With(Gather, []Desc{y, nearestTap(c, along, a.Str("rounding"))}, Int("axis", first+i))
				continue
			}
			y = c.around(y, first+i)
			index, weight := taps(c, along, a, y.DType)
			if b.Err() != nil {
				return Desc{}
			}
			y = b.With(Gather, []Desc{y, index}, Int("axis", 1))
			y = b.Reduce(Sum, c.mul(y, b.Reshape(weight, append(weight.Shape.Clone(), 1))), false, 2)
			y = b.Reshape(y, to)
		}
		return y
	}),
}

// places returns slope·i+offset of every result i, of the given rank.
func (x axisMap) places(c sums, rank int) Desc {
	return c.addN(c.mulN(c.count(x.m, 0, rank), float64(x.slope)), float64(x.offset))
}

// floorDiv returns floor(x/d) for x not below -2·d.
func floorDiv(c sums, x Desc, d int) Desc {
	return c.addN(c.divN(c.addN(x, float64(2*d)), float64(d)), -2)
}

// nearestTap returns the index (i64) of the element nearest to each result.
func nearestTap(c sums, x axisMap, rounding string) Desc {
	at := x.places(c, 1)
	switch rounding {
	case "floor":
		at = floorDiv(c, at, x.unit)
	case "ceil":
		at = floorDiv(c, c.addN(at, float64(x.unit-1)), x.unit)
	case "round_prefer_ceil": // floor(c+1/2)
		at = floorDiv(c, c.addN(c.mulN(at, 2), float64(x.unit)), 2*x.unit)
	default: // ceil(c-1/2)
		at = floorDiv(c, c.addN(c.mulN(at, 2), float64(x.unit-1)), 2*x.unit)
	}
	return c.clampN(at, 0, float64(x.n-1))
}

// taps returns the indices (i64) of the elements under the kernel of each result and their weights (of type d), both [m, taps].
func taps(c sums, x axisMap, a Attrs, d dtype.DType) (index, weight Desc) {
	reach := x.reach(a)
	at := x.places(c, 2)
	base := floorDiv(c, at, x.unit)
	ratio := c.divN(c.Cast(c.sub(at, c.mulN(base, float64(x.unit))), d), float64(x.unit))
	k := c.addN(c.count(2*reach, 1, 2), float64(1-reach))
	index = c.add(base, k)
	distance := c.Do(Abs, c.sub(c.Cast(k, d), ratio))
	if a.Bool("antialias") && x.slope > x.unit {
		distance = c.divN(distance, x.step)
	}
	switch a.Str("mode") {
	case "linear":
		weight = c.maxN(c.sub(c.n(distance, 1), distance), 0)
	case "cubic":
		weight = keys(c, distance, a.Float("cubic_a"))
	default:
		weight = lanczos(c, distance, float64(a.Int("lanczos_a")))
	}
	if a.Bool("exclude_outside") {
		weight = c.orZero(c.within(index, c.n(index, 0), c.n(index, float64(x.n-1))), weight)
	}
	if a.Bool("exclude_outside") || a.Bool("antialias") || a.Str("mode") == "lanczos" {
		weight = c.div(weight, c.Reduce(Sum, weight, true, 1))
	}
	return c.clampN(index, 0, float64(x.n-1)), weight
}

// keys returns the cubic kernel of Keys with parameter a at distances x.
func keys(c sums, x Desc, a float64) Desc {
	near := c.addN(c.mul(c.mul(c.addN(c.mulN(x, a+2), -(a+3)), x), x), 1)
	far := c.addN(c.mul(c.addN(c.mul(c.addN(c.mulN(x, a), -5*a), x), 8*a), x), -4*a)
	return c.where(c.Do(LessEqual, x, c.n(x, 1)), near, c.orZero(c.less(x, c.n(x, 2)), far))
}

// lanczos returns sinc(x)·sinc(x/a) at distances x below a.
func lanczos(c sums, x Desc, a float64) Desc {
	sinc := func(x Desc) Desc {
		angle := c.mulN(x, math.Pi)
		zero := c.Do(Equal, x, c.n(x, 0))
		return c.where(zero, c.n(x, 1), c.div(c.Do(Sin, angle), c.where(zero, c.n(x, 1), angle)))
	}
	return c.orZero(c.less(x, c.n(x, a)), c.mul(sinc(x), sinc(c.divN(x, a))))
}
