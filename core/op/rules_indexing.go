package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var indexingRules = map[Code]Decomposition{
	GatherElements: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		axis := a.Int("axis")
		x, idx, back := axisLast(b, cropTo(b, in[0], in[1].Shape, axis), axis), axisLast(b, in[1], axis), restore(axis, len(in[0].Shape))
		n := len(in[0].Shape) - 1
		y := b.With(Gather, []Desc{x, idx}, Int("axis", n), Int("batch", n))
		return b.Permute(y, back...)
	}),
	ScatterElements: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		axis, n := a.Int("axis"), len(in[0].Shape)-1
		part := cropTo(b, in[0], in[1].Shape, axis)
		y := b.With(Scatter, []Desc{axisLast(b, part, axis), axisLast(b, in[1], axis), axisLast(b, in[2], axis)},
			Int("axis", n), Int("batch", n), Str("mode", a.Str("mode")))
		y = b.Permute(y, restore(axis, n+1)...)
		return uncrop(b, in[0], y)
	}),
	GatherND: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		x, idx, batch := in[0], in[1], a.Int("batch")
		r := idx.Shape[len(idx.Shape)-1]
		lin, x2 := linear(b, x, idx, batch, r)
		return b.With(Gather, []Desc{x2, lin}, Int("axis", batch), Int("batch", batch))
	}),
	ScatterND: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		x, idx := in[0], in[1]
		lin, x2 := linear(b, x, idx, 0, idx.Shape[len(idx.Shape)-1])
		y := b.With(Scatter, []Desc{x2, lin, in[2]}, Int("axis", 0), Str("mode", a.Str("mode")))
		return b.Reshape(y, x.Shape)
	}),
	OneHot: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		axis := a.Int("axis")
		line := slices.Repeat([]int{1}, len(in[0].Shape)+1)
		line[axis] = a.Int("depth")
		pos := b.With(Iota, nil, Type("dtype", in[0].DType), Ints("shape", line...), Int("axis", axis))
		return b.Cast(b.Do(Equal, b.Reshape(in[0], slices.Insert(in[0].Shape.Clone(), axis, 1)), pos), a.DType("dtype"))
	}),
	TopK: func(b *Builder, in []Desc, a Attrs) []Desc {
		axis, k := a.Int("axis"), a.Int("k")
		s := b.All(Sort, in, Int("axis", axis), Flag("descending", a.Bool("largest")))
		return []Desc{b.Narrow(s[0], axis, 0, k), b.Narrow(s[1], axis, 0, k)}
	},
}

// cropTo returns the leading part of x that has the size of s in every dimension except axis.
func cropTo(b *Builder, x Desc, s shape.Shape, axis int) Desc {
	for d := range s {
		if d != axis {
			x = b.Narrow(x, d, 0, s[d])
		}
	}
	return x
}

// uncrop writes a leading part of x back into x.
func uncrop(b *Builder, x, part Desc) Desc {
	if part.Shape.Equal(x.Shape) || b.Err() != nil {
		return part
	}
	rank := len(x.Shape)
	lo, hi := make([]int, rank), make([]int, rank)
	for d := range hi {
		hi[d] = x.Shape[d] - part.Shape[d]
	}
	pad := func(v Desc) Desc { return b.Un(Pad, v, Ints("lo", lo...), Ints("hi", hi...)) }
	inside := pad(b.FullInt(dtype.Bool, 1, part.Shape))
	return b.Do(Where, inside, pad(part), x)
}

// axisLast moves axis to the end.
func axisLast(b *Builder, x Desc, axis int) Desc {
	var axes []int
	for d := range x.Shape {
		if d != axis {
			axes = append(axes, d)
		}
	}
	return b.Permute(x, append(axes, axis)...)
}

// restore returns the permutation that undoes axisLast.
func restore(axis, rank int) []int {
	axes := make([]int, rank)
	for d := range axes {
		switch {
		case d < axis:
			axes[d] = d
		case d == axis:
			axes[d] = rank - 1
		default:
			axes[d] = d - 1
		}
	}
	return axes
}

// linear merges the r indexed axes of x into one and converts index tuples to positions along it. A tuple with an index out of range
// becomes -1, which is also out of range.
func linear(b *Builder, x, idx Desc, batch, r int) (positions, joined Desc) {
	outer := idx.Shape[:len(idx.Shape)-1]
	span := x.Shape[batch : batch+r]
	joined = b.Reshape(x, slices.Concat(x.Shape[:batch], shape.Of(span.Size()), x.Shape[batch+r:]))
	last := len(idx.Shape) - 1
	part := func(k int) Desc { return b.Reshape(b.Narrow(idx, last, k, 1), outer) }
	switch r {
	case 0:
		return b.FullInt(idx.DType, 0, outer), joined
	case 1:
		return part(0), joined
	}
	zero := b.Scalar(idx.DType, 0)
	pos, bad := zero, Desc{}
	for k := range r {
		p, n := part(k), b.Scalar(idx.DType, float64(span[k]))
		out := b.Do(Or, b.Do(Less, p, zero), b.Do(GreaterEqual, p, n))
		if k == 0 {
			pos, bad = p, out
			continue
		}
		pos, bad = b.Do(Add, b.Do(Mul, pos, n), p), b.Do(Or, bad, out)
	}
	return b.Do(Where, bad, b.Scalar(idx.DType, -1), pos), joined
}
