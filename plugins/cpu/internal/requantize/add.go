package requantize

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// Quantization is the scale and the zero point of a tensor of bytes: byte b represents (b-Zero)*Scale.
type Quantization struct {
	Scale float32
	Zero  int32
}

// Add returns a kernel that dequantizes one or two tensors of bytes of the result's shape, adds them, and applies the clamp and the
// quantization of e. e must quantize.
func Add(of []Quantization, e *Epilogue) kernel.Func {
	return func(c *kernel.Call) error {
		out := c.Alloc(0)
		to, from := e.Output(out), make([][]byte, len(of))
		for i := range from {
			from[i] = kernel.Flat[byte](c.Contiguous(c.In[i]))
		}
		c.Pool.For(out.Size(), Grain, func(lo, hi int) {
			buffer, other := blocks.Get().(*[block]float32), blocks.Get().(*[block]float32)
			defer blocks.Put(buffer)
			defer blocks.Put(other)
			for at := lo; at < hi; at += block {
				n := min(block, hi-at)
				v := buffer[:n]
				of[0].dequantize(v, from[0][at:at+n], c.In[0].DType)
				if len(from) > 1 {
					w := other[:n]
					of[1].dequantize(w, from[1][at:at+n], c.In[1].DType)
					add(v, w)
				}
				e.store(to, at, v)
			}
		})
		return nil
	}
}

// dequantize writes the values of x to v.
func (q Quantization) dequantize(v []float32, x []byte, d dtype.DType) {
	i := 0
	if d == dtype.I8 {
		i = vector.DequantizeI8(v, kernel.Cast[int8](x), q.Scale, q.Zero)
	} else {
		i = vector.DequantizeU8(v, x, q.Scale, q.Zero)
	}
	for ; i < len(v); i++ {
		v[i] = float32(kernel.ByteValue(d, x[i])-q.Zero) * q.Scale
	}
}

func add(v, w []float32) {
	if vector.Has() {
		vector.Add().Both(v, v, w)
		return
	}
	for i := range v {
		v[i] += w[i]
	}
}
