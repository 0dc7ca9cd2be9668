package normal

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	for _, c := range []op.Code{op.Softmax, op.LogSoftmax, op.BatchNorm, op.LayerNorm, op.RMSNorm, op.GroupNorm} {
		rules[c] = kernel.Halves(kernel.Rule{Types: dtype.Floats, Prepare: func(n *op.Node, in []op.Desc) kernel.Func {
			if in[0].DType == dtype.F64 {
				return of[float64](n, in)
			}
			return of[float32](n, in)
		}})
	}
	return rules
}

func of[T float](n *op.Node, in []op.Desc) kernel.Func {
	switch n.Op {
	case op.BatchNorm:
		return batchNorm[T](n, in)
	case op.LayerNorm, op.RMSNorm:
		return tailNorm[T](n, in)
	case op.GroupNorm:
		return groupNorm[T](n, in)
	}
	return softmax[T](n, in)
}
