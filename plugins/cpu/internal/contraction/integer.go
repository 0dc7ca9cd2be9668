package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// prepareInteger makes the kernel of a product or convolution of bytes in i32: the operands are widened, their zero
// points taken off, and multiplied as i32.
func prepareInteger(n *op.Node, in []op.Desc) kernel.Func {
	wide := []op.Desc{{DType: dtype.I32, Shape: in[0].Shape}, {DType: dtype.I32, Shape: in[1].Shape}}
	prepare, zeroOfRows := prepareProduct[int32], false
	if n.Op == op.ConvInteger {
		prepare, zeroOfRows = prepareConv[int32], true
	}
	multiply := prepare(nil, n, wide, Fusion{})
	return func(c *kernel.Call) error {
		given, own := c.In, c.Own
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
				operands[i] = centred[uint8](c, given[i], zero)
			} else {
				operands[i] = centred[int8](c, given[i], zero)
			}
		}
		c.In, c.Own = operands, 0
		err := multiply(c)
		c.In, c.Own = given, own
		return err
	}
}

// centred is a-zero as i32, in memory that lives until the kernel returns. zero broadcasts to a.
func centred[T uint8 | int8](c *kernel.Call, a kernel.Array, zero *kernel.Array) kernel.Array {
	out := c.Temp(dtype.I32, a.View.Shape)
	to, from := kernel.Flat[int32](out), kernel.Flat[T](c.Contiguous(a))
	var off int32
	var each []T
	if zero != nil && len(to) > 0 {
		if zero.Size() == 1 {
			off = int32(kernel.Flat[T](c.Contiguous(*zero))[0])
		} else {
			z := *zero
			z.View = z.View.Expand(a.View.Shape)
			each = kernel.Flat[T](c.Contiguous(z))
		}
	}
	c.Pool.For(len(to), 1<<14, func(lo, hi int) {
		if each == nil {
			for i := lo; i < hi; i++ {
				to[i] = int32(from[i]) - off
			}
			return
		}
		for i := lo; i < hi; i++ {
			to[i] = int32(from[i]) - int32(each[i])
		}
	})
	return out
}
