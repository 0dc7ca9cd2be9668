package ref

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var patchKernels = map[op.Code]kernel{
	op.Im2Col: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		columns(n.Attrs, in[0].Desc.Shape, func(element, column int) { out.set(column, in[0], element) })
		return out
	}),
	op.Col2Im: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		sums := make([]dot, out.Desc.Shape.Size())
		columns(n.Attrs, out.Desc.Shape, func(element, column int) {
			if out.Desc.DType.IsFloat() {
				sums[element].acc.add(in[0].F[column])
			} else {
				sums[element].i += in[0].I[column]
			}
		})
		for i := range sums {
			sums[i].store(out, i)
		}
		return out
	}),
	op.DepthToSpace: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		unfolded(n, out.Desc.Shape, func(deep, wide int) { out.set(wide, in[0], deep) })
		return out
	}),
	op.SpaceToDepth: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		unfolded(n, in[0].Desc.Shape, func(deep, wide int) { out.set(deep, in[0], wide) })
		return out
	}),
	op.ChannelShuffle: direct(func(n *op.Node, in []Tensor) Tensor {
		out, g := Zeros(n.Outputs[0]), n.Attrs.Int("groups")
		s := out.Desc.Shape
		each(s, func(pos int, idx []int) {
			from := slices.Clone(idx)
			from[1] = idx[1]%g*(s[1]/g) + idx[1]/g
			out.set(pos, in[0], at(s, from))
		})
		return out
	}),
	op.ConvTranspose: direct(func(n *op.Node, in []Tensor) Tensor {
		x, w, out, a := in[0], in[1], Zeros(n.Outputs[0]), n.Attrs
		xs, ws, s := x.Desc.Shape, w.Desc.Shape, out.Desc.Shape
		sums := make([]dot, s.Size())
		each(xs, func(from int, xi []int) {
			group := xi[1] / (xs[1] / a.Int("groups"))
			each(ws[1:], func(_ int, k []int) {
				to := []int{xi[0], group*ws[1] + k[0]}
				for d := range len(xs) - 2 {
					p := xi[2+d]*a.Ints("strides")[d] + k[1+d]*a.Ints("dilation")[d] - a.Ints("pad_lo")[d]
					if p < 0 || p >= s[2+d] {
						return // cut off
					}
					to = append(to, p)
				}
				sums[at(s, to)].add(x, from, w, at(ws, slices.Concat(xi[1:2], k)))
			})
		})
		for i := range sums {
			sums[i].store(out, i)
		}
		return out
	}),
}

// columns calls f with the position of every element of x, a tensor of shape s, that a window covers, and its position in
// the columns of all windows.
func columns(a op.Attrs, s shape.Shape, f func(element, column int)) {
	kernel, dims := shape.Shape(a.Ints("window")), s[2:]
	var windows shape.Shape
	for d, n := range dims {
		room := n + a.Ints("pad_lo")[d] + a.Ints("pad_hi")[d] - (kernel[d]-1)*a.Ints("dilation")[d] - 1
		if room < 0 {
			return
		}
		windows = append(windows, room/a.Ints("strides")[d]+1)
	}
	table := shape.Of(s[0], s[1]*kernel.Size(), windows.Size())
	each(slices.Concat(s[:2], kernel, windows), func(_ int, idx []int) {
		k, o := idx[2:2+len(kernel)], idx[2+len(kernel):]
		p := slices.Clone(idx[:2])
		for d := range k {
			i := o[d]*a.Ints("strides")[d] + k[d]*a.Ints("dilation")[d] - a.Ints("pad_lo")[d]
			if i < 0 || i >= dims[d] {
				return
			}
			p = append(p, i)
		}
		f(at(s, p), at(table, []int{idx[0], idx[1]*kernel.Size() + at(kernel, k), at(windows, o)}))
	})
}

// unfolded calls f with the position of every element as channels of blocks and as space, of shape s.
func unfolded(n *op.Node, s shape.Shape, f func(deep, wide int)) {
	block := shape.Shape(n.Attrs.Ints("block"))
	deep := shape.Of(s[0], s[1]*block.Size())
	for d, k := range block {
		deep = append(deep, s[2+d]/k)
	}
	each(s, func(pos int, idx []int) {
		place, p := []int{}, slices.Clone(idx)
		for d, k := range block {
			place, p[2+d] = append(place, idx[2+d]%k), idx[2+d]/k
		}
		if n.Attrs.Str("mode") == "crd" {
			p[1] = idx[1]*block.Size() + at(block, place)
		} else {
			p[1] = at(block, place)*s[1] + idx[1]
		}
		f(at(deep, p), pos)
	})
}
