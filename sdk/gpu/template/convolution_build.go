package template

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// tiledConvolution builds the convolution with scalar instructions.
func (c *convolution) tiledConvolution() ([]ir.Launch, error) {
	var fitting []Tile
	for _, x := range c.t.tiles(c.compute.Size()) {
		for x.Depth > 4 && (c.tileBytes(x) > c.t.Shared || x.Depth >= 2*c.channels) {
			x.Depth /= 2
		}
		if x.threads() <= c.t.Threads && c.tileBytes(x) <= c.t.Shared {
			fitting = append(fitting, x)
		}
	}
	if len(fitting) == 0 {
		return nil, fmt.Errorf("convolution: no tile fits %d threads and %d bytes of shared memory", c.t.Threads, c.t.Shared)
	}
	best, parts := c.choose(fitting)
	c.k = c.taps() * ceil(c.channels, best.Depth) * best.Depth
	return c.split(parts, func(slot int) ir.Launch { return c.tileKernel(best, parts, slot) }), nil
}

// fragmentedConvolution builds the convolution with matrix instructions. Matrix instructions need an image and filters with contiguous
// channels; other operands are first copied into that layout.
func (c *convolution) fragmentedConvolution(m ir.MMA) ([]ir.Launch, error) {
	fitting := c.t.fragmentTiles()
	if len(fitting) == 0 {
		return c.tiledConvolution()
	}
	var l []ir.Launch
	if c.wideImage() != 8 {
		l = append(l, c.arrange(&c.image, c.shape[0], c.in, &c.imageStrides, "image"))
	}
	if c.wideFilter() != 8 {
		l = append(l, c.arrange(&c.filter, c.results, c.window, &c.filterStrides, "filter"))
	}
	x, parts := c.chooseFragments(fitting)
	c.k = c.taps() * ceil(c.channels, x.Depth) * x.Depth
	return append(l, c.split(parts, func(slot int) ir.Launch { return c.fragmentKernel(m, x, parts, slot) })...), nil
}

// arrange copies an image or filters into a temporary in which the channels of a group are contiguous, padded with zeros to a multiple of
// 8: groups, then images (or filters of a group), then places, then channels. It sets m and strides to the layout of the copy.
func (c *convolution) arrange(m *matrix, images int, places []int, strides *[]int, name string) ir.Launch {
	const threads, width = 256, 8
	k := c.kernel(fmt.Sprintf("convolution_%s_%v", name, m.typ), threads)
	deep := ceil(c.channels, width)
	pixels := 1
	to := matrix{typ: m.typ, col: 1}
	toStrides := make([]int, len(places))
	for i := len(places) - 1; i >= 0; i-- {
		toStrides[i] = pixels * deep * width
		pixels *= places[i]
	}
	to.row = pixels * deep * width
	dims := []int{images, pixels}
	if len(m.batch) > 0 {
		to.batch = []int{images * to.row}
	}
	lines := images * pixels * c.batches()
	to.slot = c.temporary(lines * deep * width * m.typ.Size())

	// Neighbouring threads copy neighbouring places, which are contiguous in memory where channels are not.
	id := k.Add(k.Mul(k.Block(0), k.Int(threads)), k.Thread())
	count := k.size("lines", lines)
	channels := k.size("channels", c.channels)
	k.If(k.Lt(id, k.size("groups of channels", lines*deep)), func() {
		line, first := k.Rem(id, count), k.Mul(k.Div(id, count), k.Int(width))
		var batch []ir.Value
		number := line
		pixel := k.Rem(number, k.size("places", dims[1]))
		number = k.Div(number, k.size("places", dims[1]))
		image := number
		if len(m.batch) > 0 {
			image = k.Rem(number, k.size("images", images))
			batch = []ir.Value{k.Div(number, k.size("images", images))}
		}
		p := k.region("from", *m, ir.Read, batch)
		base := k.at(p, image, k.Int(0))
		for i := len(places) - 1; i >= 0; i-- {
			at := pixel
			if i > 0 {
				size := k.size(fmt.Sprintf("place %d", i), places[i])
				at, pixel = k.Rem(pixel, size), k.Div(pixel, size)
			}
			if o, ok := k.times(at, k.stride(fmt.Sprintf("place stride %d", i), (*strides)[i]), (*strides)[i]); ok {
				base = k.Add(base, o)
			}
		}
		held := k.Local("held", m.typ, width)
		for i := range width {
			channel := k.plus(first, i)
			k.IfElse(k.Lt(channel, channels), func() {
				o := base
				if y, ok := k.times(channel, p.colStride, p.col); ok {
					o = k.Add(o, y)
				}
				k.Set(held, k.Int(i), k.Load(p.buf, o))
			}, func() { k.Set(held, k.Int(i), k.Const(m.typ, 0)) })
		}
		v := make([]ir.Value, width)
		for i := range v {
			v[i] = k.Get(held, k.Int(i))
		}
		out := k.memory("arranged", m.typ, ir.Write, to.slot)
		k.Store(out, k.Add(k.Mul(line, k.size("channels filled up", deep*width)), first), v...)
	})
	l := k.launch(ceil(lines*deep, threads), 1, 1)
	*m, *strides = to, toStrides
	return l
}

// direct builds the convolution with one thread per element. It is for convolutions with so few channels, results or pixels that tiles
// would be mostly empty.
func (c *convolution) direct() []ir.Launch {
	const threads = 128
	c.k = 0
	k := c.kernel(fmt.Sprintf("convolution_%v", c.compute), threads)
	m, n := k.size("m", c.m), k.size("n", c.n)
	elements := c.m * c.n * c.batches()
	id := k.Add(k.Mul(k.Block(0), k.Int(threads)), k.Thread())
	k.If(k.Lt(id, k.size("elements", elements)), func() {
		col, line := k.Rem(id, n), k.Div(id, n)
		row, group := k.Rem(line, m), k.Div(line, m)
		batch := k.position(group, c.batch, "batch")
		e := k.epilogue(group, batch, m, n, 1)
		pixel, result := row, col
		if c.columns {
			pixel, result = col, row
		}
		image, filter := k.region("image", c.image, ir.Read, batch), k.region("filter", c.filter, ir.Read, batch)
		places := k.imagePlaces(c)
		number, starts := places.start(pixel)
		var strides []ir.Value
		for i, s := range c.filterStrides {
			strides = append(strides, k.stride(fmt.Sprintf("filter place %d", i), s))
		}
		sum, held := k.Local("sum", c.compute, 1), k.Local("held", c.compute, 1)
		zero := k.Const(c.compute, 0)
		k.Put(sum, zero)
		k.For(k.Int(0), k.size("channels", c.channels), 1, func(channel ir.Value) {
			base, weight := k.at(image, number, channel), k.at(filter, result, channel)
			c.each(k, nil, func(tap []ir.Value) {
				inside, offset := places.under(starts, tap)
				k.IfElse(inside, func() {
					k.Put(held, k.Cast(c.compute, k.Load(image.buf, k.Add(base, offset()))))
				}, func() { k.Put(held, zero) })
				at := weight
				for i, s := range c.filterStrides {
					if y, ok := k.times(tap[i], strides[i], s); ok {
						at = k.Add(at, y)
					}
				}
				k.Put(sum, k.multiply(k.At(held), k.Cast(c.compute, k.Load(filter.buf, at)), k.At(sum)))
			})
		})
		e.put(row, col, []ir.Value{k.At(sum)})
	})
	return []ir.Launch{k.launch(ceil(elements, threads), 1, 1)}
}

// each runs f for each place of the filter whose first coordinates are tap. The loops are unrolled if the filter has at most 32 places.
func (c *convolution) each(k *productKernel, tap []ir.Value, f func(tap []ir.Value)) {
	i := len(tap)
	if i == len(c.window) {
		f(tap)
		return
	}
	body := func(at ir.Value) { c.each(k, append(tap[:i:i], at), f) }
	if c.taps() <= 32 {
		k.Unroll(c.window[i], body)
		return
	}
	k.For(k.Int(0), k.Int(c.window[i]), 1, body)
}
