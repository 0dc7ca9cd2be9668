package ref

import (
	"math"
	"slices"
	"sort"

	"github.com/goburn/burn/core/op"
)

// The results of these ops have the greatest possible size; elements beyond the count stay zero.

func isZero(t Tensor, p int) bool {
	if t.Desc.DType.IsFloat() {
		return t.F[p] == 0
	}
	return t.I[p] == 0
}

// counted returns the outputs of a node, zeros except for the last, which is count.
func counted(n *op.Node, count int) []Tensor {
	var outs []Tensor
	for _, d := range n.Outputs {
		outs = append(outs, Zeros(d))
	}
	outs[len(outs)-1].I[0] = int64(count)
	return outs
}

var selectionKernels = map[op.Code]kernel{
	op.NonZero: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		var tuples [][]int
		each(in[0].Desc.Shape, func(pos int, idx []int) {
			if !isZero(in[0], pos) {
				tuples = append(tuples, slices.Clone(idx))
			}
		})
		outs := counted(n, len(tuples))
		for i, tuple := range tuples {
			for d, k := range tuple {
				outs[0].I[i*len(tuple)+d] = int64(k)
			}
		}
		return outs, nil
	},
	op.Compress: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		axis := n.Attrs.Int("axis")
		var kept []int
		for i, c := range in[1].I {
			if c != 0 {
				kept = append(kept, i)
			}
		}
		outs := counted(n, len(kept))
		for i, from := range lines(in[0].Desc.Shape, axis) {
			to := lines(n.Outputs[0].Shape, axis)[i]
			for k, c := range kept {
				outs[0].set(to[k], in[0], from[c])
			}
		}
		return outs, nil
	},
	op.Unique: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		x := in[0]
		var first []int // indices of the first of each group of equal elements
		group := func(p int) int {
			return slices.IndexFunc(first, func(q int) bool { return order(x, p, q) == 0 })
		}
		for p := range x.Desc.Shape.Size() {
			if group(p) < 0 {
				first = append(first, p)
			}
		}
		if n.Attrs.Bool("sorted") {
			sort.SliceStable(first, func(i, j int) bool { return order(x, first[i], first[j]) < 0 })
		}
		outs := counted(n, len(first))
		for g, p := range first {
			outs[0].set(g, x, p)
			outs[1].I[g] = int64(p)
		}
		for p := range x.Desc.Shape.Size() {
			outs[2].I[p] = int64(group(p))
			outs[3].I[group(p)]++
		}
		return outs, nil
	},
	op.NMS: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		var ranked, kept []int
		for i, s := range in[1].F {
			if s > n.Attrs.Float("score_threshold") {
				ranked = append(ranked, i)
			}
		}
		sort.SliceStable(ranked, func(i, j int) bool { return in[1].F[ranked[i]] > in[1].F[ranked[j]] })
		for _, i := range ranked {
			overlaps := func(k int) bool {
				return overlap(corners(n, in[0], i), corners(n, in[0], k)) > n.Attrs.Float("iou_threshold")
			}
			if len(kept) < n.Attrs.Int("max_output") && !slices.ContainsFunc(kept, overlaps) {
				kept = append(kept, i)
			}
		}
		outs := counted(n, len(kept))
		for k, i := range kept {
			outs[0].I[k] = int64(i)
		}
		return outs, nil
	},
}

// rectangle is the least and greatest y and x of a box.
type rectangle struct{ top, bottom, left, right float64 }

func (r rectangle) area() float64 { return (r.bottom - r.top) * (r.right - r.left) }

func corners(n *op.Node, boxes Tensor, i int) rectangle {
	b := boxes.F[4*i : 4*i+4]
	if n.Attrs.Bool("center_point") {
		return rectangle{b[1] - b[3]/2, b[1] + b[3]/2, b[0] - b[2]/2, b[0] + b[2]/2}
	}
	return rectangle{min(b[0], b[2]), max(b[0], b[2]), min(b[1], b[3]), max(b[1], b[3])}
}

// overlap returns intersection over union, which is 0 for disjoint boxes.
func overlap(a, b rectangle) float64 {
	h := math.Min(a.bottom, b.bottom) - math.Max(a.top, b.top)
	w := math.Min(a.right, b.right) - math.Max(a.left, b.left)
	if h <= 0 || w <= 0 {
		return 0
	}
	return h * w / (a.area() + b.area() - h*w)
}
