package libtorch

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Linear algebra by LAPACK. LAPACK does not report NaN, singular matrices, or matrices that are not positive definite. If the sum of an
// operand or of a result is not finite, the op is therefore computed by its definition instead. Floats of 16 bits are computed in f32.

var algebra = map[op.Code]rule{
	op.Cholesky:    {run: finitely(cholesky), types: floats},
	op.LU:          {run: finitely(lu), types: floats},
	op.Det:         {run: finitely(det), types: floats},
	op.SlogDet:     {run: finitely(slogDet), types: floats},
	op.Inverse:     {run: finitely(inverse), types: floats},
	op.Solve:       {run: finitely(solve), types: floats},
	op.MatrixPower: {run: finitely(matrixPower), types: floats},
	op.QR:          {run: finitely(qr), types: floats, needs: needsLists},
	op.Eigh:        {run: finitely(eigh), types: floats, needs: needsLists},
	op.SVD:         {run: finitely(svd), types: floats},
}

var (
	opCholesky    = aten("linalg_cholesky_ex")
	opLU          = aten("linalg_lu_factor_ex")
	opLUUnpack    = aten("lu_unpack")
	opDet         = aten("linalg_det")
	opSlogDet     = aten("linalg_slogdet")
	opInverse     = aten("linalg_inv_ex")
	opSolve       = aten("linalg_solve_ex")
	opMatrixPower = aten("linalg_matrix_power")
	opQR          = aten("linalg_qr")
	opEigh        = aten("linalg_eigh")
	opSVD         = aten("linalg_svd")
)

// finitely returns a kernel that calls run with operands and results in f32 or wider. If the sum of an operand or of a result is not
// finite, it computes the op by its definition.
func finitely(run kernel) kernel {
	return func(w *worker) {
		in := slices.Clone(w.in)
		for i := range in {
			if w.n.Outputs[0].Shape.Size() == 0 || !w.finite(i) {
				w.byDefinition()
				return
			}
			w.in[i] = w.wide(in[i])
		}
		run(w)
		for i, y := range w.out {
			if w.err == nil && y.d.IsFloat() && (y.h == 0 || !w.settled(y)) {
				copy(w.in, in)
				w.byDefinition()
				return
			}
			if y.d.IsFloat() {
				w.out[i] = w.to(y, w.n.Outputs[i].DType)
			}
		}
	}
}

// sure returns y, with handle 0 if info reports that LAPACK failed for one of the matrices.
func (w *worker) sure(y, info val) val {
	if n := w.read(w.call(opSumAll, dtype.I64, nil, func(t *torch.Thread) {
		t.Tensor(info.h)
		t.None()
	})); n != 0 {
		y.h = 0
	}
	return y
}

// batch returns the batch dimensions of x, which precede the two dimensions of its matrices.
func batch(x val) shape.Shape { return x.s[: len(x.s)-2 : len(x.s)-2] }

func cholesky(w *worker) {
	x, upper := w.in[0], w.n.Attrs.Bool("upper")
	y, info := w.pair(opCholesky, x.d, dtype.I32, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Bool(upper)
		t.Bool(false)
	})
	w.out[0] = w.sure(y, info)
}

// lu converts torch's results: torch numbers pivots from 1 and returns the permutation as a matrix; the op numbers pivots from 0 and returns
// the permutation as a vector.
func lu(w *worker) {
	x := w.in[0]
	m := x.s[len(x.s)-2]
	y, pivots, info := w.three(opLU, x.d, dtype.I32, dtype.I32, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Bool(true)
		t.Bool(false)
	})
	pivots.s = w.n.Outputs[1].Shape
	p, _, _ := w.three(opLUUnpack, x.d, x.d, x.d, append(batch(x), m, m), func(t *torch.Thread) {
		t.Tensor(y.h)
		t.Tensor(pivots.h)
		t.Bool(false)
		t.Bool(true)
	})
	_, order := w.pair(opMaxDim, x.d, dtype.I64, append(batch(x), m), func(t *torch.Thread) {
		t.Tensor(p.h)
		t.Int(len(x.s) - 2)
		t.Bool(false)
	})
	w.out[0], w.out[2] = w.sure(y, info), order
	w.out[1] = w.addInt(w.convert(pivots, dtype.I64), w.whole(dtype.I64, 1), -1)
}

// three is like call, for an operator with three results of the same shape.
func (w *worker) three(o *torch.Operator, d, e, f dtype.DType, s shape.Shape, args func(t *torch.Thread)) (val, val, val) {
	if w.err != nil {
		return val{0, d, s}, val{0, e, s}, val{0, f, s}
	}
	w.thread.Begin(o)
	args(w.thread)
	var h, i, k torch.Handle
	err := w.thread.Call(&h, &i, &k)
	return w.keep(h, err, d, s), w.keep(i, err, e, s), w.keep(k, err, f, s)
}

func det(w *worker) {
	x := w.in[0]
	w.out[0] = w.call(opDet, x.d, batch(x), func(t *torch.Thread) { t.Tensor(x.h) })
}

func slogDet(w *worker) {
	x := w.in[0]
	w.out[0], w.out[1] = w.pair(opSlogDet, x.d, x.d, batch(x), func(t *torch.Thread) { t.Tensor(x.h) })
}

func inverse(w *worker) {
	x := w.in[0]
	y, info := w.pair(opInverse, x.d, dtype.I32, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Bool(false)
	})
	w.out[0] = w.sure(y, info)
}

// solve expands the operands to equal batch dimensions, because torch would treat some matrices as batches of vectors.
func solve(w *worker) {
	s := w.n.Outputs[0].Shape
	n := len(s) - 2
	a := w.expand(w.in[0], append(s[:n:n], w.in[0].s[len(w.in[0].s)-2:]...))
	b := w.expand(w.in[1], append(s[:n:n], w.in[1].s[len(w.in[1].s)-2:]...))
	y, info := w.pair(opSolve, a.d, dtype.I32, s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Tensor(b.h)
		t.Bool(true)
		t.Bool(false)
	})
	w.out[0] = w.sure(y, info)
}

// matrixPower computes negative exponents by the definition of the op, because the matrix may be singular.
func matrixPower(w *worker) {
	x, n := w.in[0], w.n.Attrs.Int("n")
	if n < 0 {
		w.out[0] = val{d: x.d, s: x.s}
		return
	}
	w.out[0] = w.call(opMatrixPower, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(n)
	})
}

// qr changes the signs of columns of q and rows of r so that the diagonal of r is not negative.
func qr(w *worker) {
	x, mode := w.in[0], "reduced"
	if w.n.Attrs.Bool("complete") {
		mode = "complete"
	}
	q, r := w.pair(opQR, x.d, x.d, w.n.Outputs[0].Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Text(mode)
	})
	r.s = w.n.Outputs[1].Shape
	k, n := r.s[len(r.s)-2], min(x.s[len(x.s)-2], x.s[len(x.s)-1])
	v := w.view(r)
	last := len(v.Strides) - 1
	diagonal := shape.View{Shape: append(batch(r), n), Strides: append(slices.Clone(v.Strides[:last-1]), v.Strides[last-1]+v.Strides[last])}
	sign := w.signs(w.seen(r, diagonal))
	sign = w.spread(sign, nil, []int{0}, []int{k - n}, op.ScalarInt("", 1).Value)
	w.out[0] = w.bin(opMul, q, w.reshape(sign, append(batch(r), 1, k)), x.d)
	w.out[1] = w.bin(opMul, r, w.reshape(sign, append(batch(r), k, 1)), x.d)
}

// signs returns -1 where x is negative, and 1 elsewhere.
func (w *worker) signs(x val) val {
	return w.where(w.bin(opLess, x, w.real(x.d, 0), dtype.Bool), w.real(x.d, -1), w.expand(w.real(x.d, 1), x.s))
}

// leaders returns, for each column of x, the sign of its element of greatest magnitude, or of the first of several. The shape is [..., 1,
// n].
func (w *worker) leaders(x val) val {
	s, axis := append(batch(x), 1, x.s[len(x.s)-1]), len(x.s)-2
	a := w.un(opAbs, x)
	_, i := w.pair(opMaxDim, x.d, dtype.I64, s, func(t *torch.Thread) {
		t.Tensor(a.h)
		t.Int(axis)
		t.Bool(true)
	})
	return w.signs(w.call(opGather, x.d, s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Int(axis)
		t.Tensor(i.h)
		t.Bool(false)
	}))
}

func eigh(w *worker) {
	x := w.in[0]
	values, vectors := w.pair(opEigh, x.d, x.d, w.n.Outputs[0].Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Text("L")
	})
	vectors.s = x.s
	w.out[0], w.out[1] = values, w.bin(opMul, vectors, w.leaders(vectors), x.d)
}

func svd(w *worker) {
	x := w.in[0]
	u, s, vt := w.three(opSVD, x.d, x.d, x.d, w.n.Outputs[0].Shape, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Bool(false)
		t.None()
	})
	s.s, vt.s = w.n.Outputs[1].Shape, w.n.Outputs[2].Shape
	sign := w.leaders(u)
	w.out[0], w.out[1] = w.bin(opMul, u, sign, x.d), s
	w.out[2] = w.bin(opMul, vt, w.reshape(sign, append(batch(u), u.s[len(u.s)-1], 1)), x.d)
}
