package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var poolingRules = map[Code]Decomposition{
	MaxPool: func(b *Builder, in []Desc, a Attrs) []Desc {
		end := plus(a.Ints("pad_hi"), a.Ints("overhang"))
		return b.All(WindowReduce, in, append(windowAttrs("max", a, a.Ints("pad_lo"), end), Flag("indices", a.Bool("indices")))...)
	},
	LpPool: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		c, p, y := sums{b}, a.Float("p"), b.Do(Abs, x[0])
		switch p {
		case 1:
		case 2:
			y = c.mul(y, y)
		default:
			y = b.Do(Pow, y, c.n(y, p))
		}
		y = b.Un(WindowReduce, y, windowAttrs("sum", a, a.Ints("pad_lo"), plus(a.Ints("pad_hi"), a.Ints("overhang")))...)
		switch p {
		case 1:
			return y
		case 2:
			return b.Do(Sqrt, y)
		}
		return b.Do(Pow, y, c.n(y, 1/p))
	}),
	AdaptiveAvgPool: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		c, y, size := sums{b}, x[0], a.Ints("size")
		first, dims := trailing(y, len(size))
		for i, m := range size {
			n, to := dims[i], instead(y.Shape, first+i, m)
			y = c.around(y, first+i)
			if b.Err() != nil {
				return Desc{}
			}
			before, after := y.Shape[0], y.Shape[2]
			if n%m == 0 {
				y = b.Reduce(Mean, b.Reshape(y, shape.Of(before, m, n/m, after)), false, 2)
			} else {
				at, start, end := shares(c, n, m)
				inside := b.Reshape(c.less(at, end), shape.Of(m, longest(n, m), 1))
				y = b.With(Gather, []Desc{y, c.minN(at, float64(n-1))}, Int("axis", 1))
				y = b.Reduce(Sum, c.orZero(inside, y), false, 2)
				y = c.div(y, b.Cast(c.sub(end, start), y.DType))
			}
			y = b.Reshape(y, to)
		}
		return y
	}),
	AdaptiveMaxPool: func(b *Builder, in []Desc, a Attrs) []Desc {
		c, size := sums{b}, a.Ints("size")
		d := len(size)
		first, dims := trailing(in[0], d)
		batch := in[0].Shape[:first]
		y := b.Reshape(in[0], append(shape.Of(batch.Size()), dims...))
		pos := b.FullInt(dtype.I64, 0, nil)
		results, lengths := 1, 1
		order := make([]int, 2*d) // windows first, then the elements in them
		for i, m := range size {
			n, k := dims[i], longest(dims[i], m)
			at, _, end := shares(c, n, m)
			at = b.Do(Min, at, c.addN(end, -1))
			y = b.With(Gather, []Desc{y, at}, Int("axis", 1+2*i))
			wide := make(shape.Shape, 2*d)
			for j := range wide {
				wide[j] = 1
			}
			wide[2*i], wide[2*i+1] = m, k
			pos = c.add(c.mulN(pos, float64(n)), b.Reshape(at, wide))
			order[i], order[d+i] = 2*i, 2*i+1
			results, lengths = results*m, lengths*k
		}
		all := []int{0}
		for _, o := range order {
			all = append(all, 1+o)
		}
		y = b.Reshape(b.Permute(y, all...), shape.Of(batch.Size(), results, lengths))
		out := append(batch.Clone(), size...)
		outs := []Desc{b.Reshape(b.Reduce(ReduceMax, y, false, 2), out)}
		if a.Bool("indices") {
			best := b.Reshape(b.Un(ArgMax, y, Int("axis", 2)), shape.Of(batch.Size()*results))
			pos = b.Reshape(b.Permute(pos, order...), shape.Of(results, lengths))
			pos = b.Reshape(b.Expand(pos, shape.Of(batch.Size(), results, lengths)), shape.Of(batch.Size()*results, lengths))
			outs = append(outs, b.Reshape(b.With(Gather, []Desc{pos, best}, Int("axis", 1), Int("batch", 1)), out))
		}
		return outs
	},
	MaxUnpool: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		size := shape.Shape(a.Ints("size"))
		first, dims := trailing(x[0], len(size))
		batch := x[0].Shape[:first].Size()
		zeros := b.FullInt(x[0].DType, 0, shape.Of(batch, size.Size()))
		flat := shape.Of(batch, dims.Size())
		y := b.With(Scatter, []Desc{zeros, b.Reshape(x[1], flat), b.Reshape(x[0], flat)}, Int("axis", 1), Int("batch", 1))
		return b.Reshape(y, append(x[0].Shape[:first:first], size...))
	}),
}

// shares returns how adaptive pooling divides n elements into m windows: the index of each element of each window [m, longest], and the
// first index and the index after the last of each window [m, 1].
func shares(c sums, n, m int) (at, start, end Desc) {
	i := c.count(m, 0, 2)
	start = c.divN(c.mulN(i, float64(n)), float64(m))
	end = c.divN(c.addN(c.mulN(c.addN(i, 1), float64(n)), float64(m-1)), float64(m))
	return c.add(start, c.count(longest(n, m), 1, 2)), start, end
}
