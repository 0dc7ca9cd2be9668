package gradient

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var poolingRules = map[op.Code]Rule{
	op.WindowReduce: {readIn(1), func(g *grad) []op.Desc {
		if g.Str("reduce") == "sum" {
			return []op.Desc{windowSum(g)}
		}
		return []op.Desc{windowMax(g, g.All(op.WindowReduce, []op.Desc{g.x[0]}, with(g.Attrs, "indices", op.Flag("indices", true))...), g.Ints("pad_hi"))}
	}},
	op.MaxPool: {readIn(1), func(g *grad) []op.Desc {
		hi := slices.Clone(g.Ints("pad_hi"))
		for i, o := range g.Ints("overhang") {
			hi[i] += o
		}
		return []op.Desc{windowMax(g, g.All(op.MaxPool, []op.Desc{g.x[0]}, with(g.Attrs, "indices", op.Flag("indices", true))...), hi)}
	}},
}

// with returns attrs with one of them replaced.
func with(attrs op.Attrs, name string, a op.Attr) []op.Attr {
	out := slices.Clone(attrs)
	for i := range out {
		if out[i].Name == name {
			out[i] = a
		}
	}
	return out
}

// windowMax returns the gradient of a window maximum: it adds each element of dy to the position of the maximum, which found[1] contains.
func windowMax(g *grad, found []op.Desc, hi []int) op.Desc {
	x, dy := g.x[0], g.dy[0]
	if g.Err() != nil || dy.ID == 0 || dy.Shape.Size() == 0 {
		return g.zeros(x)
	}
	at := found[1]
	d := len(g.Ints("window"))
	lead := x.Shape[:len(x.Shape)-d].Size()
	for i, w := range g.Ints("window") {
		if reach := (w - 1) * g.Ints("dilation")[i]; g.Ints("pad_lo")[i] > reach || hi[i] > reach { // a window may cover padding only
			none := g.FullInt(dtype.I64, 0, nil)
			dy = g.pick(g.Do(op.Less, at, none), g.zero(dy), dy)
			at = g.Do(op.Max, at, none)
			break
		}
	}
	flat := func(t op.Desc) op.Desc { return g.Reshape(t, shape.Of(lead, t.Shape.Size()/max(1, lead))) }
	zeros := g.Expand(g.zero(x), shape.Of(lead, x.Shape.Size()/max(1, lead)))
	sum := g.With(op.ScatterElements, []op.Desc{zeros, flat(at), flat(dy)}, op.Int("axis", 1), op.Str("mode", "add"))
	return g.Reshape(sum, x.Shape)
}

// windowSum returns the gradient of a window sum: a window sum of dy dilated by the strides, or copies of dy if windows tile x.
func windowSum(g *grad) op.Desc {
	x, dy := g.x[0].Shape, g.dy[0]
	window, strides, lo, dilation := g.Ints("window"), g.Ints("strides"), g.Ints("pad_lo"), g.Ints("dilation")
	d := len(window)
	first := len(x) - d
	if dy.Shape.Size() == 0 {
		return g.zeros(g.x[0])
	}
	tiles := true
	for i, w := range window {
		tiles = tiles && w == strides[i] && dilation[i] == 1 && lo[i] == 0 && dy.Shape[first+i]*w == x[first+i]
	}
	if tiles && d <= 3 {
		lead := dy.Shape[:first].Size()
		s, full := shape.Of(lead), shape.Of(lead)
		for i, w := range window {
			n := dy.Shape[first+i]
			s, full = append(s, n, 1), append(full, n, w)
		}
		return g.Reshape(g.Expand(g.Reshape(dy, s), full), x)
	}
	one := make([]int, d)
	begin, end := make([]int, d), make([]int, d)
	for i, w := range window {
		one[i] = 1
		if strides[i] > 1 {
			dy = dilate(g, dy, first+i, strides[i])
		}
		begin[i] = (w-1)*dilation[i] - lo[i]
		end[i] = x[first+i] + (w-1)*dilation[i] - dy.Shape[first+i] - begin[i]
	}
	return g.Un(op.WindowReduce, dy, op.Str("reduce", "sum"), op.Ints("window", window...), op.Ints("strides", one...), op.Ints("pad_lo", begin...),
		op.Ints("pad_hi", end...), op.Ints("dilation", dilation...))
}
