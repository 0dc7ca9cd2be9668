package conformance

import (
	"math"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// flushes are the results that a device may have for a node because it takes subnormal numbers for zeros, made when they are needed.
type flushes struct {
	types dtype.Set // of subnormal numbers that may be taken for zeros
	n     *op.Node
	in    []ref.Tensor
	want  []ref.Tensor
	made  [][]ref.Tensor // lists of results, each as good as the exact ones
}

// flushed returns the further results of a node, with the results of the reference for in: those where subnormal results are zeros, and
// both where subnormal operands are. There are none on a device that does not say so.
func (q *queue) flushed(n *op.Node, in, want []ref.Tensor) *flushes {
	return &flushes{types: q.dev.Capabilities().Flushes & typesOf(n, descsOf(in)), n: n, in: in, want: want}
}

// lists returns the lists of results. Those for operands without subnormal numbers are there if there are such operands.
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

// nearest returns want, with those elements of got instead that one of the further results is near. Of a subnormal operand, a result that is
// subnormal counts as a zero too: a device that takes the operand for zero may move it.
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

// subnormal reports whether a tensor has a number that may be taken for zero.
func (f *flushes) subnormal(t ref.Tensor) bool {
	least := math.Ldexp(1, minNormal[t.Desc.DType])
	return f.types.Has(t.Desc.DType) && slices.ContainsFunc(t.F, func(x float64) bool { return x != 0 && math.Abs(x) < least })
}

// zeroed returns tensors with zeros of the same sign for subnormal numbers.
func (f *flushes) zeroed(ts []ref.Tensor) []ref.Tensor {
	out := slices.Clone(ts)
	for k, t := range ts {
		if !f.types.Has(t.Desc.DType) {
			continue
		}
		least := math.Ldexp(1, minNormal[t.Desc.DType])
		out[k].F = slices.Clone(t.F)
		for i, x := range t.F {
			if math.Abs(x) < least {
				out[k].F[i] = math.Copysign(0, x)
			}
		}
	}
	return out
}
