package ref

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// modulo returns i reduced to [0, n).
func modulo(i, n int) int { return (i%n + n) % n }

// continued maps position i, of an axis of n elements that is continued endlessly by mode, to a position in [0, n).
func continued(i, n int, mode string) int {
	for i < 0 || i >= n { // one step towards the axis at a time
		switch mode {
		case "edge":
			i = min(max(i, 0), n-1)
		case "wrap":
			i = modulo(i, n)
		case "symmetric":
			if i < 0 {
				i = -1 - i
			} else {
				i = 2*n - 1 - i
			}
		case "reflect":
			if n == 1 {
				return 0
			}
			if i < 0 {
				i = -i
			} else {
				i = 2*(n-1) - i
			}
		}
	}
	return i
}

var arrangeKernels = map[op.Code]kernel{
	op.Roll: moved(func(s shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		for k, axis := range a.Ints("axes") {
			idx[axis] = modulo(idx[axis]-a.Ints("shifts")[k]%s[axis], s[axis])
		}
		return idx, true
	}),
	op.Tile: moved(func(s shape.Shape, _ op.Attrs, idx []int) ([]int, bool) {
		for d := range idx {
			idx[d] %= s[d]
		}
		return idx, true
	}),
	op.RepeatInterleave: moved(func(_ shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		idx[a.Int("axis")] /= a.Int("repeats")
		return idx, true
	}),
	op.Stack: direct(func(n *op.Node, in []Tensor) Tensor {
		out, axis := Zeros(n.Outputs[0]), n.Attrs.Int("axis")
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			t := in[idx[axis]]
			out.set(pos, t, at(t.Desc.Shape, slices.Concat(idx[:axis], idx[axis+1:])))
		})
		return out
	}),
	op.Extend: moved(func(s shape.Shape, a op.Attrs, idx []int) ([]int, bool) {
		for d := range idx {
			idx[d] = continued(idx[d]-a.Ints("lo")[d], s[d], a.Str("mode"))
		}
		return idx, true
	}),
	op.MeshGrid: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		var outs []Tensor
		for k, d := range n.Outputs {
			out := Zeros(d)
			each(d.Shape, func(pos int, idx []int) { out.set(pos, in[k], idx[k]) })
			outs = append(outs, out)
		}
		return outs, nil
	},
	op.Eye: direct(func(n *op.Node, _ []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		one := convert(Tensor{Desc: op.DescOf(dtype.I64), I: []int64{1}}, 0, n.Outputs[0].DType)
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			if idx[1] == idx[0]+n.Attrs.Int("diagonal") {
				out.set(pos, one, 0)
			}
		})
		return out
	}),
	op.LinSpace: direct(func(n *op.Node, _ []Tensor) Tensor {
		out, a := Zeros(n.Outputs[0]), n.Attrs
		steps := a.Int("count")
		if a.Bool("endpoint") {
			steps--
		}
		for i := range out.F {
			out.F[i] = a.Float("start") + (a.Float("stop")-a.Float("start"))*float64(i)/float64(max(1, steps))
		}
		return out
	}),
}
