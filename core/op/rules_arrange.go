package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func counter(b *Builder, d dtype.DType, axis int, s ...int) Desc {
	return b.All(Iota, nil, Type("dtype", d), Ints("shape", s...), Int("axis", axis))[0]
}

var arrangeRules = map[Code]Decomposition{
	Roll: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		y := x[0]
		for i, axis := range a.Ints("axes") {
			n := y.Shape[axis]
			if n == 0 {
				continue
			}
			k := (a.Ints("shifts")[i]%n + n) % n
			if k > 0 {
				y = b.Concat(axis, b.Narrow(y, axis, n-k, k), b.Narrow(y, axis, 0, n-k))
			}
			if b.Err() != nil {
				break
			}
		}
		return y
	}),
	Tile: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		y := x[0]
		if y.Shape.Size() == 0 { // the products of its dimensions may overflow
			to := y.Shape.Clone()
			for axis, n := range a.Ints("repeats") {
				to[axis] *= n
			}
			return b.FullInt(y.DType, 0, to)
		}
		for axis, n := range a.Ints("repeats") {
			if n == 1 || b.Err() != nil {
				continue
			}
			s := y.Shape
			outer, inner := s[:axis].Size(), s[axis:].Size()
			to := s.Clone()
			to[axis] *= n
			y = b.Reshape(b.Expand(b.Reshape(y, shape.Of(outer, 1, inner)), shape.Of(outer, n, inner)), to)
		}
		return y
	}),
	RepeatInterleave: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		s, axis, n := x[0].Shape, a.Int("axis"), a.Int("repeats")
		to := s.Clone()
		to[axis] *= n
		if s.Size() == 0 {
			return b.FullInt(x[0].DType, 0, to)
		}
		outer, inner := s[:axis+1].Size(), s[axis+1:].Size()
		return b.Reshape(b.Expand(b.Reshape(x[0], shape.Of(outer, 1, inner)), shape.Of(outer, n, inner)), to)
	}),
	Stack: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		axis := a.Int("axis")
		var parts []Desc
		for _, v := range x {
			parts = append(parts, b.Reshape(v, slices.Insert(v.Shape.Clone(), axis, 1)))
		}
		return b.Concat(axis, parts...)
	}),
	Extend: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		y := x[0]
		for axis, n := range x[0].Shape {
			lo, hi := a.Ints("lo")[axis], a.Ints("hi")[axis]
			if lo == 0 && hi == 0 || b.Err() != nil {
				continue
			}
			if n == 0 {
				break // empty before and after
			}
			at := b.Do(Sub, counter(b, dtype.I64, 0, n+lo+hi), b.FullInt(dtype.I64, int64(lo), nil))
			y = b.With(Gather, []Desc{y, source(b, at, n, a.Str("mode"))}, Int("axis", axis))
		}
		if want := plus(plus(x[0].Shape, a.Ints("lo")), a.Ints("hi")); x[0].Shape.Size() == 0 && b.Err() == nil && !y.Shape.Equal(want) {
			return b.FullInt(y.DType, 0, want) // still empty, as an empty axis does not grow
		}
		return y
	}),
	MeshGrid: func(b *Builder, x []Desc, _ Attrs) []Desc {
		s := make(shape.Shape, len(x))
		for i, v := range x {
			s[i] = v.Shape[0]
		}
		var outs []Desc
		for i, v := range x {
			line := slices.Repeat(shape.Of(1), len(x))
			line[i] = s[i]
			outs = append(outs, b.Expand(b.Reshape(v, line), s))
		}
		return outs
	},
	Eye: elementwise(func(b *Builder, _ []Desc, a Attrs) Desc {
		rows, columns := counter(b, dtype.I64, 0, a.Int("rows"), 1), counter(b, dtype.I64, 0, a.Int("columns"))
		return b.Cast(b.Do(Equal, b.Do(Add, rows, b.FullInt(dtype.I64, int64(a.Int("diagonal")), nil)), columns), a.DType("dtype"))
	}),
	LinSpace: elementwise(func(b *Builder, _ []Desc, a Attrs) Desc {
		n, d := a.Int("count"), a.DType("dtype")
		steps := n - 1
		if !a.Bool("endpoint") {
			steps = n
		}
		c := d
		if narrow(d) {
			c = dtype.F32
		}
		// The result is computed from both ends, so that rounding errors do not grow towards one of them.
		t := b.Do(Div, counter(b, c, 0, n), b.Scalar(c, float64(max(1, steps))))
		from := b.Do(Mul, b.Scalar(c, a.Float("start")), b.Do(Sub, b.Scalar(c, 1), t))
		return b.Cast(b.Do(Add, from, b.Do(Mul, b.Scalar(c, a.Float("stop")), t)), d)
	}),
}

// source maps positions, which may be beyond the ends of an axis of n elements, to positions of the axis.
func source(b *Builder, at Desc, n int, mode string) Desc {
	number := func(v int) Desc { return b.FullInt(dtype.I64, int64(v), nil) }
	switch mode {
	case "edge":
		return b.Un(Clamp, at, ScalarInt("min", 0), ScalarInt("max", int64(n-1)))
	case "wrap":
		return b.Do(FloorMod, at, number(n))
	case "symmetric":
		m := b.Do(FloorMod, at, number(2*n))
		return b.Do(Min, m, b.Do(Sub, number(2*n-1), m))
	}
	m := b.Do(FloorMod, at, number(max(1, 2*(n-1))))
	return b.Do(Min, m, b.Do(Sub, number(2*(n-1)), m))
}
