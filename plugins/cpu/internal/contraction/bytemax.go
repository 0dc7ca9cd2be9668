package contraction

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// prepareByteMax returns a max-pooling kernel for bytes that converts to f32 and uses the f32 kernel. It returns nil where
// the conversion costs more than it saves.
func prepareByteMax(n *op.Node, in []op.Desc) kernel.Func {
	if d := in[0].DType; d != dtype.U8 && d != dtype.I8 || n.Attrs.Str("reduce") != "max" || len(n.Outputs) != 1 || !vector.Has() {
		return nil
	}
	x, y := op.Desc{DType: dtype.F32, Shape: in[0].Shape}, op.Desc{DType: dtype.F32, Shape: n.Outputs[0].Shape}
	wide := *n
	wide.Outputs = []op.Desc{y}
	run := prepareWindow(&wide, []op.Desc{x})
	if run == nil {
		return nil
	}
	descs, signed := []op.Desc{y}, in[0].DType == dtype.I8
	return func(c *kernel.Call) error {
		given, own, desc, outs := c.In, c.Own, c.Desc, c.Out
		bytes, floats := kernel.Flat[byte](c.Contiguous(c.In[0])), c.Temp(dtype.F32, x.Shape)
		v := kernel.Flat[float32](floats)
		c.Pool.For(len(v), requantize.Grain, func(lo, hi int) { fromBytes(v[lo:hi], bytes[lo:hi], signed) })
		var held [1]kernel.Array
		c.In, c.Own, c.Desc, c.Out = []kernel.Array{floats}, 0, descs, held[:]
		err := run(c)
		c.In, c.Own, c.Desc, c.Out = given, own, desc, outs
		if held[0].Buf != nil {
			defer held[0].Buf.Release()
		}
		if err != nil {
			return err
		}
		from, to := kernel.Flat[float32](held[0]), kernel.Flat[byte](c.Alloc(0))
		c.Pool.For(len(to), requantize.Grain, func(lo, hi int) { toBytes(to[lo:hi], from[lo:hi], signed) })
		return nil
	}
}

func fromBytes(v []float32, x []byte, signed bool) {
	i := 0
	if signed {
		i = vector.FromI8(v, kernel.Cast[int8](x))
	} else {
		i = vector.FromU8(v, x)
	}
	for ; i < len(v); i++ {
		v[i] = float32(x[i])
		if signed {
			v[i] = float32(int8(x[i]))
		}
	}
}

// toBytes converts floats back to bytes. Minus infinity, the maximum of a window that covers padding only, becomes the smallest value of
// the type.
func toBytes(d []byte, v []float32, signed bool) {
	least, most := 0.0, 255.0
	if signed {
		least, most = -128, 127
	}
	for i := vector.Quantize(d, v, 1, 0, float32(least), float32(most)); i < len(d); i++ {
		d[i] = byte(int32(math.Min(math.Max(float64(v[i]), least), most)))
	}
}
