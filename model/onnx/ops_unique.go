package onnx

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() { register("Unique", 11, unique) }

func unique(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	s, axis := shape.Of(x.shape().Size()), 0
	if n.has("axis") {
		s, axis = x.shape(), t.axis(n.int("axis", 0), x.rank())
	}
	sorted := n.int("sorted", 1) != 0
	if !n.has("axis") && x.dtype() != dtype.Bool { // single elements; slices are compared on the host
		r := t.all(op.Unique, []value{t.reshape(x, s...)}, op.Flag("sorted", sorted))
		count := t.hostInt(r[4])
		for _, i := range []int{0, 1, 3} {
			r[i] = t.narrow(r[i], 0, 0, count)
		}
		return r[:4]
	}
	return t.hostOp([]value{x}, func(in []hostTensor) ([]hostTensor, error) {
		return uniqueOf(hostTensor{DType: in[0].DType, Shape: s, Data: in[0].Data}, axis, sorted), nil
	})
}

// uniqueOf finds the distinct slices of x along axis. It returns the slices, the index of the first occurrence of each, the index
// of the distinct slice for each slice of x, and the counts. NaN equals NaN and sorts last, -0 equals +0; slices are ordered
// lexicographically.
func uniqueOf(x hostTensor, axis int, sorted bool) []hostTensor {
	items, elem := x.Shape[axis], x.DType.Size()
	outer, inner := x.Shape[:axis].Size(), x.Shape[axis+1:].Size()
	keys := make([][]uint64, items)
	for i := range keys {
		keys[i] = make([]uint64, 0, outer*inner)
		for o := range outer {
			at := (o*items + i) * inner
			for k := range inner {
				keys[i] = append(keys[i], sortKey(x.DType, x.Data[(at+k)*elem:]))
			}
		}
	}
	order := span(0, items)
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(keys[a], keys[b]) })

	var first, counts []int // per distinct slice, by value
	group := make([]int, items)
	for r, i := range order {
		if r == 0 || !slices.Equal(keys[i], keys[order[r-1]]) {
			first, counts = append(first, i), append(counts, 0)
		}
		group[i] = len(first) - 1
		counts[len(counts)-1]++
	}
	places := span(0, len(first)) // groups in output order
	if !sorted {
		slices.SortFunc(places, func(a, b int) int { return first[a] - first[b] })
	}
	rank := make([]int, len(first))
	for r, g := range places {
		rank[g] = r
	}
	line := func(n int, f func(i int) int) hostTensor {
		h := hostTensor{DType: dtype.I64, Shape: shape.Of(n)}
		for i := range n {
			h.Data = appendInt(h.Data, dtype.I64, int64(f(i)))
		}
		return h
	}
	y := hostTensor{DType: x.DType, Shape: x.Shape.Clone()}
	y.Shape[axis] = len(first)
	for o := range outer {
		for _, g := range places {
			at := (o*items + first[g]) * inner * elem
			y.Data = append(y.Data, x.Data[at:at+inner*elem]...)
		}
	}
	return []hostTensor{y, line(len(first), func(i int) int { return first[places[i]] }),
		line(items, func(i int) int { return rank[group[i]] }), line(len(first), func(i int) int { return counts[places[i]] })}
}

// sortKey maps the element at the start of e to a number with the same order.
func sortKey(d dtype.DType, e []byte) uint64 {
	const top = 1 << 63
	switch {
	case d == dtype.U64:
		return binary.LittleEndian.Uint64(e)
	case !d.IsFloat():
		return uint64(toInt64(d, e)) ^ top
	}
	f := toFloats(d, e[:d.Size()])[0]
	switch {
	case f != f:
		return math.MaxUint64
	case f == 0:
		return top
	case f < 0:
		return ^math.Float64bits(f)
	}
	return math.Float64bits(f) | top
}
