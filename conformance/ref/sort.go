package ref

import (
	"cmp"
	"slices"

	"github.com/goburn/burn/core/op"
)

// ranked lists the positions of line from the least element of t to the greatest, or the other way; equal ones stay in
// their order.
func ranked(t Tensor, line []int, descending bool) []int {
	r := slices.Clone(line)
	slices.SortFunc(r, func(p, q int) int {
		if descending {
			return cmp.Or(order(t, q, p), p-q)
		}
		return cmp.Or(order(t, p, q), p-q)
	})
	return r
}

// firstRanked returns the first elements of each sorted line, as many as the output is long, and their places in the line.
func firstRanked(n *op.Node, t Tensor, descending bool) []Tensor {
	axis := n.Attrs.Int("axis")
	values, indices := Zeros(n.Outputs[0]), Zeros(n.Outputs[1])
	to := lines(n.Outputs[0].Shape, axis)
	for i, line := range lines(t.Desc.Shape, axis) {
		r := ranked(t, line, descending)
		for k, p := range to[i] {
			values.set(p, t, r[k])
			place, _ := slices.BinarySearch(line, r[k]) // positions ascend along a line
			indices.I[p] = int64(place)
		}
	}
	return []Tensor{values, indices}
}

var sortKernels = map[op.Code]kernel{
	op.Sort: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		return firstRanked(n, in[0], n.Attrs.Bool("descending")), nil
	},
	op.TopK: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		return firstRanked(n, in[0], n.Attrs.Bool("largest")), nil
	},
}
