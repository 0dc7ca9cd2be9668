package contraction

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/byteconv"
	"github.com/goburn/burn/plugins/cpu/internal/conv"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

func prepareConv[T micro.Number](env *kernel.Env, n *op.Node, in []op.Desc, f Fusion) kernel.Func {
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
		w := make([]T, f.Weight.Size()) // some strategies keep a reference to the weights
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

// prepareByteConv returns a kernel that convolves bytes without conversion to floats, or nil if the processor has none or floats are
// faster.
func prepareByteConv(env *kernel.Env, n *op.Node, in []op.Desc, s IntegerFusion) kernel.Func {
	a := n.Attrs
	if slices.ContainsFunc(a.Ints("input_dilation"), func(d int) bool { return d != 1 }) {
		return nil
	}
	plan := byteconv.New(in[0].Shape, in[1].Shape, n.Outputs[0].Shape, byteconv.Params{Stride: a.Ints("strides"), PadLo: a.Ints("pad_lo"),
		KernelDilation: a.Ints("kernel_dilation"), Groups: a.Int("groups")})
	if plan == nil {
		return nil
	}
	var convolution byteconv.Kernel
	if s.Weight != nil {
		w := quantized.Mat{Signed: s.Weight.DType == dtype.I8, Data: make([]byte, s.Weight.Size()), Zero: constantZeros(env, s.Zero)}
		kernel.Read(env.Pool, w.Data, *s.Weight)
		convolution = byteconv.Prepare(env.Pool, plan, &w)
	} else {
		convolution = byteconv.Prepare(nil, plan, nil)
	}
	if convolution == nil {
		return nil
	}
	if s.Weight != nil {
		s.keep(convolution.Bytes())
	}
	return func(c *kernel.Call) error {
		o := s.operands(c)
		args := byteconv.Args{X: byteMat(c, c.Contiguous(o.x), 0, 1, o.xZero), Out: c.Alloc(0), Epilogue: s.Epilogue}
		if args.Out.Size() == 0 {
			return nil
		}
		if s.Weight == nil {
			args.W = byteMat(c, c.Contiguous(o.w), 0, 1, o.wZero)
		}
		convolution.Run(c, &args)
		return nil
	}
}
