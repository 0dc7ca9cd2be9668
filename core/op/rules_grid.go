package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var gridRules = map[Code]Decomposition{
	AffineGrid: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		c, size := sums{b}, shape.Shape(a.Ints("size"))
		d := len(size)
		points := append(size.Clone(), 1)
		columns := make([]Desc, d+1)
		for k, n := range size {
			// (2i+1-n)/n or (2i-(n-1))/(n-1): the numerators are exact
			at, over := c.addN(c.mulN(c.count(n, k, d+1), 2), float64(1-n)), n
			if a.Bool("align_corners") {
				over = n - 1
			}
			at = c.divN(b.Cast(at, x[0].DType), float64(max(1, over)))
			columns[d-1-k] = b.Expand(at, points)
		}
		columns[d] = b.Expand(b.Like(x[0], 1), points)
		grid := b.Reshape(b.Concat(d, columns...), shape.Of(size.Size(), d+1))
		y := b.With(MatMul, []Desc{grid, x[0]}, Flag("transpose_b", true))
		return b.Reshape(y, append(append(shape.Of(x[0].Shape[0]), size...), d))
	}),
	GridSample: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		dims, g := x[0].Shape[2:], x[1]
		d := len(dims)
		out := g.Shape[1 : 1+d]
		s := sampler{sums: sums{b}, dims: dims, mode: a.Str("mode"), padding: a.Str("padding"), align: a.Bool("align_corners"), cubicA: a.Float("cubic_a")}
		flat := shape.Of(g.Shape[0], out.Size())
		g = b.Reshape(g, append(flat.Clone(), d))
		at := make([]Desc, d)
		for k, n := range dims {
			v := s.addN(b.Reshape(b.Narrow(g, 2, d-1-k, 1), flat), 1)
			if s.align {
				at[k] = s.divN(s.mulN(v, float64(n-1)), 2)
			} else {
				at[k] = s.divN(s.addN(s.mulN(v, float64(n)), -1), 2)
			}
		}
		return b.Reshape(s.sample(x[0], at), append(x[0].Shape[:2:2], out...))
	}),
	RoiAlign: wideOne(roiAlign),
	DeformConv: wideOne(func(b *Builder, in []Desc, a Attrs) Desc {
		x, w, offset := in[0], in[1], in[2]
		n, channels, og, g := x.Shape[0], x.Shape[1], a.Int("offset_groups"), a.Int("groups")
		kernel, out := w.Shape[2:], offset.Shape[2:]
		taps, points := kernel.Size(), out.Size()
		s := sampler{sums: sums{b}, dims: x.Shape[2:], mode: "linear", padding: "zeros"}
		offset = b.Reshape(offset, shape.Of(n*og, taps, 2, points))
		at := make([]Desc, 2)
		for d := range at {
			// The position without its offset, [kh or 1, kw or 1, outH or 1, outW or 1].
			k := s.mulN(s.count(kernel[d], d, 4), float64(a.Ints("dilation")[d]))
			o := s.addN(s.mulN(s.count(out[d], 2+d, 4), float64(a.Ints("strides")[d])), float64(-a.Ints("pad_lo")[d]))
			base := b.Expand(s.add(k, o), append(kernel.Clone(), out...))
			moved := b.Reshape(b.Narrow(offset, 2, d, 1), shape.Of(n*og, taps, points))
			moved = s.add(moved, b.Cast(b.Reshape(base, shape.Of(taps, points)), x.DType))
			at[d] = b.Reshape(moved, shape.Of(n*og, taps*points))
		}
		y := s.sample(b.Reshape(x, shape.Of(n*og, channels/og, x.Shape[2], x.Shape[3])), at)
		if len(in) > 3 {
			y = s.mul(y, b.Reshape(in[3], shape.Of(n*og, 1, taps*points)))
		}
		y = b.Reshape(y, shape.Of(n, g, channels/g*taps, points))
		y = b.With(MatMul, []Desc{b.Reshape(w, shape.Of(g, w.Shape[0]/g, w.Shape[1]*taps)), y})
		return b.Reshape(y, append(shape.Of(n, w.Shape[0]), out...))
	}),
}

func roiAlign(b *Builder, in []Desc, a Attrs) Desc {
	c, x, batch, rois, size, k := sums{b}, in[0], in[1], in[2], a.Ints("size"), a.Int("samples")
	images, channels, h, w := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	r := rois.Shape[0]
	rois = c.mulN(rois, a.Float("scale"))
	if a.Bool("half_pixel") {
		rois = c.addN(rois, -0.5)
	}
	type edge struct{ low, high, below, above, valid Desc }
	// along returns the sampling points along one axis, between columns from and from+2 of rois; results are [R, points], reshaped to dims.
	along := func(from, cells, n int, dims shape.Shape) edge {
		start := b.Narrow(rois, 1, from, 1)
		length := c.sub(b.Narrow(rois, 1, from+2, 1), start)
		if !a.Bool("half_pixel") {
			length = c.maxN(length, 1)
		}
		// (point+1/2)/(cells·samples): twice the numerator is exact
		place := c.divN(b.Cast(c.addN(c.mulN(c.count(cells*k, 1, 2), 2), 1), x.DType), float64(2*cells*k))
		p := b.Reshape(c.add(start, c.mul(length, place)), dims)
		valid := c.within(p, c.n(p, -1), c.n(p, float64(n)))
		p = c.clampN(p, 0, float64(n-1))
		low := b.Do(Floor, p)
		above := c.sub(p, low)
		index := b.Cast(low, dtype.I64)
		return edge{index, c.minN(c.addN(index, 1), float64(n-1)), c.sub(c.n(p, 1), above), above, valid}
	}
	y := along(1, size[0], h, shape.Of(r, size[0]*k, 1))
	z := along(0, size[1], w, shape.Of(r, 1, size[1]*k))
	valid := c.and(y.valid, z.valid)
	// The images of each channel are concatenated; an index outside remains outside.
	all := b.Reshape(b.Permute(x, 1, 0, 2, 3), shape.Of(channels, images*h*w))
	image := c.mulN(b.Reshape(c.clampN(b.Cast(batch, dtype.I64), -1, float64(images)), shape.Of(r, 1, 1)), float64(h*w))
	var joined Desc
	for i, corner := range []struct{ py, pz, wy, wz Desc }{{y.low, z.low, y.below, z.below}, {y.low, z.high, y.below, z.above},
		{y.high, z.low, y.above, z.below}, {y.high, z.high, y.above, z.above}} {
		index := c.add(image, c.add(c.mulN(corner.py, float64(w)), corner.pz)) // [R, points down, points across]
		v := b.With(Gather, []Desc{all, index}, Int("axis", 1))
		v = c.orZero(valid, c.mul(v, c.mul(corner.wy, corner.wz)))
		switch {
		case i == 0:
			joined = v
		case a.Str("reduce") == "max":
			joined = b.Do(Max, joined, v)
		default:
			joined = c.add(joined, v)
		}
	}
	how := Mean
	if a.Str("reduce") == "max" {
		how = ReduceMax
	}
	return b.Permute(b.Reduce(how, b.Reshape(joined, shape.Of(channels, r, size[0], k, size[1], k)), false, 3, 5), 1, 0, 2, 3)
}
