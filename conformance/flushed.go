package conformance

import (
	"math"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// flushes contains the alternative results of a node on a device that flushes subnormal numbers to zero. They are computed when they are
// needed.
type flushes struct {
	types dtype.Set // types whose subnormal numbers may be flushed
	n     *op.Node
	in    []ref.Tensor
	want  []ref.Tensor
	made  [][]ref.Tensor // lists of results, each as valid as the exact ones
}

// flushed returns the alternative results of a node. in and want are the operands and results of the reference. Alternatives have subnormal
// results flushed, subnormal operands flushed, or both. There are none if the device does not declare flushing.
func (q *queue) flushed(n *op.Node, in, want []ref.Tensor) *flushes {
	return &flushes{types: q.dev.Capabilities().Flushes & typesOf(n, descsOf(in)), n: n, in: in, want: want}
}

// lists returns the lists of results, including those for flushed operands if any operand has subnormal numbers.
func (f *flushes) lists() [][]ref.Tensor {
	if f.made == nil {
		f.made = [][]ref.Tensor{f.zeroed(f.want)}
		if slices.ContainsFunc(f.in, f.subnormal) {
			if less, err := ref.Eval(f.n, f.zeroed(f.in)); err == nil {
				f.made = append(f.made, less, f.zeroed(less))
			}
		}
	}
	return f.made
}

// nearest returns a copy of want in which an element of got replaces the expected element if it is near an alternative result. If an operand
// has subnormal numbers, nearest also accepts a subnormal element of got where an alternative result is zero: the device may copy the
// operand without flushing.
func (f *flushes) nearest(n *op.Node, in []op.Desc, output int, want, got ref.Tensor) ref.Tensor {
	if f.types == 0 {
		return want
	}
	rel, abs, exact := bounds(n, in, want.Desc.DType)
	best := ref.Tensor{Desc: want.Desc, F: slices.Clone(want.F), I: slices.Clone(want.I)}
	moved := f.zeroed([]ref.Tensor{got})[0]
	for k, list := range f.lists() {
		for i, x := range list[output].F {
			if !near(want.F[i], got.F[i], rel, abs, exact) && (near(x, got.F[i], rel, abs, exact) || k > 0 && near(x, moved.F[i], rel, abs, exact)) {
				best.F[i] = got.F[i]
			}
		}
		for i, x := range list[output].I {
			if x == got.I[i] {
				best.I[i] = x
			}
		}
	}
	return best
}

// subnormal reports whether a tensor has a number that may be flushed to zero.
func (f *flushes) subnormal(t ref.Tensor) bool {
	least := t.Desc.DType.LeastNormal()
	return f.types.Has(t.Desc.DType) && slices.ContainsFunc(t.F, func(x float64) bool { return x != 0 && math.Abs(x) < least })
}

// zeroed returns tensors with subnormal numbers replaced by zeros of the same sign.
func (f *flushes) zeroed(ts []ref.Tensor) []ref.Tensor {
	out := slices.Clone(ts)
	for k, t := range ts {
		if !f.types.Has(t.Desc.DType) {
			continue
		}
		least := t.Desc.DType.LeastNormal()
		out[k].F = slices.Clone(t.F)
		for i, x := range t.F {
			if math.Abs(x) < least {
				out[k].F[i] = math.Copysign(0, x)
			}
		}
	}
	return out
}
