package gradient

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var movementRules = map[op.Code]Rule{
	op.Reshape: {nil, func(g *grad) []op.Desc { return []op.Desc{g.Reshape(g.dy[0], g.x[0].Shape)} }},
	op.Permute: fromDY(func(g *grad, dy op.Desc) op.Desc {
		axes := g.Ints("axes")
		back := make([]int, len(axes))
		for i, a := range axes {
			back[a] = i
		}
		return g.Permute(dy, back...)
	}),
	op.Expand: {nil, func(g *grad) []op.Desc { return []op.Desc{g.fold(g.dy[0], g.x[0].Shape)} }},
	op.Slice: {nil, func(g *grad) []op.Desc {
		return []op.Desc{spread(g, g.dy[0], g.x[0].Shape, g.Ints("start"), g.Ints("step"))}
	}},
	op.Pad: fromDY(func(g *grad, dy op.Desc) op.Desc { // the gradient of padding is a crop, and the gradient of a crop is padding with zeros
		lo, hi := slices.Clone(g.Ints("lo")), slices.Clone(g.Ints("hi"))
		for i := range lo {
			lo[i], hi[i] = -lo[i], -hi[i]
		}
		return g.Un(op.Pad, dy, op.Ints("lo", lo...), op.Ints("hi", hi...))
	}),
	op.Flip: fromDY(func(g *grad, dy op.Desc) op.Desc { return g.Un(op.Flip, dy, op.Ints("axes", g.Ints("axes")...)) }),
	op.Concat: {nil, func(g *grad) []op.Desc {
		d := make([]op.Desc, len(g.x))
		axis, at := g.Int("axis"), 0
		for i, x := range g.x {
			if n := x.Shape[axis]; g.need[i] {
				d[i] = g.Narrow(g.dy[0], axis, at, n)
			}
			at += x.Shape[axis]
		}
		return d
	}},
	op.Cast: {nil, func(g *grad) []op.Desc { return []op.Desc{g.Cast(g.dy[0], g.x[0].DType)} }},
	op.Copy: fromDY(func(_ *grad, dy op.Desc) op.Desc { return dy }),
	op.Gather: {readIn(2), func(g *grad) []op.Desc {
		if axis, batch := g.Int("axis"), g.Int("batch"); axis == batch && g.x[1].Shape[batch:].Size() == 1 {
			return []op.Desc{g.chosen(g.dy[0], g.x[1], g.x[0].Shape, axis), {}}
		}
		return []op.Desc{g.With(op.Scatter, []op.Desc{g.zeros(g.x[0]), g.x[1], g.dy[0]}, op.Int("axis", g.Int("axis")),
			op.Int("batch", g.Int("batch")), op.Str("mode", "add")), {}}
	}},
	op.Scatter: {func(need []bool) (in, out uint64) { return 7, 1 }, scatterGrad},
}

// chosen returns the gradient of a gather that selects one element of each line along an axis of a tensor of shape s. at contains the index
// of each. The gradient is dy at these indices, and zero elsewhere. It is computed by a comparison instead of a scatter, because a backend
// can fuse a comparison with the addition that uses the gradient, as after a cross entropy loss.
func (g *grad) chosen(dy, at op.Desc, s shape.Shape, axis int) op.Desc {
	line := slices.Repeat([]int{1}, len(s)) // indices along the axis
	line[axis] = s[axis]
	place := g.All(op.Iota, nil, op.Type("dtype", at.DType), op.Ints("shape", line...), op.Int("axis", axis))[0]
	before := slices.Clone(s[:axis])
	for range len(s) - axis {
		before = append(before, 1)
	}
	one := slices.Clone(s)
	one[axis] = 1
	return g.pick(g.Do(op.Equal, g.Reshape(at, before), place), g.Reshape(dy, one), g.zero(dy))
}

// spread returns the gradient of a slice of a tensor of shape s: dy at the positions of the slice, zeros elsewhere.
func spread(g *grad, dy op.Desc, s shape.Shape, start, step []int) op.Desc {
	rank := len(s)
	lo, hi := make([]int, rank), make([]int, rank)
	var flipped []int
	for i, n := range dy.Shape {
		st, at := step[i], start[i]
		if st < 0 && n > 0 {
			flipped = append(flipped, i)
			st, at = -st, at+(n-1)*st
		}
		if n == 0 {
			at, st = 0, 1
		}
		if n == 1 {
			st = 1
		}
		lo[i], hi[i] = at, s[i]-at-n*st
	}
	if flipped != nil {
		dy = g.Un(op.Flip, dy, op.Ints("axes", flipped...))
	}
	for i, n := range dy.Shape {
		if st := max(step[i], -step[i]); st > 1 && n > 1 {
			dy = dilate(g, dy, i, st)
		}
	}
	return g.Un(op.Pad, dy, op.Ints("lo", lo...), op.Ints("hi", hi...))
}

// dilate inserts step-1 zeros after every element along axis.
func dilate(g *grad, x op.Desc, axis, step int) op.Desc {
	n := x.Shape[axis]
	outer, inner := x.Shape[:axis].Size(), x.Shape[axis+1:].Size()
	y := g.Reshape(x, shape.Of(outer*n, 1, inner))
	y = g.Un(op.Pad, y, op.Ints("lo", 0, 0, 0), op.Ints("hi", 0, step-1, 0))
	s := x.Shape.Clone()
	s[axis] = n * step
	return g.Reshape(y, s)
}

// scatterGrad returns the gradients of scatter, by mode. With assign only the last update of an index has a gradient. With min and max,
// equal extremes share the gradient.
func scatterGrad(g *grad) []op.Desc {
	x, at, u, y, dy := g.x[0], g.x[1], g.x[2], g.y[0], g.dy[0]
	axis, batch := op.Int("axis", g.Int("axis")), op.Int("batch", g.Int("batch"))
	put := func(to, updates op.Desc, mode string) op.Desc {
		return g.With(op.Scatter, []op.Desc{to, at, updates}, axis, batch, op.Str("mode", mode))
	}
	take := func(from op.Desc) op.Desc { return g.With(op.Gather, []op.Desc{from, at}, axis, batch) }
	d := make([]op.Desc, 3)
	switch mode := g.Str("mode"); mode {
	case "add":
		d[0], d[2] = dy, take(dy)
	case "assign":
		if g.need[0] {
			d[0] = put(dy, g.zeros(u), "assign")
		}
		if g.need[2] {
			d[2] = g.pick(last(g), take(dy), g.zero(dy))
		}
	case "mul":
		one, none := g.Like(x, 1), g.zero(x)
		null := g.Do(op.Equal, u, none)
		rest := put(g.Expand(one, x.Shape), g.pick(null, one, u), "mul") // product of the nonzero elements
		zeros := put(g.zeros(x), g.Cast(null, x.DType), "add")
		whole := g.pick(g.Do(op.Equal, zeros, none), rest, none)
		if g.need[0] {
			d[0] = g.mul(dy, whole)
		}
		if g.need[2] {
			w := g.mul(dy, x)
			alone := g.pick(g.Do(op.Equal, zeros, one), rest, none)
			d[2] = g.pick(null, take(g.mul(w, alone)), g.div(take(g.mul(w, whole)), g.pick(null, one, u)))
		}
	default: // min, max
		won := g.Cast(g.Do(op.Equal, take(y), u), x.DType)
		stays := g.Cast(g.Do(op.Equal, x, y), x.DType)
		share := g.div(dy, put(stays, won, "add"))
		d[0], d[2] = g.mul(share, stays), g.mul(take(share), won)
	}
	return d
}

// last returns, for each update of a scatter, whether it is the last one with its index. The result broadcasts to the shape of the updates.
func last(g *grad) op.Desc {
	x, at := g.x[0].Shape, g.x[1]
	axis, batch := g.Int("axis"), g.Int("batch")
	count := g.All(op.Iota, nil, op.Type("dtype", dtype.I64), op.Dims("shape", shape.Of(at.Shape.Size())), op.Int("axis", 0))[0]
	order := g.Reshape(count, at.Shape)
	batchShape := slices.Clone(at.Shape[:batch])
	batchShape = append(batchShape, x[axis])
	to := g.Expand(g.FullInt(dtype.I64, 0, nil), batchShape)
	attrs := []op.Attr{op.Int("axis", batch), op.Int("batch", batch)}
	winner := g.With(op.Scatter, []op.Desc{to, at, order}, append(attrs, op.Str("mode", "assign"))...)
	mine := g.Do(op.Equal, g.With(op.Gather, []op.Desc{winner, at}, attrs...), order) // batch + rest of at
	s := slices.Clone(at.Shape[:batch])
	for range axis - batch {
		s = append(s, 1)
	}
	s = append(s, at.Shape[batch:]...)
	for range len(x) - axis - 1 {
		s = append(s, 1)
	}
	return g.Reshape(mine, s)
}

var indexingRules = map[op.Code]Rule{
	op.GatherElements: {readIn(2), func(g *grad) []op.Desc {
		return []op.Desc{g.With(op.ScatterElements, []op.Desc{g.zeros(g.x[0]), g.x[1], g.dy[0]}, op.Int("axis", g.Int("axis")), op.Str("mode", "add")), {}}
	}},
	op.Embedding: {readIn(2), func(g *grad) []op.Desc {
		dy, at := g.dy[0], g.x[1]
		if p := g.Int("padding"); p >= 0 {
			padded := g.Do(op.Equal, at, g.FullInt(at.DType, int64(p), nil))
			dy = g.pick(g.Reshape(padded, append(slices.Clone(at.Shape), 1)), g.zero(dy), dy)
		}
		return []op.Desc{g.With(op.Scatter, []op.Desc{g.zeros(g.x[0]), at, dy}, op.Int("axis", 0), op.Str("mode", "add")), {}}
	}},
	op.TopK: {readOut(2), func(g *grad) []op.Desc {
		if g.dy[0].ID == 0 {
			return []op.Desc{g.zeros(g.x[0])}
		}
		return []op.Desc{g.With(op.ScatterElements, []op.Desc{g.zeros(g.x[0]), g.y[1], g.dy[0]}, op.Int("axis", g.Int("axis")))}
	}},
	op.Sort: {readOut(2), func(g *grad) []op.Desc {
		if g.dy[0].ID == 0 {
			return []op.Desc{g.zeros(g.x[0])}
		}
		return []op.Desc{g.With(op.ScatterElements, []op.Desc{g.zeros(g.x[0]), g.y[1], g.dy[0]}, op.Int("axis", g.Int("axis")))}
	}},
}
