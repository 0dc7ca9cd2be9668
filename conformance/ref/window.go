package ref

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var windowKernels = map[op.Code]kernel{
	op.WindowReduce: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		var outs []Tensor
		for _, d := range n.Outputs {
			outs = append(outs, Zeros(d))
		}
		join := sum
		if n.Attrs.Str("reduce") == "max" {
			join = greatest
		}
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			inside, _ := window(n.Attrs, in[0].Desc.Shape, idx)
			join.apply(outs[0], pos, in[0], inside)
			if len(outs) > 1 {
				outs[1].I[pos] = firstGreatest(n.Attrs, in[0], inside)
			}
		})
		return outs, nil
	},
	op.AvgPool: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			inside, padding := window(n.Attrs, in[0].Desc.Shape, idx)
			count := len(inside)
			if n.Attrs.Bool("count_pad") {
				count += padding
			}
			out.F[pos] = total(floatsAt(in[0], inside)) / float64(count)
		})
		return out
	}),
}

// window lists the positions in s that the window at output index idx covers, in row-major order, and the number of its positions that are
// in the padding of pad_lo and pad_hi.
func window(a op.Attrs, s shape.Shape, idx []int) (inside []int, padding int) {
	size := a.Ints("window")
	first := len(s) - len(size) // first dimension that the window slides over
	each(size, func(_ int, k []int) {
		p := slices.Clone(idx)
		inX, inPad := true, true
		for d := range k {
			i := idx[first+d]*a.Ints("strides")[d] + k[d]*a.Ints("dilation")[d] - a.Ints("pad_lo")[d]
			inX = inX && i >= 0 && i < s[first+d]
			inPad = inPad && i < s[first+d]+a.Ints("pad_hi")[d]
			p[first+d] = i
		}
		switch {
		case inX:
			inside = append(inside, at(s, p))
		case inPad:
			padding++
		}
	})
	return inside, padding
}

// firstGreatest returns the index, within the dimensions that the window slides over, of the first NaN or else of the first greatest
// element, or -1 if there is none.
func firstGreatest(a op.Attrs, x Tensor, positions []int) int64 {
	best := -1
	for _, p := range positions {
		if best < 0 || order(x, p, best) > 0 { // NaN is greater than everything
			best = p
		}
	}
	if best < 0 {
		return -1
	}
	trailing := x.Desc.Shape[len(x.Desc.Shape)-len(a.Ints("window")):]
	return int64(best % trailing.Size())
}
