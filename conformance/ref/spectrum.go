package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// levelled returns x divided by the power of two that brings its largest element into [1/2, 1), so that no square overflows or underflows,
// and the exponent of that power.
func levelled(x matrix) (matrix, int) {
	var most float64
	for _, row := range x {
		for _, f := range row {
			most = max(most, math.Abs(f))
		}
	}
	_, exponent := math.Frexp(most)
	return x.shifted(-exponent), exponent
}

// shifted returns x times 2^exponent.
func (x matrix) shifted(exponent int) matrix {
	y := x.clone()
	for _, row := range y {
		for j, f := range row {
			row[j] = math.Ldexp(f, exponent)
		}
	}
	return y
}

// reflected returns the complete QR factorisation of x by reflections. The diagonal of r has no negative elements.
func reflected(x matrix) (q, r matrix) {
	m, n := len(x), len(x[0])
	q = identity(m)
	r, exponent := levelled(x)
	for j := range min(m-1, n) {
		v, square := make([]float64, m), 0.0
		for i := j; i < m; i++ {
			v[i], square = r[i][j], square+r[i][j]*r[i][j]
		}
		if v[j] < 0 {
			v[j] -= math.Sqrt(square)
		} else {
			v[j] += math.Sqrt(square)
		}
		vv := 0.0
		for _, f := range v {
			vv += f * f
		}
		h := identity(m)
		for i := range h {
			for k := range h {
				if vv != 0 {
					h[i][k] -= 2 * v[i] * v[k] / vv
				}
			}
		}
		q, r = q.times(h), h.times(r)
	}
	for i := range r {
		for j := range min(i, n) {
			r[i][j] = 0
		}
		if i < n && r[i][i] < 0 {
			for j := range r[i] {
				r[i][j] = -r[i][j]
			}
			for k := range q {
				q[k][i] = -q[k][i]
			}
		}
	}
	return q, r.shifted(exponent)
}

// turn returns the cosine and sine of the rotation that makes the off-diagonal of [[app, apq], [apq, aqq]] zero.
func turn(app, aqq, apq float64) (c, s float64) {
	theta := math.Atan2(2*apq, aqq-app) / 2
	if 2*theta > math.Pi/2 {
		theta -= math.Pi / 2
	} else if 2*theta < -math.Pi/2 {
		theta += math.Pi / 2
	}
	return math.Cos(theta), math.Sin(theta)
}

// rotate applies a rotation to columns p and q of x.
func (x matrix) rotate(p, q int, c, s float64) {
	for _, row := range x {
		row[p], row[q] = c*row[p]-s*row[q], s*row[p]+c*row[q]
	}
}

// eigen returns the eigenvalues, unsorted, and a matrix with the eigenvectors as columns. It uses Jacobi rotations.
func eigen(x matrix) ([]float64, matrix) {
	w, v := x.clone(), identity(len(x))
	for range 40 {
		for p := range w {
			for q := p + 1; q < len(w); q++ {
				if w[p][q] == 0 {
					continue
				}
				c, s := turn(w[p][p], w[q][q], w[p][q])
				w.rotate(p, q, c, s)
				w = w.transpose()
				w.rotate(p, q, c, s)
				v.rotate(p, q, c, s)
			}
		}
	}
	var values []float64
	for i := range w {
		values = append(values, w[i][i])
	}
	return values, v
}

// byValue sorts the columns of vectors by values, and returns both.
func byValue(values []float64, vectors matrix, descending bool) ([]float64, matrix) {
	places := make([]int, len(values))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int {
		if descending {
			a, b = b, a
		}
		return int(truth(values[a] > values[b]) - truth(values[a] < values[b]))
	})
	var sorted []float64
	rows, columns := matrix{}, vectors.transpose()
	for _, p := range places {
		sorted, rows = append(sorted, values[p]), append(rows, columns[p])
	}
	return sorted, rows.transpose()
}

// columnSigns returns -1 for columns whose element of largest magnitude is negative, else 1.
func columnSigns(x matrix) []float64 {
	var signs []float64
	for _, col := range x.transpose() {
		best, sign := 0, 1.0
		for i, f := range col {
			if math.Abs(f) > math.Abs(col[best]) {
				best = i
			}
		}
		if col[best] < 0 {
			sign = -1
		}
		signs = append(signs, sign)
	}
	return signs
}

func (x matrix) scaleColumns(by []float64) matrix {
	y := x.clone()
	for _, row := range y {
		for j := range row {
			row[j] *= by[j]
		}
	}
	return y
}

// decomposed returns the thin singular value decomposition u·diag(s)·vᵀ of x.
func decomposed(x matrix) (u matrix, s []float64, v matrix) {
	if len(x) < len(x[0]) {
		v, s, u = decomposed(x.transpose())
	} else {
		w, exponent := levelled(x)
		v = identity(len(x[0]))
		for range 40 {
			for p := range v {
				for q := p + 1; q < len(v); q++ {
					var pp, qq, pq accumulator
					for _, row := range w {
						pp.add(row[p] * row[p])
						qq.add(row[q] * row[q])
						pq.add(row[p] * row[q])
					}
					if pq.value() != 0 {
						c, sn := turn(pp.value(), qq.value(), pq.value())
						w.rotate(p, q, c, sn)
						v.rotate(p, q, c, sn)
					}
				}
			}
		}
		for _, col := range w.transpose() {
			s = append(s, vectorNorm(col, 2))
		}
		lengths := s
		s, v = byValue(lengths, v, true)
		_, w = byValue(lengths, w, true)
		// The columns are orthogonal, so q contains them divided by their lengths, and orthonormal columns in place of those of length 0.
		q, _ := reflected(w)
		u = newMatrix(len(q), len(s))
		for i := range u {
			copy(u[i], q[i])
		}
		for k := range s {
			s[k] = math.Ldexp(s[k], exponent)
		}
	}
	signs := columnSigns(u)
	return u.scaleColumns(signs), s, v.scaleColumns(signs)
}

// pseudoinverse returns the pseudoinverse of x. Singular values of at most limit times the greatest count as 0.
func pseudoinverse(x matrix, limit float64) matrix {
	u, s, v := decomposed(x)
	inverse := make([]float64, len(s))
	for k, f := range s {
		if f > limit*s[0] {
			inverse[k] = 1 / f
		}
	}
	return v.scaleColumns(inverse).times(u.transpose())
}

func limitOf(n *op.Node, x Tensor) float64 {
	s := x.Desc.Shape
	r := n.Attrs.Float("rcond")
	if r != 0 {
		return r
	}
	eps := 0x1p-23
	if x.Desc.DType == dtype.F64 {
		eps = 0x1p-52
	}
	return eps * float64(max(s[len(s)-1], s[len(s)-2]))
}

func matrixNorm(x matrix, ord string) float64 {
	var squares, columns, rows []float64
	for _, row := range x {
		for _, f := range row {
			squares = append(squares, f*f)
		}
		rows = append(rows, vectorNorm(row, 1))
	}
	for _, col := range x.transpose() {
		columns = append(columns, vectorNorm(col, 1))
	}
	switch ord {
	case "fro":
		return math.Sqrt(total(squares))
	case "1":
		return greatest.f(columns)
	case "-1":
		return least.f(columns)
	case "inf":
		return greatest.f(rows)
	case "-inf":
		return least.f(rows)
	}
	_, s, _ := decomposed(x)
	return map[string]float64{"nuc": total(s), "2": s[0], "-2": s[len(s)-1]}[ord]
}

// severalOf returns a kernel that applies f to each matrix. f returns one matrix for each result; a vector is a matrix of one row.
func severalOf(f func(n *op.Node, x matrix) []matrix) kernel {
	return func(n *op.Node, in []Tensor) ([]Tensor, error) {
		var outs []Tensor
		for _, d := range n.Outputs {
			outs = append(outs, Zeros(d))
		}
		s := in[0].Desc.Shape
		each(s[:len(s)-2], func(pos int, batch []int) {
			for k, x := range f(n, matrixAt(in[0], batch)) {
				outs[k].put(pos, x)
			}
		})
		return outs, nil
	}
}

var spectrumKernels = map[op.Code]kernel{
	op.QR: severalOf(func(n *op.Node, x matrix) []matrix {
		q, r := reflected(x)
		if k := min(len(x), len(x[0])); !n.Attrs.Bool("complete") {
			q, r = q.transpose()[:k].transpose(), r[:k]
		}
		return []matrix{q, r}
	}),
	op.Eigh: severalOf(func(_ *op.Node, x matrix) []matrix {
		for i := range x {
			for j := range i {
				x[j][i] = x[i][j]
			}
		}
		values, vectors := eigen(x)
		values, vectors = byValue(values, vectors, false)
		return []matrix{{values}, vectors.scaleColumns(columnSigns(vectors))}
	}),
	op.SVD: severalOf(func(_ *op.Node, x matrix) []matrix {
		u, s, v := decomposed(x)
		return []matrix{u, {s}, v.transpose()}
	}),
	op.MatrixNorm: severalOf(func(n *op.Node, x matrix) []matrix { return []matrix{{{matrixNorm(x, n.Attrs.Str("ord"))}}} }),
	op.PInv: direct(func(n *op.Node, in []Tensor) Tensor {
		return byMatrixOf(n, in, func(x []matrix) matrix { return pseudoinverse(x[0], limitOf(n, in[0])) })
	}),
	op.LstSq: direct(func(n *op.Node, in []Tensor) Tensor {
		return byMatrixOf(n, in, func(x []matrix) matrix {
			if len(x[1][0]) == 0 {
				return newMatrix(len(x[0][0]), 0)
			}
			return pseudoinverse(x[0], limitOf(n, in[0])).times(x[1])
		})
	}),
}
