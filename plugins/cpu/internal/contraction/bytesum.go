package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// Grid is the quantization of a tensor of bytes: byte b stands for (b-Zero)*Scale.
type Grid struct {
	Scale float32
	Zero  int32
}

// AddBytes returns a kernel that dequantizes one or two tensors of bytes of the result's shape, adds them, and applies f,
// which must quantize.
func AddBytes(grids []Grid, f *Finish) kernel.Func {
	return func(c *kernel.Call) error {
		out := c.Alloc(0)
		to, from := f.outcome(out), make([][]byte, len(grids))
		for i := range from {
			from[i] = kernel.Flat[byte](c.Contiguous(c.In[i]))
		}
		c.Pool.For(out.Size(), finishGrain, func(lo, hi int) {
			room, other := finishRoom.Get().(*[finishBlock]float32), finishRoom.Get().(*[finishBlock]float32)
			defer finishRoom.Put(room)
			defer finishRoom.Put(other)
			for at := lo; at < hi; at += finishBlock {
				n := min(finishBlock, hi-at)
				v := room[:n]
				grids[0].floats(v, from[0][at:at+n], c.In[0].DType)
				if len(from) > 1 {
					w := other[:n]
					grids[1].floats(w, from[1][at:at+n], c.In[1].DType)
					add(v, w)
				}
				f.end(to, at, v)
			}
		})
		return nil
	}
}

// floats dequantizes.
func (g Grid) floats(v []float32, x []byte, d dtype.DType) {
	i := 0
	if d == dtype.I8 {
		i = vector.DequantizeI8(v, kernel.Cast[int8](x), g.Scale, g.Zero)
	} else {
		i = vector.DequantizeU8(v, x, g.Scale, g.Zero)
	}
	for ; i < len(v); i++ {
		v[i] = float32(byteNumber(d, x[i])-g.Zero) * g.Scale
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
