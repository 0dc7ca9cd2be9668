package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// sums has short methods for arithmetic, for rules with much of it. N in the name of a method means that an operand is a number.
type sums struct{ *Builder }

func (c sums) add(x, y Desc) Desc          { return c.Do(Add, x, y) }
func (c sums) sub(x, y Desc) Desc          { return c.Do(Sub, x, y) }
func (c sums) mul(x, y Desc) Desc          { return c.Do(Mul, x, y) }
func (c sums) div(x, y Desc) Desc          { return c.Do(Div, x, y) }
func (c sums) and(x, y Desc) Desc          { return c.Do(And, x, y) }
func (c sums) addN(x Desc, n float64) Desc { return c.Do(Add, x, c.n(x, n)) }
func (c sums) mulN(x Desc, n float64) Desc { return c.Do(Mul, x, c.n(x, n)) }
func (c sums) divN(x Desc, n float64) Desc { return c.Do(Div, x, c.n(x, n)) }
func (c sums) minN(x Desc, n float64) Desc { return c.Do(Min, x, c.n(x, n)) }
func (c sums) maxN(x Desc, n float64) Desc { return c.Do(Max, x, c.n(x, n)) }
func (c sums) where(p, x, y Desc) Desc     { return c.Do(Where, p, x, y) }
func (c sums) orZero(p, x Desc) Desc       { return c.Do(Where, p, x, c.n(x, 0)) }
func (c sums) less(x, y Desc) Desc         { return c.Do(Less, x, y) }
func (c sums) within(x Desc, lo, hi Desc) Desc {
	return c.and(c.Do(LessEqual, lo, x), c.Do(LessEqual, x, hi))
}

// n returns a number in the type of x. Integers keep all their digits.
func (c sums) n(x Desc, n float64) Desc {
	if x.DType.IsFloat() {
		return c.Like(x, n)
	}
	return c.FullInt(x.DType, int64(n), nil)
}

// clampN clamps x to [lo, hi].
func (c sums) clampN(x Desc, lo, hi float64) Desc { return c.minN(c.maxN(x, lo), hi) }

// count returns 0, 1, ..., n-1 (i64) along dimension axis of a tensor of the given rank whose other dimensions are 1.
func (c sums) count(n, axis, rank int) Desc {
	line := slices.Repeat([]int{1}, rank)
	line[axis] = n
	return c.With(Iota, nil, Type("dtype", dtype.I64), Ints("shape", line...), Int("axis", axis))
}

// around returns x as [before, n, after], where n is the size of axis.
func (c sums) around(x Desc, axis int) Desc {
	if c.Err() != nil {
		return Desc{}
	}
	s := x.Shape
	return c.Reshape(x, shape.Of(s[:axis].Size(), s[axis], s[axis+1:].Size()))
}

// instead returns s with dimension axis replaced by the dimensions by.
func instead(s shape.Shape, axis int, by ...int) shape.Shape {
	if axis >= len(s) {
		return nil
	}
	return slices.Concat(s[:axis], shape.Shape(by), s[axis+1:])
}

// trailing returns the last n dimensions of x and the index of the first one.
func trailing(x Desc, n int) (first int, dims shape.Shape) {
	first = len(x.Shape) - n
	return first, x.Shape[first:]
}
