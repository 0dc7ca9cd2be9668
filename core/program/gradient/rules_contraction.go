package gradient

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var contractionRules = map[op.Code]Rule{
	op.MatMul: {readOther, func(g *grad) []op.Desc {
		a, b, dy := g.x[0], g.x[1], g.dy[0]
		ta, tb := g.Bool("transpose_a"), g.Bool("transpose_b")
		return two(g, func() op.Desc {
			if ta {
				return product(g, b, dy, tb, true)
			}
			return product(g, dy, b, false, !tb)
		}, func() op.Desc {
			if !tb && !ta { // if b has no batch dimensions, one product over all rows instead of one per batch
				if m := rows(g, b, a, dy); m != nil {
					return *m
				}
			}
			if tb {
				return product(g, dy, a, true, ta)
			}
			return product(g, a, dy, !ta, false)
		})
	}},
	op.Linear: {readOther3, func(g *grad) []op.Desc {
		x, w, dy := g.x[0], g.x[1], g.dy[0]
		k, n := x.Shape[len(x.Shape)-1], dy.Shape[len(dy.Shape)-1]
		m := x.Shape[:len(x.Shape)-1].Size()
		d := make([]op.Desc, len(g.x))
		flat := g.Reshape(dy, shape.Of(m, n))
		if g.need[0] {
			d[0] = g.Reshape(product(g, flat, w, false, !g.Bool("transpose_w")), x.Shape)
		}
		if g.need[1] {
			rows := g.Reshape(x, shape.Of(m, k))
			if g.Bool("transpose_w") {
				d[1] = product(g, flat, rows, true, false)
			} else {
				d[1] = product(g, rows, flat, true, false)
			}
		}
		if len(d) > 2 && g.need[2] {
			d[2] = g.Reduce(op.Sum, flat, false, 0)
		}
		return d
	}},
	op.Conv: {readOther, func(g *grad) []op.Desc {
		return two(g, func() op.Desc { return convInput(g) }, func() op.Desc { return convWeight(g) })
	}},
}

func readOther3(need []bool) (in, out uint64) { return readOther(need[:2]) }

func product(g *grad, a, b op.Desc, ta, tb bool) op.Desc {
	return g.With(op.MatMul, []op.Desc{a, b}, op.Flag("transpose_a", ta), op.Flag("transpose_b", tb))
}

// rows returns the gradient of b as one product aᵀ·dy over the rows of all batches. It returns nil if b has batch dimensions, or if a has
// no batch dimensions or was broadcast to the batch dimensions of dy.
func rows(g *grad, b, a, dy op.Desc) *op.Desc {
	if b.Shape[:len(b.Shape)-2].Size() != 1 || len(a.Shape) == 2 || !slices.Equal(a.Shape[:len(a.Shape)-2], dy.Shape[:len(dy.Shape)-2]) {
		return nil
	}
	m := a.Shape[:len(a.Shape)-1].Size()
	d := product(g, g.Reshape(a, shape.Of(m, a.Shape[len(a.Shape)-1])), g.Reshape(dy, shape.Of(m, dy.Shape[len(dy.Shape)-1])), true, false)
	d = g.Reshape(d, b.Shape)
	return &d
}

// geometry contains a convolution's attributes by spatial dimension.
type geometry struct {
	stride, lo, kernel, input []int
	groups                    int
}

func geometryOf(a op.Attrs) geometry {
	return geometry{a.Ints("strides"), a.Ints("pad_lo"), a.Ints("kernel_dilation"), a.Ints("input_dilation"), a.Int("groups")}
}

func convolve(g *grad, x, w op.Desc, stride, lo, hi, kernel, input []int, groups int) op.Desc {
	return g.With(op.Conv, []op.Desc{x, w}, op.Ints("strides", stride...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...),
		op.Ints("kernel_dilation", kernel...), op.Ints("input_dilation", input...), op.Int("groups", groups))
}

// convInput returns the gradient of the input: a convolution of dy, dilated by the strides, with the kernel reversed and its channels
// exchanged. The input's own dilation becomes the stride. (Dumoulin and Visin, A guide to convolution arithmetic, 2016)
func convInput(g *grad) op.Desc {
	c, x, w, dy := geometryOf(g.Attrs), g.x[0].Shape, g.x[1], g.dy[0]
	if dy.Shape.Size() == 0 || x.Size() == 0 {
		return g.zeros(g.x[0])
	}
	n := len(x) - 2
	out, in := w.Shape[0]/c.groups, w.Shape[1]
	kernel := w.Shape[2:]
	split := append(shape.Of(c.groups, out, in), kernel...)
	order := []int{0, 2, 1}
	var spatial []int
	lo, hi := make([]int, n), make([]int, n)
	for i := range n {
		order = append(order, 3+i)
		spatial = append(spatial, 2+i)
		reach := (kernel[i] - 1) * c.kernel[i]
		lo[i] = reach - c.lo[i]
		hi[i] = (x[2+i]-1)*c.input[i] + 1 + reach - ((dy.Shape[2+i]-1)*c.stride[i] + 1) - lo[i]
	}
	v := w
	if c.groups > 1 {
		v = g.Permute(g.Reshape(w, split), order...)
	} else {
		v = g.Permute(w, append([]int{1, 0}, spatial...)...)
	}
	v = g.Reshape(v, append(shape.Of(c.groups*in, out), kernel...))
	if kernel.Size() > 1 {
		v = g.Un(op.Flip, v, op.Ints("axes", spatial...))
	}
	return convolve(g, dy, v, c.input, lo, hi, c.kernel, c.stride, c.groups)
}

// convWeight returns the gradient of the kernel: a convolution over batches instead of channels, with dy as the kernel; strides and kernel
// dilation are exchanged.
func convWeight(g *grad) op.Desc {
	c, x, w, dy := geometryOf(g.Attrs), g.x[0], g.x[1].Shape, g.dy[0]
	if dy.Shape.Size() == 0 || x.Shape.Size() == 0 {
		return g.zeros(g.x[1])
	}
	n := len(w) - 2
	batch, in := x.Shape[0], w[1]
	spatial := x.Shape[2:]
	lo, hi := make([]int, n), make([]int, n)
	order := []int{2, 1, 0}
	swap := []int{1, 0}
	for i := range n {
		order, swap = append(order, 3+i), append(swap, 2+i)
		lo[i] = c.lo[i]
		hi[i] = (w[2+i]-1)*c.kernel[i] + (dy.Shape[2+i]-1)*c.stride[i] + 1 - ((spatial[i]-1)*c.input[i] + 1) - lo[i]
	}
	v := x
	if c.groups > 1 { // [N, G, C, ...] to [C, G, N, ...]
		v = g.Permute(g.Reshape(x, append(shape.Of(batch, c.groups, in), spatial...)), order...)
		v = g.Reshape(v, append(shape.Of(in, c.groups*batch), spatial...))
	} else {
		v = g.Permute(x, swap...)
	}
	d := convolve(g, v, g.Permute(dy, swap...), c.kernel, lo, hi, c.stride, c.input, c.groups) // [C, O, ...]
	return g.Permute(d, swap...)
}
