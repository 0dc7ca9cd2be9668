package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var poolingKernels = map[op.Code]kernel{
	op.MaxPool: maxima(func(n *op.Node, s shape.Shape, idx []int) []int {
		inside, _ := window(n.Attrs, s, idx)
		return inside
	}, "window"),
	op.AdaptiveMaxPool: maxima(func(n *op.Node, s shape.Shape, idx []int) []int { return share(s, n.Attrs.Ints("size"), idx) }, "size"),
	op.LpPool: direct(func(n *op.Node, in []Tensor) Tensor {
		out, p := Zeros(n.Outputs[0]), n.Attrs.Float("p")
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			inside, _ := window(n.Attrs, in[0].Desc.Shape, idx)
			powers := floatsAt(in[0], inside)
			for i, x := range powers {
				powers[i] = math.Pow(math.Abs(x), p)
			}
			out.F[pos] = math.Pow(total(powers), 1/p)
		})
		return out
	}),
	op.AdaptiveAvgPool: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			held := floatsAt(in[0], share(in[0].Desc.Shape, n.Attrs.Ints("size"), idx))
			out.F[pos] = total(held) / float64(len(held))
		})
		return out
	}),
	op.MaxUnpool: func(n *op.Node, in []Tensor) (_ []Tensor, err error) {
		out, s, size := Zeros(n.Outputs[0]), in[0].Desc.Shape, shape.Shape(n.Attrs.Ints("size"))
		batch := len(s) - len(size)
		each(s, func(pos int, idx []int) {
			k := in[1].I[pos]
			if k < 0 || k >= int64(size.Size()) {
				err = outside(n, k, size.Size())
				return
			}
			out.set(at(s[:batch], idx[:batch])*size.Size()+int(k), in[0], pos)
		})
		return []Tensor{out}, err
	},
}

// maxima returns a kernel that computes maxima. held returns the positions that each result is the maximum of; attr has an entry per pooled
// dimension.
func maxima(held func(n *op.Node, s shape.Shape, idx []int) []int, attr string) kernel {
	return func(n *op.Node, in []Tensor) ([]Tensor, error) {
		s := in[0].Desc.Shape
		trailing := s[len(s)-len(n.Attrs.Ints(attr)):]
		var outs []Tensor
		for _, d := range n.Outputs {
			outs = append(outs, Zeros(d))
		}
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			positions := held(n, s, idx)
			greatest.apply(outs[0], pos, in[0], positions)
			if len(outs) > 1 {
				outs[1].I[pos] = -1
				best := -1
				for _, p := range positions {
					if best < 0 || order(in[0], p, best) > 0 {
						best = p
						outs[1].I[pos] = int64(p % trailing.Size())
					}
				}
			}
		})
		return outs, nil
	}
}

// share lists the positions in s that the window of adaptive pooling at output index idx contains.
func share(s shape.Shape, size, idx []int) []int {
	first := len(s) - len(size)
	var lo []int
	var length shape.Shape
	for d, m := range size {
		n, i := s[first+d], idx[first+d]
		start, end := i*n/m, ((i+1)*n+m-1)/m
		lo, length = append(lo, start), append(length, end-start)
	}
	var out []int
	each(length, func(_ int, k []int) {
		p := slices.Clone(idx)
		for d := range k {
			p[first+d] = lo[d] + k[d]
		}
		out = append(out, at(s, p))
	})
	return out
}
