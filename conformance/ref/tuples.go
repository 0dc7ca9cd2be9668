package ref

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// tupleAt calls f with the position in x and in a tensor like slices, of shape indices[:-1] + x[batch+r:], of every
// element that the index tuples name.
func tupleAt(n *op.Node, x, indices Tensor, batch int, slice op.Desc, f func(element, slice int)) (err error) {
	s, is := x.Desc.Shape, indices.Desc.Shape
	outer, r := len(is)-1, is[len(is)-1]
	each(slice.Shape, func(pos int, idx []int) {
		source := slices.Clone(idx[:batch])
		for c := range r {
			k := indices.I[at(is, slices.Concat(idx[:outer], []int{c}))]
			if k < 0 || k >= int64(s[batch+c]) {
				err = outside(n, k, s[batch+c])
				return
			}
			source = append(source, int(k))
		}
		f(at(s, append(source, idx[outer:]...)), pos)
	})
	return err
}

var tupleKernels = map[op.Code]kernel{
	op.GatherND: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out := Zeros(n.Outputs[0])
		err := tupleAt(n, in[0], in[1], n.Attrs.Int("batch"), n.Outputs[0], func(element, slice int) { out.set(slice, in[0], element) })
		return []Tensor{out}, err
	},
	op.ScatterND: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out := in[0].Clone()
		err := tupleAt(n, in[0], in[1], 0, in[2].Desc, func(element, slice int) { combine(out, element, in[2], slice, n.Attrs.Str("mode")) })
		return []Tensor{out}, err
	},
}
