package ref

import (
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/core/op"
)

// Matrix draws matrices of a kind in the last two dimensions of d, whose condition number is small.
func Matrix(r *rand.Rand, kind op.MatrixKind, d op.Desc) Tensor {
	t, s := Zeros(d), d.Shape
	if len(s) < 2 || s.Size() == 0 {
		return t
	}
	rows, cols := s[len(s)-2], s[len(s)-1]
	for start := 0; start < len(t.F); start += rows * cols {
		m := t.F[start:][:rows*cols]
		switch kind {
		case op.Triangular:
			for p := range m {
				if m[p] = (2*r.Float64() - 1) / float64(cols); p/cols == p%cols {
					m[p] = 1 + r.Float64()
				}
			}
		case op.PositiveDefinite, op.Symmetric:
			joinRotations(r, m, rotation(r, rows), nil, rows, cols, kind == op.Symmetric)
		default:
			joinRotations(r, m, rotation(r, rows), rotation(r, cols), rows, cols, false)
		}
	}
	for p, f := range t.F {
		t.F[p] = Round(d.DType, f)
	}
	return t
}

// joinRotations sets m to u·diag·vᵀ with well separated numbers on the diagonal, which are of either sign if signs is set. A nil v means u.
func joinRotations(r *rand.Rand, m []float64, u, v [][]float64, rows, cols int, signs bool) {
	symmetric := v == nil
	if symmetric {
		v = u
	}
	values := make([]float64, min(rows, cols))
	for k, at := range r.Perm(len(values)) {
		values[at] = 0.75 + 0.5*float64(k) + 0.2*r.Float64()
		if signs && r.IntN(2) == 0 {
			values[at] = -values[at]
		}
	}
	for i := range rows {
		for j := range cols {
			if symmetric && j < i {
				m[i*cols+j] = m[j*cols+i]
				continue
			}
			for k, x := range values {
				m[i*cols+j] += u[i][k] * x * v[j][k]
			}
		}
	}
}

// rotation draws an orthogonal matrix: a product of plane rotations.
func rotation(r *rand.Rand, n int) [][]float64 {
	q := make([][]float64, n)
	for i := range q {
		q[i] = make([]float64, n)
		q[i][i] = 1
	}
	for i := range n {
		for j := range i {
			sin, cos := math.Sincos(2 * math.Pi * r.Float64())
			for _, row := range q {
				row[i], row[j] = cos*row[i]-sin*row[j], sin*row[i]+cos*row[j]
			}
		}
	}
	return q
}
