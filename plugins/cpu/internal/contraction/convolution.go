package contraction

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/conv"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

func prepareConv[T gemm.Number](env *kernel.Env, n *op.Node, in []op.Desc, f Fusion) kernel.Func {
	a := n.Attrs
	plan, err := conv.New(in[0].Shape, in[1].Shape, conv.Params{Stride: a.Ints("strides"), PadLo: a.Ints("pad_lo"), PadHi: a.Ints("pad_hi"),
		KernelDilation: a.Ints("kernel_dilation"), InputDilation: a.Ints("input_dilation"), Groups: a.Int("groups")})
	if err != nil {
		return func(*kernel.Call) error { return err }
	}
	if n.Outputs[0].Shape.Size() == 0 { // the weights may have no elements
		return func(c *kernel.Call) error { f.begin(c); return nil }
	}
	epi := epilogue[T](in[0].DType, f)
	var packed *conv.Weights[T]
	if f.Weight != nil {
		w := make([]T, f.Weight.Size()) // the direct way keeps the plain weights
		kernel.Read(env.Pool, kernel.Bytes(w), *f.Weight)
		packed = conv.PackWeights(env.Pool, plan, w)
		f.keep(packed.Bytes())
	}
	runPlan, runPacked := conv.RunPlan[T], conv.RunPacked[T]
	if f.Sum {
		runPlan, runPacked = conv.AddPlan[T], conv.AddPacked[T]
	}
	return func(c *kernel.Call) error {
		epi := epi
		if f.Bias {
			own := *epi
			own.BiasRow = line[T](c, c.In[len(c.In)-1])
			epi = &own
		}
		x := kernel.Flat[T](c.Contiguous(c.In[0]))
		out := kernel.Flat[T](f.begin(c))
		if packed != nil {
			return runPacked(c.Pool, plan, x, packed, out, epi)
		}
		if v := c.In[1].View; !f.Sum {
			if w := conv.PackView(c.Pool, plan, kernel.Data[T](c.In[1]), v.Offset, v.Strides); w != nil {
				return conv.RunPacked(c.Pool, plan, x, w, out, epi)
			}
		}
		w := kernel.Flat[T](c.Contiguous(c.In[1]))
		return runPlan(c.Pool, plan, x, w, out, epi)
	}
}
