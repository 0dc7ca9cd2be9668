// Package order contains the kernels that order elements: sort and top-k. NaN is greater than all numbers, and the two zeros are equal.
// Package cpu selects the kernels through the rules of package kernel. Equal elements must keep their order.
package order

import (
	"cmp"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

type number interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// item is an element and its index in the line.
type item[T number] struct {
	v T
	i int
}

// compare orders ascending, with NaN last. It orders equal items by index, so that sorting by it is stable.
func compare[T number](a, b item[T]) int {
	switch {
	case a.v < b.v:
		return -1
	case a.v > b.v:
		return 1
	case a.v == b.v:
		return cmp.Compare(a.i, b.i)
	}
	an, bn := a.v != a.v, b.v != b.v
	switch {
	case an && !bn:
		return 1
	case bn && !an:
		return -1
	}
	return cmp.Compare(a.i, b.i)
}

// reversed orders descending, with NaN first and equal items by index.
func reversed[T number](a, b item[T]) int {
	switch {
	case a.v > b.v:
		return -1
	case a.v < b.v:
		return 1
	case a.v == b.v:
		return cmp.Compare(a.i, b.i)
	}
	an, bn := a.v != a.v, b.v != b.v
	switch {
	case an && !bn:
		return -1
	case bn && !an:
		return 1
	}
	return cmp.Compare(a.i, b.i)
}

// grain is the least number of elements for which another thread is used.
const grain = 2048

func sorting[T number](n *op.Node, in []op.Desc) kernel.Func {
	l := kernel.LinesOf(in[0].Shape, n.Attrs.Int("axis"))
	less, descending := compare[T], n.Attrs.Bool("descending")
	if descending {
		less = reversed[T]
	}
	return func(c *kernel.Call) error {
		x := kernel.Input[T](c, l, c.In[0])
		v, doneV := kernel.Output[T](c, l, 0, -1)
		i, doneI := kernel.Output[int64](c, l, 1, -1)
		if len(v) == 0 {
			return nil
		}
		c.Pool.For(l.Count, grain/l.N+1, func(lo, hi int) {
			if k := make([]uint64, l.N); keys(k, x[lo*l.N:][:l.N], descending) {
				buffer := make([]uint64, l.N)
				for r := lo; r < hi; r++ {
					if r > lo {
						keys(k, x[r*l.N:][:l.N], descending)
					}
					sortKeys(k, buffer)
					read(k, x[r*l.N:][:l.N], v[r*l.N:], i[r*l.N:])
				}
				return
			}
			items := make([]item[T], l.N)
			for k := lo; k < hi; k++ {
				for j, e := range x[k*l.N:][:l.N] {
					items[j] = item[T]{e, j}
				}
				slices.SortFunc(items, less)
				write(items, v[k*l.N:], i[k*l.N:])
			}
		})
		doneV()
		doneI()
		return nil
	}
}

func write[T number](items []item[T], v []T, i []int64) {
	for j, it := range items {
		v[j], i[j] = it.v, int64(it.i)
	}
}

// topK returns a kernel that keeps the best k items of a line in a heap, with the worst of them on top.
func topK[T number](n *op.Node, in []op.Desc) kernel.Func {
	axis, k := n.Attrs.Int("axis"), n.Attrs.Int("k")
	from, to := kernel.LinesOf(in[0].Shape, axis), kernel.LinesOf(n.Outputs[0].Shape, axis)
	less, largest := compare[T], n.Attrs.Bool("largest")
	if largest {
		less = reversed[T]
	}
	return func(c *kernel.Call) error {
		x := kernel.Input[T](c, from, c.In[0])
		v, doneV := kernel.Output[T](c, to, 0, -1)
		i, doneI := kernel.Output[int64](c, to, 1, -1)
		if len(v) == 0 {
			return nil
		}
		f, quick := any(x).([]float32)
		quick = quick && vector.Has() && k > 0 && from.N >= sparse*k
		c.Pool.For(from.Count, grain/from.N+1, func(lo, hi int) {
			if quick {
				ks := make([]uint64, k)
				for r := lo; r < hi; r++ {
					searchKeys(ks, f[r*from.N:][:from.N], largest)
					read(ks, x[r*from.N:][:from.N], v[r*k:], i[r*k:])
				}
				return
			}
			if ks := make([]uint64, from.N); keys(ks, x[lo*from.N:][:from.N], largest) {
				for r := lo; r < hi; r++ {
					if r > lo {
						keys(ks, x[r*from.N:][:from.N], largest)
					}
					selectSmallest(ks, k)
					read(ks[:k], x[r*from.N:][:from.N], v[r*k:], i[r*k:])
				}
				return
			}
			items := make([]item[T], k)
			for r := lo; r < hi; r++ {
				best(items, x[r*from.N:][:from.N], less)
				slices.SortFunc(items, less)
				write(items, v[r*k:], i[r*k:])
			}
		})
		doneV()
		doneI()
		return nil
	}
}

// best fills heap with the first items of x in the order less.
func best[T number](heap []item[T], x []T, less func(a, b item[T]) int) {
	k := len(heap)
	for j := range heap {
		heap[j] = item[T]{x[j], j}
	}
	for j := k/2 - 1; j >= 0; j-- {
		sink(heap, j, less)
	}
	for j := k; j < len(x); j++ {
		if it := (item[T]{x[j], j}); less(it, heap[0]) < 0 {
			heap[0] = it
			sink(heap, 0, less)
		}
	}
}

func sink[T number](heap []item[T], j int, less func(a, b item[T]) int) {
	for {
		child := 2*j + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && less(heap[child], heap[child+1]) < 0 {
			child++
		}
		if less(heap[child], heap[j]) <= 0 {
			return
		}
		heap[j], heap[child] = heap[child], heap[j]
		j = child
	}
}

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	return map[op.Code]kernel.Rule{
		op.Sort: kernel.Halves(kernel.Rule{Types: dtype.Numbers, Prepare: prepare}),
		op.TopK: kernel.Halves(kernel.Rule{Types: dtype.Numbers, Prepare: prepare}),
	}
}

func prepare(n *op.Node, in []op.Desc) kernel.Func {
	switch in[0].DType {
	case dtype.F64:
		return of[float64](n, in)
	case dtype.F32:
		return of[float32](n, in)
	case dtype.I64:
		return of[int64](n, in)
	case dtype.I32:
		return of[int32](n, in)
	case dtype.I16:
		return of[int16](n, in)
	case dtype.I8:
		return of[int8](n, in)
	case dtype.U64:
		return of[uint64](n, in)
	case dtype.U32:
		return of[uint32](n, in)
	case dtype.U16:
		return of[uint16](n, in)
	case dtype.U8:
		return of[uint8](n, in)
	}
	return nil
}

func of[T number](n *op.Node, in []op.Desc) kernel.Func {
	if n.Op == op.TopK {
		return topK[T](n, in)
	}
	return sorting[T](n, in)
}
