package ref

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// scan returns the kernel that combines, for every element of a line, all elements up to it (before it, when exclusive).
func scan(r reducer) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for _, line := range lines(in[0].Desc.Shape, n.Attrs.Int("axis")) {
			if n.Attrs.Bool("reverse") {
				slices.Reverse(line)
			}
			for k, p := range line {
				upto := line[:k+1]
				if n.Attrs.Bool("exclusive") {
					upto = line[:k]
				}
				r.apply(out, p, in[0], upto)
			}
		}
		return out
	})
}

var scanKernels = map[op.Code]kernel{
	op.CumSum:  scan(sum),
	op.CumProd: scan(product),
	op.CumMax:  scan(greatest),
	op.CumMin:  scan(least),
}
