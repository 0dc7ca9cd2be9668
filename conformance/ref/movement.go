package ref

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// moved returns a kernel that moves elements. source returns the index in the input of the element at idx of the result, or false if there
// is none.
func moved(source func(s shape.Shape, a op.Attrs, idx []int) ([]int, bool)) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		s := in[0].Desc.Shape
		src := make([]int, n.Outputs[0].Shape.Size())
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			src[pos] = -1
			if from, ok := source(s, n.Attrs, slices.Clone(idx)); ok {
				src[pos] = at(s, from)
			}
		})
		fill := Tensor{}
		if v, ok := n.Attrs.Get("value"); ok {
			fill = scalar(v, in[0].Desc.DType)
		}
		return in[0].pick(n.Outputs[0], src, fill)
	})
}

// renamed copies the input's elements in order to the output.
var renamed = direct(func(n *op.Node, in []Tensor) Tensor {
	out := in[0].Clone()
	out.Desc = n.Outputs[0]
	return out
})

var movementKernels = map[op.Code]kernel{
	op.Reshape: renamed,
	op.Copy:    renamed,
	op.Permute: moved(func(_ shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		from := make([]int, len(idx))
		for i, axis := range a.Ints("axes") {
			from[axis] = idx[i]
		}
		return from, true
	}),
	op.Expand: direct(func(n *op.Node, in []Tensor) Tensor {
		src := make([]int, n.Outputs[0].Shape.Size())
		each(n.Outputs[0].Shape, func(pos int, idx []int) { src[pos] = stretched(in[0].Desc.Shape, idx) })
		return in[0].pick(n.Outputs[0], src, Tensor{})
	}),
	op.Slice: moved(func(_ shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		for d := range idx {
			idx[d] = a.Ints("start")[d] + idx[d]*a.Ints("step")[d]
		}
		return idx, true
	}),
	op.Pad: moved(func(s shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		for d := range idx {
			idx[d] -= a.Ints("lo")[d]
			if idx[d] < 0 || idx[d] >= s[d] {
				return nil, false
			}
		}
		return idx, true
	}),
	op.Flip: moved(func(s shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		for _, axis := range a.Ints("axes") {
			idx[axis] = s[axis] - 1 - idx[axis]
		}
		return idx, true
	}),
	op.Concat: direct(func(n *op.Node, in []Tensor) Tensor {
		axis, out := n.Attrs.Int("axis"), Zeros(n.Outputs[0])
		start := 0
		for _, t := range in {
			each(t.Desc.Shape, func(pos int, idx []int) {
				to := slices.Clone(idx)
				to[axis] += start
				out.set(at(n.Outputs[0].Shape, to), t, pos)
			})
			start += t.Desc.Shape[axis]
		}
		return out
	}),
	op.Cast: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for i := range n.Outputs[0].Shape.Size() {
			if to := n.Outputs[0].DType; dtype.Smalls.Has(to) || dtype.Smalls.Has(in[0].Desc.DType) {
				out.set(i, convertSmall(in[0], i, to, n.Attrs.Bool("saturate")), 0)
				continue
			}
			out.set(i, convert(in[0], i, n.Outputs[0].DType), 0)
		}
		return out
	}),
	op.Where: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			src := in[2]
			if in[0].I[stretched(in[0].Desc.Shape, idx)] != 0 {
				src = in[1]
			}
			out.set(pos, src, stretched(src.Desc.Shape, idx))
		})
		return out
	}),
}
