package ref

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// indexKernels are the ops that index along one axis. addressed walks their positions.
var indexKernels = map[op.Code]kernel{
	op.Gather: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out := Zeros(n.Outputs[0])
		err := addressed(n, in[0], in[1], n.Outputs[0], func(element, slice int) { out.set(slice, in[0], element) })
		return []Tensor{out}, err
	},
	op.Scatter: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		out := in[0].Clone()
		err := addressed(n, in[0], in[1], in[2].Desc, func(element, slice int) { combine(out, element, in[2], slice, n.Attrs.Str("mode")) })
		return []Tensor{out}, err
	},
}

// addressed calls f with the position in x and the position in a tensor like slices, of shape x[:axis] + indices[batch:] +
// x[axis+1:], of every element that indices name, in row-major order of slices.
func addressed(n *op.Node, x, indices Tensor, slice op.Desc, f func(element, slice int)) (err error) {
	axis, batch := n.Attrs.Int("axis"), n.Attrs.Int("batch")
	own := len(indices.Desc.Shape) - batch // dimensions of indices that replace axis
	each(slice.Shape, func(pos int, idx []int) {
		which := slices.Concat(idx[:batch], idx[axis:axis+own])
		k := indices.I[at(indices.Desc.Shape, which)]
		if k < 0 || k >= int64(x.Desc.Shape[axis]) {
			err = outside(n, k, x.Desc.Shape[axis])
			return
		}
		f(at(x.Desc.Shape, slices.Concat(idx[:axis], []int{int(k)}, idx[axis+own:])), pos)
	})
	return err
}

func outside(n *op.Node, index int64, size int) error {
	return fmt.Errorf("%v: index %d, want one in [0,%d): %w", n.Op, index, size, core.ErrIndex)
}

// combine sets the element at position to of out to its combination, by a scatter mode, with the element at position from of updates.
func combine(out Tensor, to int, updates Tensor, from int, mode string) {
	d := out.Desc.DType
	if mode == "assign" {
		out.set(to, updates, from)
		return
	}
	if d.IsFloat() {
		a, b := out.F[to], updates.F[from]
		out.F[to] = map[string]float64{"add": a + b, "mul": a * b, "min": min(a, b), "max": max(a, b)}[mode]
		return
	}
	a, b := out.I[to], updates.I[from]
	least, greatest := a, b
	if lessInt(d, b, a) {
		least, greatest = b, a
	}
	out.I[to] = Wrap(d, map[string]int64{"add": a + b, "mul": a * b, "min": least, "max": greatest}[mode])
}
