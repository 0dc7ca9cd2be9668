package template

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// imagePlaces holds the spatial dimensions of an image in a kernel.
type imagePlaces struct {
	k    *productKernel
	c    *convolution
	size []ir.Value // sizes of the result
	in   []ir.Value // sizes of the dilated image
	// stride is the stride in memory, in elements; step is the distance between positions of the filter.
	stride, step, pad, dilation []ir.Value
}

func (k *productKernel) imagePlaces(c *convolution) *imagePlaces {
	p := &imagePlaces{k: k, c: c}
	for i := range c.window {
		p.size = append(p.size, k.size(fmt.Sprintf("out %d", i), c.outPlaces[i+1]))
		p.in = append(p.in, k.size(fmt.Sprintf("in %d", i), (c.in[i]-1)*c.imageDilation[i]+1))
		p.stride = append(p.stride, k.stride(fmt.Sprintf("image place %d", i), c.imageStrides[i]))
		p.step = append(p.step, k.size(fmt.Sprintf("step %d", i), c.stride[i]))
		p.pad = append(p.pad, k.size(fmt.Sprintf("pad %d", i), c.pad[i]))
		p.dilation = append(p.dilation, k.size(fmt.Sprintf("dilation %d", i), c.dilation[i]))
	}
	return p
}

// start returns the number of the image that a pixel of the results belongs to, and the place in the dilated image at which the filter
// begins for this pixel.
func (p *imagePlaces) start(pixel ir.Value) (image ir.Value, starts []ir.Value) {
	k := p.k
	starts = make([]ir.Value, len(p.size))
	for i := len(starts) - 1; i >= 0; i-- {
		starts[i] = k.Sub(k.Mul(k.Rem(pixel, p.size[i]), p.step[i]), p.pad[i])
		pixel = k.Div(pixel, p.size[i])
	}
	return pixel, starts
}

// under reports whether an element of the image is at a place of the filter, and returns a function that computes its offset from the first
// element of the image.
func (p *imagePlaces) under(starts, tap []ir.Value) (inside ir.Value, offset func() ir.Value) {
	k := p.k
	at := make([]ir.Value, len(starts))
	for i := range at {
		at[i] = k.Add(starts[i], k.Mul(tap[i], p.dilation[i]))
		in := k.And(k.Le(k.Int(0), at[i]), k.Lt(at[i], p.in[i]))
		if d := p.c.imageDilation[i]; d > 1 {
			in = k.And(in, k.Eq(k.Rem(at[i], k.Int(d)), k.Int(0)))
		}
		if inside != 0 {
			in = k.And(inside, in)
		}
		inside = in
	}
	return inside, func() ir.Value {
		o := k.Int(0)
		for i, a := range at {
			if d := p.c.imageDilation[i]; d > 1 {
				a = k.Div(a, k.Int(d))
			}
			if y, ok := k.times(a, p.stride[i], p.c.imageStrides[i]); ok {
				o = k.Add(o, y)
			}
		}
		return o
	}
}

// factors returns the loads of tiles of the image and of the filters: first the load for the rows of the product, then the load for its
// columns. fragments says that they are for matrix instructions.
func (c *convolution) factors(k *productKernel, x Tile, g productGrid, fragments bool) (la, lb *tileLoad) {
	image, filter := x.Rows, x.Cols
	first, other := g.row, g.col
	if c.columns {
		image, filter = filter, image
		first, other = other, first
	}
	t := k.tap(c, ceil(c.channels, x.Depth)*x.Depth)
	li := c.imageLoad(k, x, image, first, g, t, fragments)
	lf := c.filterLoad(k, x, filter, other, g, t, fragments)
	if c.columns {
		return lf, li
	}
	return li, lf
}

// tapAt is the place of the filter and the first channel at which a tile begins.
type tapAt struct {
	k       *productKernel
	c       *convolution
	depth   ir.Value // number of channels, with padding
	all     int      // the same number, known when the kernel is built
	channel ir.Value
	places  []ir.Value
}

func (k *productKernel) tap(c *convolution, depth int) *tapAt {
	return &tapAt{k: k, c: c, depth: k.size("channels filled up", depth), all: depth}
}

// begin computes the place and the first channel of the tile that begins at depth from.
func (t *tapAt) begin(from, _ ir.Value) {
	k := t.k
	number := k.Div(from, t.depth)
	t.channel = k.Rem(from, t.depth)
	t.places = make([]ir.Value, len(t.c.window))
	for i := len(t.places) - 1; i >= 0; i-- {
		if i == 0 {
			t.places[0] = k.Min(number, k.Int(t.c.window[0]-1))
			break
		}
		t.places[i] = k.Rem(number, k.Int(t.c.window[i]))
		number = k.Div(number, k.Int(t.c.window[i]))
	}
}

// load returns a load of tiles in the layout that the kernel needs. wide is the number of elements in 16 contiguous bytes along channels,
// or 1.
func (c *convolution) load(k *productKernel, x Tile, m matrix, span, wide int, fragments bool) *tileLoad {
	l := &tileLoad{k: k, typ: c.compute, span: span, depth: x.Depth, threads: x.threads(), byDepth: true, pitch: span + linePad}
	l.size = l.depth * l.pitch
	if fragments {
		l.typ, l.byDepth, l.alongDepth, l.pitch, l.width, l.async = m.typ, false, true, x.Depth+fragmentPad, 8, c.t.Async
		l.size = span * l.pitch
		return l
	}
	direct := c.t.Async && m.typ == c.compute
	l.width = 1
	if m.col == 1 {
		l.alongDepth = true
		if l.width = min(wide, 4, l.depth); l.width > 1 {
			direct = false
		}
	}
	for l.span*l.depth < l.width*l.threads && l.width > 1 {
		l.width /= 2
	}
	l.async = direct
	return l
}

// imageLoad returns the load of tiles of pixels by channels.
func (c *convolution) imageLoad(k *productKernel, x Tile, span int, first ir.Value, g productGrid, t *tapAt, fragments bool) *tileLoad {
	l := c.load(k, x, c.image, span, c.wideImage(), fragments)
	p := k.region("image", c.image, ir.Read, g.batch)
	l.buf = p.buf
	l.begin = t.begin
	pixels, channels := k.size("pixels", c.pixels), k.size("channels", c.channels)
	places := k.imagePlaces(c)
	bases, starts := make([]ir.Value, l.count()), make([][]ir.Value, l.count())
	l.lines(func(j int, line ir.Value) {
		image, start := places.start(k.Min(k.Add(first, line), k.Sub(pixels, k.Int(1))))
		bases[j], starts[j] = k.at(p, image, k.Int(0)), start
	})
	l.element = func(j int, _, depth ir.Value) (ir.Value, func() ir.Value) {
		inside, offset := places.under(starts[j], t.places)
		channel := k.Add(t.channel, depth)
		if t.all != c.channels {
			inside = k.And(inside, k.Lt(channel, channels))
		}
		return inside, func() ir.Value {
			o := k.Add(bases[j], offset())
			if y, ok := k.times(channel, p.colStride, p.col); ok {
				o = k.Add(o, y)
			}
			return o
		}
	}
	return l
}

// filterLoad returns the load of tiles of filters by channels.
func (c *convolution) filterLoad(k *productKernel, x Tile, span int, first ir.Value, g productGrid, t *tapAt, fragments bool) *tileLoad {
	l := c.load(k, x, c.filter, span, c.wideFilter(), fragments)
	if !fragments && c.filter.row == 1 {
		l.alongDepth = false
		l.width = 1
	}
	p := k.region("filter", c.filter, ir.Read, g.batch)
	l.buf = p.buf
	l.begin = t.begin
	results, channels := k.size("results", c.results), k.size("filter channels", c.channels)
	var strides []ir.Value
	for i := range c.window {
		strides = append(strides, k.stride(fmt.Sprintf("filter place %d", i), c.filterStrides[i]))
	}
	l.element = func(_ int, line, depth ir.Value) (ir.Value, func() ir.Value) {
		channel := k.Add(t.channel, depth)
		var inside ir.Value
		if t.all != c.channels {
			inside = k.Lt(channel, channels)
		}
		return inside, func() ir.Value {
			o := k.at(p, k.Min(k.Add(first, line), k.Sub(results, k.Int(1))), channel)
			for i, at := range t.places {
				if y, ok := k.times(at, strides[i], c.filterStrides[i]); ok {
					o = k.Add(o, y)
				}
			}
			return o
		}
	}
	return l
}

// wideImage returns how many channels of the image are contiguous and aligned in 16 bytes at every position of the window. wideFilter
// returns the same for the filter.
func (c *convolution) wideImage() int { return c.wide(c.image, c.imageStrides) }

func (c *convolution) wideFilter() int { return c.wide(c.filter, c.filterStrides) }

func (c *convolution) wide(m matrix, places []int) int {
	m.outer = places
	return m.aligned(false, c.channels, 16, c.batch)
}
