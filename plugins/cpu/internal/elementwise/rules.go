package elementwise

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	put := func(prepare func(n *op.Node, in []op.Desc) kernel.Func, codes ...op.Code) {
		for _, c := range codes {
			rules[c] = kernel.Rule{Types: op.Lookup(c).Operands[0].Types, Prepare: prepare}
		}
	}
	// plainly adds ops. It prepares the kernels of ops without attributes here, one for each type of operands.
	plainly := func(prepare func(n *op.Node, in []op.Desc) kernel.Func, codes ...op.Code) {
		put(prepare, codes...)
		for _, c := range codes {
			if row := op.Lookup(c); len(row.Attrs) == 0 {
				rules[c] = kernel.Rule{Types: row.Operands[0].Types, Prepare: ready(c, row.Operands[0].Types, prepare)}
			}
		}
	}
	plainly(prepareUnary, op.Neg, op.Abs, op.Exp, op.Log, op.Log1p, op.Expm1, op.Sqrt, op.Sin, op.Cos, op.Tan, op.Asin, op.Acos, op.Atan,
		op.Sinh, op.Cosh, op.Tanh, op.Erf, op.Floor, op.Ceil, op.Round, op.Not,
		op.Reciprocal, op.Rsqrt, op.Square, op.Sign, op.Trunc, op.Asinh, op.Acosh, op.Atanh, op.Relu, op.Clamp,
		op.LeakyRelu, op.Elu, op.Selu, op.Celu, op.Sigmoid, op.HardSigmoid, op.HardSwish, op.Silu, op.Gelu, op.Mish, op.Softplus,
		op.Softsign, op.ThresholdedRelu)
	put(prepareTest, op.IsNaN, op.IsInf)
	plainly(prepareBinary, op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Pow, op.Max, op.Min, op.Atan2, op.And, op.Or, op.Xor, op.Shl, op.Shr,
		op.FloorMod, op.PRelu)
	plainly(prepareComparison, op.Equal, op.Less, op.NotEqual, op.Greater, op.GreaterEqual, op.LessEqual)
	put(func(_ *op.Node, in []op.Desc) kernel.Func { return whereKernel(in[1].DType) }, op.Where)
	put(func(n *op.Node, in []op.Desc) kernel.Func {
		to := n.Attrs.DType("dtype")
		if in[0].DType == to {
			return func(c *kernel.Call) error {
				c.Give(0, c.In[0], c.In[0].View)
				return nil
			}
		}
		if dtype.Smalls.Has(to) || dtype.Smalls.Has(in[0].DType) {
			return smallKernel(in[0].DType, to, n.Attrs.Bool("saturate"))
		}
		if kernel.IsHalf(in[0].DType) && to == dtype.F32 {
			return widen
		}
		if in[0].DType == dtype.F32 && kernel.IsHalf(to) {
			return narrow
		}
		return castKernel(in[0].DType, to)
	}, op.Cast)
	put(func(n *op.Node, in []op.Desc) kernel.Func {
		if in[0].DType == dtype.F64 {
			return quantizeTo[float64](n)
		}
		return quantizeTo[float32](n)
	}, op.Quantize)
	put(prepareDequantize, op.Dequantize)
	return rules
}

// ready prepares the kernels of an op for all types, so that preparing a node is a table lookup.
func ready(c op.Code, types dtype.Set, prepare func(n *op.Node, in []op.Desc) kernel.Func) func(n *op.Node, in []op.Desc) kernel.Func {
	var made [32]kernel.Func // indexed by type
	n := op.Node{Op: c, Outputs: make([]op.Desc, 1)}
	for d := range dtype.DType(len(made)) {
		if types.Has(d) {
			n.Outputs[0].DType = d
			made[d] = prepare(&n, []op.Desc{{DType: d}, {DType: d}})
		}
	}
	return func(_ *op.Node, in []op.Desc) kernel.Func { return made[in[0].DType%32] }
}

func prepareUnary(n *op.Node, in []op.Desc) kernel.Func {
	switch in[0].DType {
	case dtype.F64:
		return unaryOf(n.Op, floatLoop[float64](n))
	case dtype.F32, dtype.F16, dtype.BF16:
		if f := fast(n.Op); f != nil {
			return unaryOf(n.Op, f)
		}
		return unaryOf(n.Op, floatLoop[float32](n))
	case dtype.I64:
		return unaryOf(n.Op, intLoop[int64](n))
	case dtype.I32:
		return unaryOf(n.Op, intLoop[int32](n))
	case dtype.I16:
		return unaryOf(n.Op, intLoop[int16](n))
	case dtype.I8:
		return unaryOf(n.Op, intLoop[int8](n))
	case dtype.U64:
		return unaryOf(n.Op, intLoop[uint64](n))
	case dtype.U32:
		return unaryOf(n.Op, intLoop[uint32](n))
	case dtype.U16:
		return unaryOf(n.Op, intLoop[uint16](n))
	case dtype.U8:
		return unaryOf(n.Op, intLoop[uint8](n))
	}
	return unaryOf(n.Op, notBool)
}

// memoryBound lists the unary ops that are bound by memory bandwidth.
var memoryBound = map[op.Code]bool{op.Neg: true, op.Abs: true, op.Square: true, op.Relu: true, op.Not: true, op.Floor: true, op.Ceil: true,
	op.Trunc: true, op.Round: true, op.LeakyRelu: true, op.Clamp: true, op.HardSigmoid: true, op.HardSwish: true, op.ThresholdedRelu: true}

func unaryOf[T any](c op.Code, loop func(d, x []T)) kernel.Func {
	if loop == nil {
		return nil
	}
	grain := heavyGrain
	if memoryBound[c] {
		grain = lightGrain
	}
	return func(c *kernel.Call) error { return unary(c, grain, loop) }
}

func floatLoop[T float](n *op.Node) func(d, x []T) {
	if n.Op == op.Clamp {
		return clampOf[T](n)
	}
	if f := exactly[T](n.Op); f != nil {
		return f
	}
	if f := transcendental[T](n.Op); f != nil {
		return f
	}
	return activation[T](n.Op, n.Outputs[0].DType, n.Attrs)
}

func intLoop[T integer](n *op.Node) func(d, x []T) {
	if n.Op == op.Clamp {
		return clampOf[T](n)
	}
	return intUnary[T](n.Op)
}

func clampOf[T number](n *op.Node) func(d, x []T) {
	d := kernel.Wide(n.Outputs[0].DType)
	return clampLoop(scalarOf[T](d, n.Attrs.Value("min")), scalarOf[T](d, n.Attrs.Value("max")))
}

func scalarOf[T number](d dtype.DType, v op.Value) T {
	return kernel.FromBits[T](kernel.Scalar(d, v))
}

func prepareTest(n *op.Node, in []op.Desc) kernel.Func {
	if n.Op == op.IsNaN {
		if in[0].DType == dtype.F64 {
			return one(isNaN[float64])
		}
		return one(isNaN[float32])
	}
	positive, negative := n.Attrs.Bool("positive"), n.Attrs.Bool("negative")
	if in[0].DType == dtype.F64 {
		return one(isInf[float64](positive, negative))
	}
	return one(isInf[float32](positive, negative))
}

func prepareBinary(n *op.Node, in []op.Desc) kernel.Func {
	switch in[0].DType {
	case dtype.F64:
		return floatBinary[float64](n.Op)
	case dtype.F32, dtype.F16, dtype.BF16:
		return floatBinary[float32](n.Op)
	case dtype.I64:
		return intBinary[int64](n.Op)
	case dtype.I32:
		return intBinary[int32](n.Op)
	case dtype.I16:
		return intBinary[int16](n.Op)
	case dtype.I8:
		return intBinary[int8](n.Op)
	case dtype.U64:
		return intBinary[uint64](n.Op)
	case dtype.U32:
		return intBinary[uint32](n.Op)
	case dtype.U16:
		return intBinary[uint16](n.Op)
	}
	return intBinary[uint8](n.Op) // u8, and bool as 0 and 1
}

func floatBinary[T float](c op.Code) kernel.Func {
	if c == op.PRelu {
		return binaryOf(c, preluPair[T]())
	}
	return binaryOf(c, floatPair[T](c))
}

func intBinary[T integer](c op.Code) kernel.Func {
	if c == op.PRelu {
		return binaryOf(c, preluPair[T]())
	}
	return binaryOf(c, intPair[T](c))
}

func binaryOf[T, R any](c op.Code, p *pair[T, R]) kernel.Func {
	if p == nil {
		return nil
	}
	grain := lightGrain
	if c == op.Pow || c == op.Atan2 || c == op.Rem || c == op.FloorMod {
		grain = heavyGrain
	}
	return func(c *kernel.Call) error { return binary(c, grain, p) }
}

func prepareComparison(n *op.Node, in []op.Desc) kernel.Func {
	switch in[0].DType {
	case dtype.F64:
		return binaryOf(n.Op, comparison[float64](n.Op))
	case dtype.F32, dtype.F16, dtype.BF16:
		return binaryOf(n.Op, comparison[float32](n.Op))
	case dtype.I64:
		return binaryOf(n.Op, comparison[int64](n.Op))
	case dtype.I32:
		return binaryOf(n.Op, comparison[int32](n.Op))
	case dtype.I16:
		return binaryOf(n.Op, comparison[int16](n.Op))
	case dtype.I8:
		return binaryOf(n.Op, comparison[int8](n.Op))
	case dtype.U64:
		return binaryOf(n.Op, comparison[uint64](n.Op))
	case dtype.U32:
		return binaryOf(n.Op, comparison[uint32](n.Op))
	case dtype.U16:
		return binaryOf(n.Op, comparison[uint16](n.Op))
	}
	return binaryOf(n.Op, comparison[uint8](n.Op))
}

func prepareDequantize(n *op.Node, in []op.Desc) kernel.Func {
	switch in[0].DType {
	case dtype.U8:
		return dequantizeFrom[uint8](n)
	case dtype.I8:
		return dequantizeFrom[int8](n)
	case dtype.U16:
		return dequantizeFrom[uint16](n)
	case dtype.I16:
		return dequantizeFrom[int16](n)
	}
	return dequantizeFrom[int32](n)
}
