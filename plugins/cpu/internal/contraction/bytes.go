package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

const (
	// byteGrain is the least number of products of bytes for which another thread is used.
	byteGrain = 1 << 20
	// sumBytes bounds the buffer of sums before requantization if the weight is packed.
	sumBytes = 256 << 10
)

// byteProduct is a product of bytes of given shapes.
type byteProduct struct {
	node          *op.Node
	batch         shape.Shape
	rows, cols, k int
	packed        *quantized.Packed
	fusion        IntegerFusion
}

// prepareBytes returns a kernel that multiplies bytes without conversion to floats. It returns nil if the processor has no such kernel, or
// if a zero point varies along the inner dimension or between matrices.
func prepareBytes(env *kernel.Env, n *op.Node, in []op.Desc, s IntegerFusion) kernel.Func {
	y := n.Outputs[0].Shape
	last := len(y) - 1
	for i, z := range in[min(2, len(in)):] {
		if z.Shape.Size() != 1 && z.Shape.Size() != fromEnd(z.Shape, 2-i) {
			return nil
		}
	}
	p := &byteProduct{node: n, batch: y[:last-1], rows: y[last-1], cols: y[last], k: fromEnd(in[0].Shape, 1), fusion: s}
	if s.Weight != nil {
		v := s.Weight.View
		if p.k == 0 {
			return nil
		}
		b := quantized.Mat{Signed: s.Weight.DType == dtype.I8, Data: make([]byte, v.Shape.Size()), RowStride: p.cols, ColStride: 1, Zero: constantZeros(env, s.Zero)}
		kernel.Read(env.Pool, b.Data, *s.Weight)
		p.packed = quantized.PackB(env.Pool, p.k, p.cols, b)
		s.keep(p.packed.Size())
	}
	return p.run
}

// constantZeros returns the zero points of a constant weight.
func constantZeros(env *kernel.Env, zero *kernel.Array) []int32 {
	if zero == nil {
		return nil
	}
	b := make([]byte, zero.Size())
	kernel.Read(env.Pool, b, *zero)
	z := make([]int32, len(b))
	for i := range z {
		z[i] = kernel.ByteValue(zero.DType, b[i])
	}
	return z
}

// shape returns batch + [rows, cols].
func (p *byteProduct) shape(rows, cols int) shape.Shape {
	return append(append(make(shape.Shape, 0, len(p.batch)+2), p.batch...), rows, cols)
}

func (p *byteProduct) run(c *kernel.Call) error {
	if p.fusion.Epilogue == nil {
		p.multiply(c, kernel.Flat[int32](c.Alloc(0)))
		return nil
	}
	total := p.batch.Size() * p.rows
	if p.packed == nil || total*p.cols*4 <= sumBytes {
		sums := kernel.TempOf[int32](c, total*p.cols)
		p.multiply(c, sums)
		p.fusion.requantize(c, p.node, sums)
		return nil
	}
	o := p.fusion.operands(c)
	x := c.Contiguous(o.x)
	args := quantized.Args{N: p.cols, K: p.k, LDC: p.cols, PackedB: p.packed, A: byteMat(c, x, p.k, 1, o.xZero)}
	data, zero, count := args.A.Data, args.A.Zero, max(1, sumBytes/4/p.cols)
	if len(zero) > 1 { // one for each row of each matrix
		count = p.rows
	}
	to := p.fusion.Epilogue.Output(c.Alloc(0))
	args.C = kernel.TempOf[int32](c, count*p.cols)
	for r := 0; r < total; r += count {
		args.M, args.A.Data = min(count, total-r), data[r*p.k:]
		quantized.Mul(c.Pool, &args)
		c.Pool.For(args.M, requantize.Grain/p.cols+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				p.fusion.Epilogue.Columns(to, (r+i)*p.cols, args.C[i*p.cols:][:p.cols])
			}
		})
	}
	return nil
}

// multiply stores the sums in out.
func (p *byteProduct) multiply(c *kernel.Call, out []int32) {
	if len(out) == 0 {
		return
	}
	o := p.fusion.operands(c)
	rank := len(p.batch)
	a := forward(c, o.x)
	av := a.View.Expand(p.shape(p.rows, p.k))
	args := quantized.Args{M: p.rows, N: p.cols, K: p.k, C: out, LDC: p.cols, PackedB: p.packed}
	args.A = byteMat(c, a, av.Strides[rank], av.Strides[rank+1], o.xZero)
	var b kernel.Array
	bv := shape.View{Strides: make([]int, rank+2)}
	if p.packed == nil {
		b = forward(c, o.w)
		bv = b.View.Expand(p.shape(p.k, p.cols))
		args.B = byteMat(c, b, bv.Strides[rank], bv.Strides[rank+1], o.wZero)
	}
	if run, ok := joined(av, bv.Strides[:rank]); ok && (len(args.A.Zero) < 2 || run.n == p.rows) {
		args.M, args.A.RowStride = run.n, run.stride
		quantized.Mul(c.Pool, &args)
		return
	}
	w := kernel.NewWalk(p.batch, []int{a.View.Offset, bv.Offset}, av.Strides[:rank], bv.Strides[:rank])
	c.Pool.For(w.Count(), byteGrain/(p.rows*p.cols*max(p.k, 1))+1, func(lo, hi int) {
		at, one := w.Start(lo), args
		for i := lo; i < hi; i++ {
			if p.k > 0 {
				one.A.Data = kernel.Data[byte](a)[at.Pos[0]:]
				if p.packed == nil {
					one.B.Data = kernel.Data[byte](b)[at.Pos[1]:]
				}
			}
			one.C = out[i*p.rows*p.cols:][:p.rows*p.cols]
			quantized.Mul(c.Pool, &one)
			at.Next()
		}
	})
}

// fromEnd returns dimension i of s counted from the last, which has number 1. It returns 1 for dimensions that s does not have.
func fromEnd(s shape.Shape, i int) int {
	if i > len(s) {
		return 1
	}
	return s[len(s)-i]
}

// byteMat returns the matrix of a with the zero points in zero, which may be nil.
func byteMat(c *kernel.Call, a kernel.Array, row, col int, zero *kernel.Array) quantized.Mat {
	m := quantized.Mat{Signed: a.DType == dtype.I8, RowStride: row, ColStride: col}
	if a.Size() > 0 {
		m.Data = kernel.Data[byte](a)[a.View.Offset:]
	}
	if zero != nil {
		for _, z := range kernel.Flat[byte](c.Contiguous(*zero)) {
			m.Zero = append(m.Zero, kernel.ByteValue(a.DType, z))
		}
	}
	return m
}
