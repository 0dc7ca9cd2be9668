package gradient

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var reductionRules = map[op.Code]Rule{
	op.Sum: {nil, func(g *grad) []op.Desc {
		return []op.Desc{g.Expand(g.keep(g.dy[0], g.x[0].Shape, g.Ints("axes")), g.x[0].Shape)}
	}},
	op.Mean: {nil, func(g *grad) []op.Desc {
		x := g.x[0]
		dy := g.times(g.dy[0], 1/float64(max(1, count(x.Shape, g.Ints("axes")))))
		return []op.Desc{g.Expand(g.keep(dy, x.Shape, g.Ints("axes")), x.Shape)}
	}},
	op.ReduceMax: {readBoth(1, 1), winners},
	op.ReduceMin: {readBoth(1, 1), winners},
	op.Prod: {readIn(1), func(g *grad) []op.Desc { // dy times the product of the elements before and of those after; correct for zeros too
		x, axes := g.x[0], g.Ints("axes")
		if len(axes) == 0 {
			return []op.Desc{g.dy[0]}
		}
		order, s := behind(x.Shape, axes)
		flat := append(slices.Clone(s[:len(s)-len(axes)]), s[len(s)-len(axes):].Size())
		w := g.Reshape(g.Permute(x, order...), flat)
		last := op.Int("axis", len(flat)-1)
		before := g.Un(op.CumProd, w, last, op.Flag("exclusive", true))
		after := g.Un(op.CumProd, w, last, op.Flag("exclusive", true), op.Flag("reverse", true))
		d := g.Permute(g.Reshape(g.mul(before, after), s), inverse(order)...)
		return []op.Desc{g.mul(d, g.keep(g.dy[0], x.Shape, axes))}
	}},
	op.CumSum: fromDY(func(g *grad, dy op.Desc) op.Desc {
		return g.Un(op.CumSum, dy, op.Int("axis", g.Int("axis")), op.Flag("exclusive", g.Bool("exclusive")), op.Flag("reverse", !g.Bool("reverse")))
	}),
	op.CumProd: {readIn(1), cumProdGrad},
	op.CumMax:  {readIn(1), func(g *grad) []op.Desc { return running(g, op.CumArgMax) }},
	op.CumMin:  {readIn(1), func(g *grad) []op.Desc { return running(g, op.CumArgMin) }},
}

// statisticsRules contains the rules of composites that sum in f32 or wider.
var statisticsRules = map[op.Code]Rule{
	op.Variance: fromX(func(g *grad, x, dy op.Desc) op.Desc {
		axes := g.Ints("axes")
		n := float64(count(x.Shape, axes)) - g.Float("correction")
		away := g.sub(x, g.Reduce(op.Mean, x, true, axes...))
		return g.mul(away, g.times(g.keep(dy, x.Shape, axes), 2/n))
	}),
	op.Std: {readBoth(1, 1), func(g *grad) []op.Desc { // zero, by convention, where all elements are equal
		x, y, axes := g.x[0], g.y[0], g.Ints("axes")
		n := float64(count(x.Shape, axes)) - g.Float("correction")
		away := g.sub(x, g.Reduce(op.Mean, x, true, axes...))
		slope := g.pick(g.Do(op.Equal, y, g.zero(y)), g.zero(y), g.div(g.times(g.dy[0], 1/n), y))
		return []op.Desc{g.mul(away, g.keep(slope, x.Shape, axes))}
	}},
	op.LogSumExp: {readBoth(1, 1), func(g *grad) []op.Desc {
		x, axes := g.x[0], g.Ints("axes")
		y := g.pick(g.Do(op.IsInf, g.y[0]), g.zero(g.y[0]), g.y[0]) // if all elements are -Inf, the gradient is zero, not NaN
		return []op.Desc{g.mul(g.keep(g.dy[0], x.Shape, axes), g.Do(op.Exp, g.sub(x, g.keep(y, x.Shape, axes))))}
	}},
}

func count(s shape.Shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= s[a]
	}
	return n
}

// winners divides dy equally among the extreme elements.
func winners(g *grad) []op.Desc {
	x, axes := g.x[0], g.Ints("axes")
	won := g.Cast(g.Do(op.Equal, x, g.keep(g.y[0], x.Shape, axes)), x.DType)
	share := g.div(g.keep(g.dy[0], x.Shape, axes), g.Reduce(op.Sum, won, true, axes...))
	return []op.Desc{g.mul(won, share)}
}

// behind returns the order of dimensions that has axes last, and the shape in that order.
func behind(s shape.Shape, axes []int) (order []int, moved shape.Shape) {
	for i := range s {
		if !slices.Contains(axes, i) {
			order = append(order, i)
		}
	}
	order = append(order, axes...)
	for _, a := range order {
		moved = append(moved, s[a])
	}
	return order, moved
}

func inverse(order []int) []int {
	back := make([]int, len(order))
	for i, a := range order {
		back[a] = i
	}
	return back
}

// running returns the gradient of a running extreme: it adds each element of dy to the element of x that is the extreme there.
func running(g *grad, where op.Code) []op.Desc {
	axis := op.Int("axis", g.Int("axis"))
	x, dy := g.x[0], g.dy[0]
	turned := g.Bool("reverse")
	turn := func(d op.Desc) op.Desc {
		if turned {
			return g.Un(op.Flip, d, op.Ints("axes", g.Int("axis")))
		}
		return d
	}
	x, dy = turn(x), turn(dy)
	if g.Bool("exclusive") {
		dy = shift(g, dy, g.Int("axis"))
	}
	d := g.With(op.ScatterElements, []op.Desc{g.zeros(x), g.Un(where, x, axis), dy}, axis, op.Str("mode", "add"))
	return []op.Desc{turn(d)}
}

// shift converts gradients of an exclusive scan to those of the inclusive one.
func shift(g *grad, dy op.Desc, axis int) op.Desc {
	lo, hi := make([]int, len(dy.Shape)), make([]int, len(dy.Shape))
	if dy.Shape[axis] > 0 {
		lo[axis], hi[axis] = -1, 1
	}
	return g.Un(op.Pad, dy, op.Ints("lo", lo...), op.Ints("hi", hi...))
}

// cumProdGrad returns the gradient of cumprod: dx[j] = prod(x[:j]) · Σ dy[k]·prod(x[j+1:k+1]) over k ≥ j. Without divisions, it is correct
// for zeros too. A scan over a triangular matrix computes the inner products, so the memory is quadratic in the length of the axis.
func cumProdGrad(g *grad) []op.Desc {
	x, dy, axis := g.x[0], g.dy[0], g.Int("axis")
	rank := len(x.Shape)
	order := append(slices.Delete(each(rank), axis, axis+1), axis)
	turn := func(d op.Desc) op.Desc {
		if g.Bool("reverse") {
			return g.Un(op.Flip, d, op.Ints("axes", rank-1))
		}
		return d
	}
	w, v := turn(g.Permute(x, order...)), turn(g.Permute(dy, order...))
	if g.Bool("exclusive") {
		v = shift(g, v, rank-1)
	}
	s, n := w.Shape, x.Shape[axis]
	rows := shape.Of(s[:rank-1].Size(), 1, n)
	square := shape.Of(rows[0], n, n)
	line := func(a int) op.Desc {
		return g.All(op.Iota, nil, op.Type("dtype", dtype.I64), op.Dims("shape", shape.Of(n, n)), op.Int("axis", a))[0]
	}
	later := g.Do(op.Less, line(0), line(1)) // row j, column k: k > j
	factors := g.pick(later, g.Expand(g.Reshape(w, rows), square), g.Like(x, 1))
	products := g.Un(op.CumProd, factors, op.Int("axis", 2))
	reached := g.Do(op.LessEqual, line(0), line(1))
	terms := g.pick(reached, g.mul(products, g.Reshape(v, rows)), g.zero(x))
	sums := g.Reshape(g.Reduce(op.Sum, terms, false, 2), s)
	before := g.Un(op.CumProd, w, op.Int("axis", rank-1), op.Flag("exclusive", true))
	return []op.Desc{g.Permute(turn(g.mul(sums, before)), inverse(order)...)}
}
