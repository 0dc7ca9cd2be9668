package ref

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// cholesky returns the lower triangular l with l·lᵀ = x. It reads only the lower triangle of x.
func cholesky(x matrix) matrix {
	l := newMatrix(len(x), len(x))
	for i := range l {
		for j := range i + 1 {
			var s accumulator
			s.add(x[i][j])
			for k := range j {
				s.add(-l[i][k] * l[j][k])
			}
			if l[i][j] = s.value() / l[j][j]; i == j {
				l[i][j] = math.Sqrt(s.value())
			}
		}
	}
	return l
}

// triangular returns y with t·y = b. It reads only the lower or the upper triangle of t. If unit is set, the diagonal counts as 1.
func triangular(t, b matrix, lower, unit bool) matrix {
	y, n := b.clone(), len(t)
	for step := range n {
		i := n - 1 - step
		if lower {
			i = step
		}
		for j := range y[i] {
			var s accumulator
			s.add(b[i][j])
			for k := range n {
				if lower && k < i || !lower && k > i {
					s.add(-t[i][k] * y[k][j])
				}
			}
			if y[i][j] = s.value(); !unit {
				y[i][j] /= t[i][i]
			}
		}
	}
	return y
}

var factorKernels = map[op.Code]kernel{
	op.Cholesky: byMatrix(func(a op.Attrs, x []matrix) matrix {
		if a.Bool("upper") {
			return cholesky(x[0].transpose()).transpose()
		}
		return cholesky(x[0])
	}),
	op.TriangularSolve: byMatrix(func(a op.Attrs, x []matrix) matrix {
		t := x[0]
		if a.Bool("transpose") {
			t = t.transpose()
		}
		if len(x[1][0]) == 0 {
			return x[1]
		}
		return triangular(t, x[1], a.Bool("upper") == a.Bool("transpose"), a.Bool("unit"))
	}),
	op.LU: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		lu, pivots, order := Zeros(n.Outputs[0]), Zeros(n.Outputs[1]), Zeros(n.Outputs[2])
		s := in[0].Desc.Shape
		each(s[:len(s)-2], func(pos int, batch []int) {
			x, p, o := factored(matrixAt(in[0], batch))
			lu.put(pos, x)
			for k := range p {
				pivots.I[pos*len(p)+k] = int64(p[k])
			}
			for k := range o {
				order.I[pos*len(o)+k] = int64(o[k])
			}
		})
		return []Tensor{lu, pivots, order}, nil
	},
	op.Det: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, batch []int) {
			lu, pivots, _ := factored(matrixAt(in[0], batch))
			out.F[pos] = 1
			for k, p := range pivots {
				if out.F[pos] *= lu[k][k]; p != k {
					out.F[pos] = -out.F[pos]
				}
			}
		})
		return out
	}),
	op.SlogDet: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		sign, log := Zeros(n.Outputs[0]), Zeros(n.Outputs[1])
		each(n.Outputs[0].Shape, func(pos int, batch []int) { sign.F[pos], log.F[pos] = determinant(matrixAt(in[0], batch)) })
		return []Tensor{sign, log}, nil
	},
	op.Inverse: byMatrix(func(_ op.Attrs, x []matrix) matrix { return eliminated(x[0], identity(len(x[0]))) }),
	op.Solve:   byMatrix(func(_ op.Attrs, x []matrix) matrix { return eliminated(x[0], x[1]) }),
	op.MatrixPower: byMatrix(func(a op.Attrs, x []matrix) matrix {
		n, base, y := a.Int("n"), x[0], identity(len(x[0]))
		if n < 0 {
			n, base = -n, eliminated(base, y)
		}
		for range n {
			y = y.times(base)
		}
		return y
	}),
}
