package contraction

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// exactTerms is how many products of bytes without their zero points, at most 255 in magnitude each, f32 sums exactly: the
// sums stay below 2^24. In f64 any number that memory holds is exact.
const exactTerms = 256

// prepareInteger makes the kernel of a product or convolution of bytes in i32. Where there is no kernel for bytes, the
// operands, without their zero points, are multiplied as floats in which every sum is exact, for which there are fast ones.
func prepareInteger(n *op.Node, in []op.Desc) kernel.Func {
	if gemm.CanMulBytes() {
		prepare := prepareBytes
		if n.Op == op.ConvInteger {
			prepare = prepareByteConv
		}
		if run := prepare(n, in); run != nil {
			return run
		}
	}
	terms := slices.Max(in[0].Shape[max(0, len(in[0].Shape)-2):]) // whichever of them is summed over
	if n.Op == op.ConvInteger {
		terms = in[1].Shape[1:].Size()
	}
	if terms <= exactTerms {
		return integers[float32](dtype.F32, n, in)
	}
	return integers[float64](dtype.F64, n, in)
}

func integers[T float32 | float64](d dtype.DType, n *op.Node, in []op.Desc) kernel.Func {
	wide := []op.Desc{{DType: d, Shape: in[0].Shape}, {DType: d, Shape: in[1].Shape}}
	sums := []op.Desc{{DType: d, Shape: n.Outputs[0].Shape}}
	prepare, zeroOfRows := prepareProduct[T], false
	if n.Op == op.ConvInteger {
		prepare, zeroOfRows = prepareConv[T], true
	}
	multiply := prepare(nil, n, wide, Fusion{})
	return func(c *kernel.Call) error {
		given, own, desc, outs := c.In, c.Own, c.Desc, c.Out
		operands := make([]kernel.Array, 2)
		for i := range operands {
			var zero *kernel.Array
			if 2+i < len(given) {
				z := given[2+i]
				if zeroOfRows && len(z.View.Shape) == 1 { // by output channel
					rank := len(in[i].Shape)
					v := shape.View{Shape: make(shape.Shape, rank), Strides: make([]int, rank), Offset: z.View.Offset}
					for d := range v.Shape {
						v.Shape[d] = 1
					}
					v.Shape[0], v.Strides[0] = z.View.Shape[0], z.View.Strides[0]
					z.View = v
				}
				zero = &z
			}
			if given[i].DType == dtype.U8 {
				operands[i] = centred[T, uint8](c, d, given[i], zero)
			} else {
				operands[i] = centred[T, int8](c, d, given[i], zero)
			}
		}
		var held [1]kernel.Array
		c.In, c.Own, c.Desc, c.Out = operands, 0, sums, held[:]
		err := multiply(c)
		c.In, c.Own, c.Desc, c.Out = given, own, desc, outs
		if held[0].Buf != nil {
			defer held[0].Buf.Release()
		}
		if err != nil {
			return err
		}
		to, from := kernel.Flat[int32](c.Alloc(0)), kernel.Flat[T](held[0])
		c.Pool.For(len(to), 1<<14, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				to[i] = int32(int64(from[i])) // wraps around
			}
		})
		return nil
	}
}

// centred is a-zero as floats of type d, in memory that lives until the kernel returns. zero broadcasts to a.
func centred[T float32 | float64, B uint8 | int8](c *kernel.Call, d dtype.DType, a kernel.Array, zero *kernel.Array) kernel.Array {
	out := c.Temp(d, a.View.Shape)
	to, from := kernel.Flat[T](out), kernel.Flat[B](c.Contiguous(a))
	var off T
	var each []B
	if zero != nil && len(to) > 0 {
		if zero.Size() == 1 {
			off = T(kernel.Flat[B](c.Contiguous(*zero))[0])
		} else {
			z := *zero
			z.View = z.View.Expand(a.View.Shape)
			each = kernel.Flat[B](c.Contiguous(z))
		}
	}
	c.Pool.For(len(to), 1<<14, func(lo, hi int) {
		if each == nil {
			for i := lo; i < hi; i++ {
				to[i] = T(from[i]) - off
			}
			return
		}
		for i := lo; i < hi; i++ {
			to[i] = T(from[i]) - T(each[i])
		}
	})
	return out
}
