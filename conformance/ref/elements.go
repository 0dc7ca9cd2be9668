package ref

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// elementAt calls f with the position in x of the element that each index names, and the position of the index.
func elementAt(n *op.Node, x, indices Tensor, f func(element, index int)) (err error) {
	axis := n.Attrs.Int("axis")
	each(indices.Desc.Shape, func(pos int, idx []int) {
		k := indices.I[pos]
		if k < 0 || k >= int64(x.Desc.Shape[axis]) {
			err = outside(n, k, x.Desc.Shape[axis])
			return
		}
		source := slices.Clone(idx)
		source[axis] = int(k)
		f(at(x.Desc.Shape, source), pos)
	})
	return err
}

var elementKernels = map[op.Code]kernel{
	op.GatherElements: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out := Zeros(n.Outputs[0])
		err := elementAt(n, in[0], in[1], func(element, index int) { out.set(index, in[0], element) })
		return []Tensor{out}, err
	},
	op.ScatterElements: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out := in[0].Clone()
		err := elementAt(n, in[0], in[1], func(element, index int) { combine(out, element, in[2], index, n.Attrs.Str("mode")) })
		return []Tensor{out}, err
	},
	op.OneHot: direct(func(n *op.Node, in []Tensor) Tensor {
		out, axis := Zeros(n.Outputs[0]), n.Attrs.Int("axis")
		one := convert(Tensor{Desc: op.DescOf(dtype.I64), I: []int64{1}}, 0, n.Outputs[0].DType)
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			rest := slices.Concat(idx[:axis], idx[axis+1:])
			if in[0].I[at(in[0].Desc.Shape, rest)] == int64(idx[axis]) {
				out.set(pos, one, 0)
			}
		})
		return out
	}),
}
