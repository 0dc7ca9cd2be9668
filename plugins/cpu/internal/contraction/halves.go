package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/half"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// halfTypes maps the 16-bit dtypes to the types of package half.
var halfTypes = map[dtype.DType]*half.Type{dtype.BF16: halfType(dtype.BF16), dtype.F16: halfType(dtype.F16)}

func halfType(d dtype.DType) *half.Type {
	return &half.Type{BF16: d == dtype.BF16,
		Decode: func(dst []float32, src []uint16) { kernel.Decode(d, dst, src) },
		Encode: func(dst []uint16, src []float32) { kernel.Encode(d, dst, src) },
	}
}

// halfProduct is a matmul or linear of 16-bit floats of given shapes. Sums are in f32.
type halfProduct struct {
	product[uint16]
	element  *half.Type
	packed   *half.Packed
	epilogue *micro.Epilogue[float32]
}

func prepareHalves(env *kernel.Env, n *op.Node, in []op.Desc, f Fusion) kernel.Func {
	d := in[0].DType
	p := &halfProduct{product: shaped[uint16](n, in, f), element: halfTypes[d]}
	p.epilogue = epilogue[float32](dtype.F32, f)
	if f.Clamp {
		var bounds [2]float32
		p.element.Decode(bounds[:], []uint16{uint16(kernel.Scalar(d, f.Lo)), uint16(kernel.Scalar(d, f.Hi))})
		p.epilogue.Lo, p.epilogue.Hi = bounds[0], bounds[1]
	}
	if f.Weight != nil {
		p.packed = half.Pack(env.Pool, p.element, p.k, p.n, p.weight(*f.Weight))
		f.keep(p.packed.Size())
	}
	return p.run
}

func (p *halfProduct) run(c *kernel.Call) error {
	out := kernel.Flat[uint16](p.fusion.begin(c))
	if len(out) == 0 {
		return nil
	}
	args := half.Args{Type: p.element, N: p.n, K: p.k, C: out, LDC: p.n, PackedB: p.packed, Accumulate: p.fusion.Sum, Epilogue: p.epilogue}
	if p.fusion.Bias {
		e := *p.epilogue
		e.BiasCol = kernel.TempOf[float32](c, p.n)
		args.Epilogue = &e
		p.element.Decode(e.BiasCol, line[uint16](c, c.In[len(c.In)-1]))
	}
	o := p.operands(c, p.packed != nil)
	args.M, args.A, args.B = o.m, o.a, o.b
	if o.joined {
		half.Mul(c.Pool, &args)
		return nil
	}
	half.MulBatch(c.Pool, o.batch, &args)
	return nil
}
