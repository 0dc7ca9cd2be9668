package contraction

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// product is a matmul or linear of given shapes.
type product[T micro.Number] struct {
	batch          shape.Shape
	m, n, k        int
	transA, transB bool
	packed         *gemm.PackedB[T]
	fusion         Fusion
	epilogue       *micro.Epilogue[T]
	out            shape.Shape // batch + [m, n]
}

func prepareProduct[T micro.Number](env *kernel.Env, n *op.Node, in []op.Desc, f Fusion) kernel.Func {
	p := shaped[T](n, in, f)
	p.epilogue = epilogue[T](in[0].DType, f)
	if f.Weight != nil {
		p.packed = gemm.PackB(env.Pool, p.k, p.n, p.weight(*f.Weight))
		f.keep(p.packed.Elements() * in[0].DType.Size())
	}
	return p.run
}

// shaped returns the product of a node for given operand shapes.
func shaped[T micro.Number](n *op.Node, in []op.Desc, f Fusion) product[T] {
	p := product[T]{fusion: f}
	y := n.Outputs[0].Shape
	a := in[0].Shape
	if n.Op == op.Linear {
		p.transB = n.Attrs.Bool("transpose_w")
		if len(y) == 1 {
			y = shape.Of(1, y[0])
			a = shape.Of(1, a[0])
		}
	} else {
		p.transA, p.transB = n.Attrs.Bool("transpose_a"), n.Attrs.Bool("transpose_b")
	}
	last := len(y) - 1
	p.batch, p.m, p.n, p.out = y[:last-1], y[last-1], y[last], y
	p.k = a[len(a)-1]
	if p.transA {
		p.k = a[len(a)-2]
	}
	return p
}

// Packs reports whether a constant weight of a node is kept in packed form. The weight of a convolution always is. The weight of a product
// is if it is one matrix and the result has more than one row and more than one column.
func Packs(n *op.Node, in []op.Desc) bool {
	w := in[1].Shape
	y := n.Outputs[0].Shape
	if n.Op == op.Conv {
		return true
	}
	return w.Size() > 0 && w[:len(w)-2].Size() == 1 && y.Size()/max(1, y[len(y)-1]) > 1 && y[len(y)-1] > 1
}

// weight returns a constant second operand as a matrix of k rows.
func (p *product[T]) weight(w kernel.Array) gemm.Mat[T] {
	v := w.View
	rank := len(v.Shape)
	rows, cols := v.Strides[rank-2], v.Strides[rank-1]
	if p.transB {
		rows, cols = cols, rows
	}
	return gemm.Mat[T]{Data: from[T](w, p.k), RowStride: rows, ColStride: cols}
}

func (p *product[T]) run(c *kernel.Call) error {
	out := kernel.Flat[T](p.fusion.begin(c))
	if len(out) == 0 {
		return nil
	}
	args := gemm.Args[T]{N: p.n, K: p.k, C: out, LDC: p.n, PackedB: p.packed, Accumulate: p.fusion.Sum, Epilogue: p.epilogue}
	if p.fusion.Bias {
		e := *p.epilogue
		e.BiasCol = line[T](c, c.In[len(c.In)-1])
		args.Epilogue = &e
	}
	o := p.operands(c, p.packed != nil)
	args.M, args.A, args.B = o.m, o.a, o.b
	if o.joined {
		gemm.Mul(c.Pool, &args)
		return nil
	}
	gemm.MulBatch(c.Pool, o.batch, &args)
	return nil
}

// operands contains the matrices of a call: one product of all rows if joined is set, else one product per batch element.
type operands[T micro.Number] struct {
	a, b   gemm.Mat[T]
	m      int
	batch  gemm.Batch
	joined bool
}

// operands returns the inputs of a call as matrices. With packed, the second operand is not among the inputs.
func (p *product[T]) operands(c *kernel.Call, packed bool) operands[T] {
	rank := len(p.batch)
	a := forward(c, c.In[0])
	av := p.matrix(a.View, p.transA, p.m, p.k)
	o := operands[T]{m: p.m, a: gemm.Mat[T]{Data: from[T](a, p.k), RowStride: av.Strides[rank], ColStride: av.Strides[rank+1]}}
	o.batch = gemm.Batch{Dims: p.batch, A: av.Strides[:rank], C: p.out.Strides()[:rank]}
	if packed {
		o.batch.B = make([]int, rank)
	} else {
		b := forward(c, c.In[1])
		bv := p.matrix(b.View, p.transB, p.k, p.n)
		o.b = gemm.Mat[T]{Data: from[T](b, p.k), RowStride: bv.Strides[rank], ColStride: bv.Strides[rank+1]}
		o.batch.B = bv.Strides[:rank]
	}
	if rows, ok := joined(av, o.batch.B); ok {
		o.m, o.a.RowStride, o.joined = rows.n, rows.stride, true
	}
	return o
}

// from returns the elements of a, beginning with its first. It returns nil if k, the inner dimension, is zero.
func from[T micro.Number](a kernel.Array, k int) []T {
	if k == 0 {
		return nil
	}
	return kernel.Data[T](a)[a.View.Offset:]
}

// matrix returns a view of shape batch + [rows, cols].
func (p *product[T]) matrix(v shape.View, transposed bool, rows, cols int) shape.View {
	if len(v.Shape) == 1 { // the vector of a linear
		v = shape.View{Shape: shape.Of(1, v.Shape[0]), Strides: []int{0, v.Strides[0]}, Offset: v.Offset}
	}
	if transposed {
		axes := make([]int, len(v.Shape))
		for i := range axes {
			axes[i] = i
		}
		n := len(axes)
		axes[n-1], axes[n-2] = n-2, n-1
		v = v.Permute(axes)
	}
	to := append(append(make(shape.Shape, 0, len(p.batch)+2), p.batch...), rows, cols)
	if v.Shape.Equal(to) {
		return v
	}
	return v.Expand(to)
}

type rowRun struct{ n, stride int }

// joined reports whether the batch and row dimensions of a form one sequence of rows, all multiplied by the same matrix b.
func joined(a shape.View, b []int) (rowRun, bool) {
	rows := len(b)
	r := rowRun{n: a.Shape[rows], stride: a.Strides[rows]}
	for i := rows - 1; i >= 0; i-- {
		if a.Shape[i] == 1 {
			continue
		}
		if b[i] != 0 {
			return r, false
		}
		switch {
		case r.n == 1:
			r.stride = a.Strides[i]
		case a.Strides[i] != r.n*r.stride:
			return r, false
		}
		r.n *= a.Shape[i]
	}
	return r, true
}
