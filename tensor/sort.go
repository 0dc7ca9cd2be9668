package tensor

import "github.com/goburn/burn/core/op"

// Sort returns the elements along axis in order, and the original index of each (i64). It is stable; NaN counts as the greatest
// number.
func (t *Tensor) Sort(axis int, descending bool) (values, indices *Tensor) {
	r := Op(op.Sort, []*Tensor{t}, op.Int("axis", t.axis("sort", axis, t.Rank())), op.Flag("descending", descending))
	return r[0], r[1]
}

// ArgSort returns the original indices (i64) of the elements along axis in order.
func (t *Tensor) ArgSort(axis int, descending bool) *Tensor {
	return t.along(op.ArgSort, axis, op.Flag("descending", descending))
}

// TopK returns the k greatest elements along axis, greatest first, and the original index of each (i64).
func (t *Tensor) TopK(k, axis int) (values, indices *Tensor) { return t.topk(k, axis, true) }

// BottomK returns the k least elements along axis, least first, and the original index of each (i64).
func (t *Tensor) BottomK(k, axis int) (values, indices *Tensor) { return t.topk(k, axis, false) }

func (t *Tensor) topk(k, axis int, largest bool) (values, indices *Tensor) {
	r := Op(op.TopK, []*Tensor{t}, op.Int("k", k), op.Int("axis", t.axis("topk", axis, t.Rank())), op.Flag("largest", largest))
	return r[0], r[1]
}

// SearchSorted returns the index (i64) at which each value would be inserted into sorted t: before equal elements, or after them
// if right is set. A vector t[n] is searched for all values; in t[..., n] each row is searched for the values of the
// corresponding row.
func (t *Tensor) SearchSorted(values *Tensor, right bool) *Tensor {
	return Op(op.SearchSorted, []*Tensor{t, values}, op.Flag("right", right))[0]
}

// Histogram counts (i64) the elements of t in bins: bin k contains the numbers from edges[k] up to but not including edges[k+1],
// except that the last bin includes its upper edge.
func (t *Tensor) Histogram(edges *Tensor) *Tensor { return Op(op.Histogram, []*Tensor{t, edges})[0] }
