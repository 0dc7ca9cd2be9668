package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var patchRules = map[Code]Decomposition{
	Im2Col: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		c, x, kernel := sums{b}, in[0], shape.Shape(a.Ints("window"))
		d := len(kernel)
		zero, lo, hi := []int{0, 0}, a.Ints("pad_lo"), a.Ints("pad_hi")
		y := b.Un(Pad, x, Ints("lo", slices.Concat(zero, lo)...), Ints("hi", slices.Concat(zero, hi)...))
		_, windows, err := patches("", "", 1, 1, x.Shape[2:], a)
		if err != nil {
			b.Fail(err)
			return Desc{}
		}
		order := []int{0, 1}
		for i := range d {
			y = b.With(Gather, []Desc{y, covered(c, a, i, windows[i], 0, 1, 2)}, Int("axis", 2+2*i))
			order = append(order, 2+2*i)
		}
		for i := range d {
			order = append(order, 3+2*i)
		}
		return b.Reshape(b.Permute(y, order...), shape.Of(x.Shape[0], x.Shape[1]*kernel.Size(), windows.Size()))
	}),
	Col2Im: wideOne(func(b *Builder, in []Desc, a Attrs) Desc {
		c, x, size, kernel := sums{b}, in[0], shape.Shape(a.Ints("size")), shape.Shape(a.Ints("window"))
		d, n, channels := len(size), x.Shape[0], x.Shape[1]/kernel.Size()
		_, windows, err := patches("", "", 1, 1, size, a)
		if err != nil {
			b.Fail(err)
			return Desc{}
		}
		padded := plus(plus(size, a.Ints("pad_lo")), a.Ints("pad_hi"))
		at := b.FullInt(dtype.I64, 0, nil)
		for i := range d {
			at = c.add(c.mulN(at, float64(padded[i])), covered(c, a, i, windows[i], i, d+i, 2*d))
		}
		at = b.Reshape(at, shape.Of(kernel.Size()*windows.Size()))
		planes := n * channels
		zeros := b.FullInt(x.DType, 0, shape.Of(planes, shape.Shape(padded).Size()))
		y := b.With(Scatter, []Desc{zeros, at, b.Reshape(x, shape.Of(planes, kernel.Size()*windows.Size()))}, Int("axis", 1), Str("mode", "add"))
		y = b.Reshape(y, append(shape.Of(n, channels), padded...))
		lo, hi := []int{0, 0}, []int{0, 0}
		for i := range d {
			lo, hi = append(lo, -a.Ints("pad_lo")[i]), append(hi, -a.Ints("pad_hi")[i])
		}
		return b.Un(Pad, y, Ints("lo", lo...), Ints("hi", hi...))
	}),
	DepthToSpace: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		block, s := shape.Shape(a.Ints("block")), in[0].Shape
		d, c := len(block), s[1]/block.Size()
		channel, place := 1+d, 1 // index of the element within the channel
		split := slices.Concat(shape.Of(s[0]), block, shape.Of(c), s[2:])
		if a.Str("mode") == "crd" {
			channel, place = 1, 2
			split = slices.Concat(shape.Of(s[0], c), block, s[2:])
		}
		order, out := []int{0, channel}, shape.Of(s[0], c)
		for i, k := range block {
			order, out = append(order, 2+d+i, place+i), append(out, s[2+i]*k)
		}
		return b.Reshape(b.Permute(b.Reshape(in[0], split), order...), out)
	}),
	SpaceToDepth: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		block, s := shape.Shape(a.Ints("block")), in[0].Shape
		split, out := s[:2].Clone(), shape.Of(s[0], s[1]*block.Size())
		places, rest := []int{}, []int{}
		for i, k := range block {
			split, out = append(split, s[2+i]/k, k), append(out, s[2+i]/k)
			rest, places = append(rest, 2+2*i), append(places, 3+2*i)
		}
		order := slices.Concat([]int{0}, places, []int{1}, rest)
		if a.Str("mode") == "crd" {
			order = slices.Concat([]int{0, 1}, places, rest)
		}
		return b.Reshape(b.Permute(b.Reshape(in[0], split), order...), out)
	}),
	ChannelShuffle: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		s, g := in[0].Shape, a.Int("groups")
		y := b.Reshape(in[0], shape.Of(s[0], g, s[1]/g, s[2:].Size()))
		return b.Reshape(b.Permute(y, 0, 2, 1, 3), s)
	}),
	ConvTranspose: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		x, w, g := in[0], in[1], a.Int("groups")
		kernel := w.Shape[2:]
		n, channels := len(kernel), w.Shape[1]
		lo, hi, ones := make([]int, n), make([]int, n), make([]int, n)
		axes := make([]int, n)
		for i := range n {
			extent := (kernel[i] - 1) * a.Ints("dilation")[i]
			lo[i], hi[i], ones[i] = extent-a.Ints("pad_lo")[i], extent-a.Ints("pad_hi")[i]+a.Ints("output_padding")[i], 1
			axes[i] = 2 + i
		}
		w = b.Permute(b.Reshape(w, shape.Of(g, x.Shape[1]/g, channels, kernel.Size())), 0, 2, 1, 3)
		w = b.Un(Flip, b.Reshape(w, append(shape.Of(g*channels, x.Shape[1]/g), kernel...)), Ints("axes", axes...))
		return b.With(Conv, []Desc{x, w}, Ints("strides", ones...), Ints("pad_lo", lo...), Ints("pad_hi", hi...),
			Ints("kernel_dilation", a.Ints("dilation")...), Ints("input_dilation", a.Ints("strides")...), Int("groups", g))
	}),
}

// covered returns the positions (i64), along padded spatial dimension i, of the elements of all windows. The result has the given rank: its
// dimension k numbers the elements of a window, and dimension o the windows.
func covered(c sums, a Attrs, i, windows, k, o, rank int) Desc {
	element := c.mulN(c.count(a.Ints("window")[i], k, rank), float64(a.Ints("dilation")[i]))
	return c.add(element, c.mulN(c.count(windows, o, rank), float64(a.Ints("strides")[i])))
}
