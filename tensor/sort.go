package tensor

import "github.com/goburn/burn/core/op"

// Sort returns the elements along axis in order, and where each was (i64). It is stable; NaN counts as greatest.
func (t *Tensor) Sort(axis int, descending bool) (values, indices *Tensor) {
	r := Op(op.Sort, []*Tensor{t}, op.Int("axis", t.axis("sort", axis, t.Rank())), op.Flag("descending", descending))
	return r[0], r[1]
}

// ArgSort is where the elements along axis in order were (i64).
func (t *Tensor) ArgSort(axis int, descending bool) *Tensor {
	return t.along(op.ArgSort, axis, op.Flag("descending", descending))
}

// TopK returns the k greatest elements along axis, greatest first, and where each was (i64).
func (t *Tensor) TopK(k, axis int) (values, indices *Tensor) { return t.topk(k, axis, true) }

// BottomK returns the k least elements along axis, least first, and where each was (i64).
func (t *Tensor) BottomK(k, axis int) (values, indices *Tensor) { return t.topk(k, axis, false) }

func (t *Tensor) topk(k, axis int, largest bool) (values, indices *Tensor) {
	r := Op(op.TopK, []*Tensor{t}, op.Int("k", k), op.Int("axis", t.axis("topk", axis, t.Rank())), op.Flag("largest", largest))
	return r[0], r[1]
}

// SearchSorted is where each value would be inserted into sorted t (i64): before equal elements, or with right after them.
// t[n] serves all values, t[..., n] those of the line at the same place.
func (t *Tensor) SearchSorted(values *Tensor, right bool) *Tensor {
	return Op(op.SearchSorted, []*Tensor{t, values}, op.Flag("right", right))[0]
}

// Histogram counts (i64) the elements of t in bins: bin k holds edges[k] to edges[k+1] without the latter, but the last bin
// has its upper edge too.
func (t *Tensor) Histogram(edges *Tensor) *Tensor { return Op(op.Histogram, []*Tensor{t, edges})[0] }
