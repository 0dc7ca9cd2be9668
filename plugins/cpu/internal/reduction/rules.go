package reduction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	for _, c := range []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin, op.ArgMax, op.ArgMin,
		op.CumSum, op.CumProd, op.CumMax, op.CumMin} {
		rules[c] = kernel.Halves(kernel.Rule{Types: dtype.Numbers, Prepare: prepare})
	}
	for _, c := range []op.Code{op.Mean, op.Variance, op.LogSumExp} {
		rules[c] = kernel.Halves(kernel.Rule{Types: dtype.Floats, Prepare: prepare})
	}
	return rules
}

func prepare(n *op.Node, in []op.Desc) kernel.Func {
	switch in[0].DType {
	case dtype.F64:
		return ofFloat[float64](n, in)
	case dtype.F32:
		return ofFloat[float32](n, in)
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

func ofFloat[T float](n *op.Node, in []op.Desc) kernel.Func {
	switch n.Op {
	case op.Mean:
		return mean[T](n, in)
	case op.Variance:
		return variance[T](n, in)
	case op.LogSumExp:
		return logSumExp[T](n, in)
	}
	return of[T](n, in)
}

func of[T number](n *op.Node, in []op.Desc) kernel.Func {
	switch n.Op {
	case op.Sum, op.Prod, op.ReduceMax, op.ReduceMin:
		return reduce(n, reducerOf[T](n.Op), nil)
	case op.ArgMax, op.ArgMin:
		return arg[T](n, in)
	}
	return scan[T](n, in)
}
