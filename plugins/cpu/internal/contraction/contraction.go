// Package contraction contains the kernels of matrix products, convolutions and window reductions: it copies views to the layouts that
// packages gemm, conv, byteconv and window require, and calls them. It must not contain loops over products itself.
package contraction

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// Fusion lists the neighbouring nodes that the kernel of a product or convolution also computes.
type Fusion struct {
	// Weight is the second operand if it is a constant that the kernel keeps in packed form. The inputs of a call then do not contain it:
	// the inputs after it move down by one.
	Weight *kernel.Array
	// Keep is called with the bytes of the packed weight that the kernel keeps. It may be nil.
	Keep func(bytes int)
	// Sum adds an input of the shape of the result: the last input of the call, or the one before the bias.
	Sum bool
	// Bias adds the last input of the call: one element per column of a product, per output channel of a convolution.
	Bias bool
	// Clamp limits results to [Lo, Hi].
	Clamp  bool
	Lo, Hi op.Value
}

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	for _, c := range []op.Code{op.MatMul, op.Linear, op.Conv} {
		rules[c] = kernel.Rule{Types: op.Lookup(c).Operands[0].Types, Prepare: func(n *op.Node, in []op.Desc) kernel.Func {
			return Prepare(nil, n, in, Fusion{Bias: len(in) > 2})
		}}
	}
	rules[op.Conv] = kernel.Halves(rules[op.Conv])
	for _, c := range []op.Code{op.MatMulInteger, op.ConvInteger} {
		rules[c] = kernel.Rule{Types: op.Lookup(c).Operands[0].Types, Prepare: prepareInteger}
	}
	rules[op.WindowReduce] = kernel.Halves(kernel.Rule{Types: dtype.Numbers, Prepare: prepareWindow})
	rules[op.AvgPool] = kernel.Halves(kernel.Rule{Types: dtype.Floats, Prepare: prepareAvgPool})
	return rules
}

// Prepare returns the kernel of a matmul, linear or conv node with the nodes fused to it. Convolutions of 16-bit floats are
// not supported. env is needed only with a constant weight. The weight is packed here and not read later.
func Prepare(env *kernel.Env, n *op.Node, in []op.Desc, f Fusion) kernel.Func {
	switch in[0].DType {
	case dtype.F64:
		return prepareAs[float64](env, n, in, f)
	case dtype.F32:
		return prepareAs[float32](env, n, in, f)
	case dtype.I64:
		return prepareAs[int64](env, n, in, f)
	case dtype.I32:
		return prepareAs[int32](env, n, in, f)
	case dtype.I16:
		return prepareAs[int16](env, n, in, f)
	case dtype.I8:
		return prepareAs[int8](env, n, in, f)
	case dtype.U64:
		return prepareAs[uint64](env, n, in, f)
	case dtype.U32:
		return prepareAs[uint32](env, n, in, f)
	case dtype.U16:
		return prepareAs[uint16](env, n, in, f)
	case dtype.U8:
		return prepareAs[uint8](env, n, in, f)
	case dtype.BF16, dtype.F16:
		if n.Op != op.Conv {
			return prepareHalves(env, n, in, f)
		}
	}
	return nil
}

func prepareAs[T micro.Number](env *kernel.Env, n *op.Node, in []op.Desc, f Fusion) kernel.Func {
	if n.Op == op.Conv {
		return prepareConv[T](env, n, in, f)
	}
	return prepareProduct[T](env, n, in, f)
}

// epilogue returns the part of an epilogue that is equal in all calls, or nil without a bias or clamp.
func epilogue[T micro.Number](d dtype.DType, f Fusion) *micro.Epilogue[T] {
	if !f.Bias && !f.Clamp {
		return nil
	}
	e := &micro.Epilogue[T]{HasClamp: f.Clamp}
	if f.Clamp {
		e.Lo, e.Hi = kernel.FromBits[T](kernel.Scalar(d, f.Lo)), kernel.FromBits[T](kernel.Scalar(d, f.Hi))
	}
	return e
}

// forward returns a, or a copy of it when a stride is negative, which gemm does not support.
func forward(c *kernel.Call, a kernel.Array) kernel.Array {
	if !slices.ContainsFunc(a.View.Strides, func(s int) bool { return s < 0 }) {
		return a
	}
	t := c.Temp(a.DType, a.View.Shape)
	kernel.Copy(c.Pool, t, a)
	return t
}

// line returns the elements of a tensor that has at most one dimension longer than one.
func line[T micro.Number](c *kernel.Call, a kernel.Array) []T {
	return kernel.Flat[T](c.Contiguous(a))
}

// Sums reports whether the kernel of a node supports Fusion.Sum.
func Sums(n *op.Node, in []op.Desc) bool {
	if n.Op != op.Conv {
		return true
	}
	x, w, groups := in[0].Shape, in[1].Shape, max(1, n.Attrs.Int("groups"))
	return x[1] > groups && w[0] > 2*groups
}

// keep calls Keep with the bytes of the packed weight.
func (f *Fusion) keep(bytes int) {
	if f.Keep != nil {
		f.Keep(bytes)
	}
}

// begin allocates the result. With f.Sum, it fills it with a copy of the addend.
func (f *Fusion) begin(c *kernel.Call) kernel.Array {
	if !f.Sum {
		return c.Alloc(0)
	}
	k := len(c.In) - 1
	if f.Bias {
		k--
	}
	out := c.Reuse(0, k)
	if out.Buf != c.In[k].Buf || out.View.Offset != c.In[k].View.Offset { // results may be parts of one buffer
		kernel.Copy(c.Pool, out, c.In[k])
	}
	return out
}
