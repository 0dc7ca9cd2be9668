package contraction

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// prepareBytes makes the kernel of a product of bytes that multiplies them as they are. It is nil where there is no kernel
// for that, or where a zero point changes along the inner dimension or from matrix to matrix.
func prepareBytes(n *op.Node, in []op.Desc) kernel.Func {
	y := n.Outputs[0].Shape
	last := len(y) - 1
	for i, z := range in[min(2, len(in)):] {
		if z.Shape.Size() != 1 && z.Shape.Size() != fromEnd(z.Shape, 2-i) {
			return nil
		}
	}
	batch, rows, cols, k := y[:last-1], y[last-1], y[last], fromEnd(in[0].Shape, 1)
	to := func(rows, cols int) shape.Shape {
		return append(append(make(shape.Shape, 0, len(y)), batch...), rows, cols)
	}
	return func(c *kernel.Call) error {
		a, b := forward(c, c.In[0]), forward(c, c.In[1])
		out := kernel.Flat[int32](c.Alloc(0))
		if len(out) == 0 {
			return nil
		}
		av, bv := a.View.Expand(to(rows, k)), b.View.Expand(to(k, cols))
		args := gemm.ByteArgs{M: rows, N: cols, K: k, C: out, LDC: cols}
		args.A, args.B = byteMat(c, a, av.Strides[last-1], av.Strides[last], 2), byteMat(c, b, bv.Strides[last-1], bv.Strides[last], 3)
		if run, ok := joined(av, bv.Strides[:last-1]); ok && (len(args.A.Zero) < 2 || run.n == rows) {
			args.M, args.A.RowStride = run.n, run.stride
			gemm.MulBytes(c.Pool, &args)
			return nil
		}
		w := kernel.NewWalk(batch, []int{a.View.Offset, b.View.Offset}, av.Strides[:last-1], bv.Strides[:last-1])
		c.Pool.For(w.Count(), byteGrain/(rows*cols*max(k, 1))+1, func(lo, hi int) {
			at, one := w.Start(lo), args
			for i := lo; i < hi; i++ {
				if k > 0 {
					one.A.Data, one.B.Data = kernel.Data[byte](a)[at.Pos[0]:], kernel.Data[byte](b)[at.Pos[1]:]
				}
				one.C = out[i*rows*cols:][:rows*cols]
				gemm.MulBytes(c.Pool, &one)
				at.Next()
			}
		})
		return nil
	}
}

// byteGrain is the fewest products of bytes that are worth another thread.
const byteGrain = 1 << 20

// fromEnd is a dimension counted from the last, which is 1; those before the first are 1.
func fromEnd(s shape.Shape, i int) int {
	if i > len(s) {
		return 1
	}
	return s[len(s)-i]
}

// byteMat is a as an operand, with input zero, if there is one, as its zero points.
func byteMat(c *kernel.Call, a kernel.Array, row, col, zero int) gemm.ByteMat {
	m := gemm.ByteMat{Signed: a.DType == dtype.I8, RowStride: row, ColStride: col}
	if a.Size() > 0 {
		m.Data = kernel.Data[byte](a)[a.View.Offset:]
	}
	if zero < len(c.In) {
		for _, z := range kernel.Flat[byte](c.Contiguous(c.In[zero])) {
			v := int32(z)
			if m.Signed {
				v = int32(int8(z))
			}
			m.Zero = append(m.Zero, v)
		}
	}
	return m
}
