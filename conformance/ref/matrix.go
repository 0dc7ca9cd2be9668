package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// matrix is rows of numbers.
type matrix [][]float64

func newMatrix(m, n int) matrix {
	x := make(matrix, m)
	for i := range x {
		x[i] = make([]float64, n)
	}
	return x
}

func identity(n int) matrix {
	x := newMatrix(n, n)
	for i := range x {
		x[i][i] = 1
	}
	return x
}

func (x matrix) clone() matrix {
	y := slices.Clone(x)
	for i := range y {
		y[i] = slices.Clone(x[i])
	}
	return y
}

func (x matrix) transpose() matrix {
	y := newMatrix(len(x[0]), len(x))
	for i, row := range x {
		for j, f := range row {
			y[j][i] = f
		}
	}
	return y
}

func (x matrix) times(y matrix) matrix {
	z := newMatrix(len(x), len(y[0]))
	for i := range z {
		for j := range z[i] {
			var s accumulator
			for k := range y {
				s.add(x[i][k] * y[k][j])
			}
			z[i][j] = s.value()
		}
	}
	return z
}

// matrixAt returns the matrix of t at index batch, to whose shape t's batch dimensions broadcast.
func matrixAt(t Tensor, batch []int) matrix {
	s := t.Desc.Shape
	r := len(s) - 2
	x := newMatrix(s[r], s[r+1])
	start := stretched(s[:r], batch) * s[r] * s[r+1]
	for i := range x {
		copy(x[i], t.F[start+i*s[r+1]:])
	}
	return x
}

// put writes x as matrix number at.
func (t Tensor) put(at int, x matrix) {
	for i, row := range x {
		copy(t.F[(at*len(x)+i)*len(row):], row)
	}
}

// byMatrix returns a kernel of a function from matrices to one matrix.
func byMatrix(f func(a op.Attrs, x []matrix) matrix) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		return byMatrixOf(n, in, func(x []matrix) matrix { return f(n.Attrs, x) })
	})
}

func byMatrixOf(n *op.Node, in []Tensor, f func(x []matrix) matrix) Tensor {
	out := Zeros(n.Outputs[0])
	each(n.Outputs[0].Shape[:len(n.Outputs[0].Shape)-2], func(pos int, batch []int) {
		var x []matrix
		for _, t := range in {
			x = append(x, matrixAt(t, batch))
		}
		out.put(pos, f(x))
	})
	return out
}

// picked returns a kernel that keeps the elements of the last two dimensions for which keep returns true, and sets the others to zero.
// beyond is the column minus the row.
func picked(keep func(offset, beyond int) bool) kernel {
	return direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			if keep(n.Attrs.Int("offset"), idx[len(idx)-1]-idx[len(idx)-2]) {
				out.set(pos, in[0], pos)
			}
		})
		return out
	})
}

// diagonalPlaces lists for each matrix the positions of its diagonal.
func diagonalPlaces(s shape.Shape, offset int) [][]int {
	out := make([][]int, s[:len(s)-2].Size())
	each(s, func(pos int, idx []int) {
		if i, j := idx[len(idx)-2], idx[len(idx)-1]; j-i == offset {
			m := pos / (s[len(s)-2] * s[len(s)-1])
			out[m] = append(out[m], pos)
		}
	})
	return out
}

var matrixKernels = map[op.Code]kernel{
	op.Tril: picked(func(offset, beyond int) bool { return beyond <= offset }),
	op.Triu: picked(func(offset, beyond int) bool { return beyond >= offset }),
	op.Diag: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for m, places := range diagonalPlaces(n.Outputs[0].Shape, n.Attrs.Int("offset")) {
			for k, p := range places {
				out.set(p, in[0], m*len(places)+k)
			}
		}
		return out
	}),
	op.Diagonal: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for m, places := range diagonalPlaces(in[0].Desc.Shape, n.Attrs.Int("offset")) {
			for k, p := range places {
				out.set(m*len(places)+k, in[0], p)
			}
		}
		return out
	}),
	op.Trace: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for m, places := range diagonalPlaces(in[0].Desc.Shape, n.Attrs.Int("offset")) {
			sum.apply(out, m, in[0], places)
		}
		return out
	}),
	op.Outer: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			batch, i, j := idx[:len(idx)-2], idx[len(idx)-2], idx[len(idx)-1]
			multiply(out, pos, in[0], endingIn(in[0].Desc.Shape, batch, i), in[1], endingIn(in[1].Desc.Shape, batch, j))
		})
		return out
	}),
	op.Kron: direct(func(n *op.Node, in []Tensor) Tensor {
		out, q := Zeros(n.Outputs[0]), in[1].Desc.Shape
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			batch, i, j := idx[:len(idx)-2], idx[len(idx)-2], idx[len(idx)-1]
			p, l := q[len(q)-2], q[len(q)-1]
			multiply(out, pos, in[0], endingIn(in[0].Desc.Shape, batch, i/p, j/l), in[1], endingIn(q, batch, i%p, j%l))
		})
		return out
	}),
	op.Cross: direct(func(n *op.Node, in []Tensor) Tensor {
		out, axis := Zeros(n.Outputs[0]), n.Attrs.Int("axis")
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			from := func(t Tensor, by int) int {
				source := slices.Clone(idx)
				source[axis] = (idx[axis] + by) % 3
				return stretched(t.Desc.Shape, source)
			}
			a, b := in[0], in[1]
			p, q, r, s := from(a, 1), from(b, 2), from(a, 2), from(b, 1)
			if out.F != nil {
				out.F[pos] = a.F[p]*b.F[q] - a.F[r]*b.F[s]
			} else {
				out.I[pos] = Wrap(out.Desc.DType, a.I[p]*b.I[q]-a.I[r]*b.I[s])
			}
		})
		return out
	}),
}

// multiply sets element to of out to element p of a times element q of b.
func multiply(out Tensor, to int, a Tensor, p int, b Tensor, q int) {
	if out.F != nil {
		out.F[to] = a.F[p] * b.F[q]
	} else {
		out.I[to] = Wrap(out.Desc.DType, a.I[p]*b.I[q])
	}
}

// endingIn returns the position in s of the element with the given last indices at a batch that broadcasts.
func endingIn(s shape.Shape, batch []int, ends ...int) int {
	r := len(s) - len(ends)
	p := stretched(s[:r], batch)
	for k, e := range ends {
		p = p*s[r+k] + e
	}
	return p
}

// factored returns the LU factorisation of x with row pivoting, the rows swapped at each step, and the order of rows.
func factored(x matrix) (lu matrix, pivots, order []int) {
	lu = x.clone()
	for i := range x {
		order = append(order, i)
	}
	for k := range min(len(x), len(x[0])) {
		best := k
		for i := k; i < len(x); i++ {
			if math.Abs(lu[i][k]) > math.Abs(lu[best][k]) {
				best = i
			}
		}
		pivots = append(pivots, best)
		lu[k], lu[best], order[k], order[best] = lu[best], lu[k], order[best], order[k]
		for i := k + 1; i < len(x); i++ {
			f := lu[i][k] / lu[k][k]
			if lu[k][k] == 0 {
				f = 0
			}
			lu[i][k] = f
			for j := k + 1; j < len(x[0]); j++ {
				lu[i][j] -= f * lu[k][j]
			}
		}
	}
	return lu, pivots, order
}

// determinant returns the sign and the logarithm of the magnitude.
func determinant(x matrix) (sign, log float64) {
	lu, pivots, _ := factored(x)
	sign = 1
	for k, p := range pivots {
		d := lu[k][k]
		if p != k {
			d = -d
		}
		switch {
		case d < 0:
			sign = -sign
		case d == 0:
			sign = 0
		}
		log += math.Log(math.Abs(d))
	}
	return sign, log
}

// eliminated solves x·y = b by Gauss-Jordan elimination.
func eliminated(x, b matrix) matrix {
	x, b = x.clone(), b.clone()
	for k := range x {
		best := k
		for i := k; i < len(x); i++ {
			if math.Abs(x[i][k]) > math.Abs(x[best][k]) {
				best = i
			}
		}
		x[k], x[best], b[k], b[best] = x[best], x[k], b[best], b[k]
		for i := range x {
			if f := x[i][k] / x[k][k]; i != k {
				for j := range x {
					x[i][j] -= f * x[k][j]
				}
				for j := range b[i] {
					b[i][j] -= f * b[k][j]
				}
			}
		}
	}
	for k := range x {
		for j := range b[k] {
			b[k][j] /= x[k][k]
		}
	}
	return b
}
