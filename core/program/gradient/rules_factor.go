package gradient

import (
	"github.com/goburn/burn/core/op"
)

// factorRules contains the rules of batched matrix ops. Each is a few products, in place of the gradients of the elimination steps. The
// formulas are from Giles, Collected matrix derivative results for forward and reverse mode, 2008, and for Cholesky from Murray, 2016.
var factorRules = map[op.Code]Rule{
	op.Inverse: fromY(func(g *grad, y, dy op.Desc) op.Desc {
		return g.Do(op.Neg, product(g, product(g, y, dy, true, false), y, false, true))
	}),
	op.Solve: {readBoth(1, 1), func(g *grad) []op.Desc {
		a, x := g.x[0], g.y[0]
		db := g.Do(op.Solve, transposed(g, a), g.dy[0])
		return two(g, func() op.Desc { return g.Do(op.Neg, product(g, db, x, false, true)) }, func() op.Desc { return db })
	}},
	op.TriangularSolve: {readBoth(1, 1), func(g *grad) []op.Desc {
		a, x := g.x[0], g.y[0]
		upper, turn, unit := g.Bool("upper"), g.Bool("transpose"), g.Bool("unit")
		db := g.With(op.TriangularSolve, []op.Desc{a, g.dy[0]}, op.Flag("upper", upper), op.Flag("transpose", !turn), op.Flag("unit", unit))
		return two(g, func() op.Desc {
			d := product(g, db, x, false, true)
			if turn {
				d = product(g, x, db, false, true)
			}
			part, offset := op.Tril, 0
			if unit {
				offset = -1
			}
			if upper {
				part, offset = op.Triu, -offset
			}
			return g.Do(op.Neg, g.Un(part, d, op.Int("offset", offset)))
		}, func() op.Desc { return db })
	}},
	op.Det: {readBoth(1, 1), func(g *grad) []op.Desc {
		s := g.y[0].Shape.Clone()
		scale := g.Reshape(g.mul(g.dy[0], g.y[0]), append(s, 1, 1))
		return []op.Desc{g.mul(transposed(g, g.Do(op.Inverse, g.x[0])), scale)}
	}},
	op.SlogDet: {readIn(1), func(g *grad) []op.Desc {
		if g.dy[1].ID == 0 {
			return []op.Desc{g.zeros(g.x[0])}
		}
		s := g.dy[1].Shape.Clone()
		return []op.Desc{g.mul(transposed(g, g.Do(op.Inverse, g.x[0])), g.Reshape(g.dy[1], append(s, 1, 1)))}
	}},
	op.Cholesky: {readOut(1), func(g *grad) []op.Desc {
		l, dl := g.y[0], g.dy[0]
		if g.Bool("upper") {
			l, dl = transposed(g, l), transposed(g, dl)
		}
		phi := g.Un(op.Tril, product(g, l, dl, true, false))
		phi = g.sub(phi, g.times(diagonal(g, phi), 0.5))
		low := op.Flag("transpose", true)
		half := g.With(op.TriangularSolve, []op.Desc{l, phi}, low)                  // L⁻ᵀ Φ
		whole := g.With(op.TriangularSolve, []op.Desc{l, transposed(g, half)}, low) // L⁻ᵀ Φᵀ L⁻¹, transposed
		return []op.Desc{g.times(g.add(whole, transposed(g, whole)), 0.5)}
	}},
	op.Eigh: {readOut(3), func(g *grad) []op.Desc {
		values, v := g.y[0], g.y[1]
		n := v.Shape[len(v.Shape)-1]
		inner := g.zeros(v)
		if g.dy[1].ID != 0 {
			s := values.Shape.Clone()
			gap := g.sub(g.Reshape(values, append(s[:len(s)-1:len(s)-1], 1, n)), g.Reshape(values, append(s[:len(s):len(s)], 1)))
			inner = g.mul(product(g, v, g.dy[1], true, false), apart(g, gap))
		}
		if g.dy[0].ID != 0 {
			inner = g.add(inner, onDiagonal(g, g.dy[0], n))
		}
		d := product(g, product(g, v, inner, false, false), v, false, true)
		return []op.Desc{g.times(g.add(d, transposed(g, d)), 0.5)}
	}},
	op.SVD: {readOut(7), func(g *grad) []op.Desc {
		u, s, vt := g.y[0], g.y[1], g.y[2]
		k := s.Shape[len(s.Shape)-1]
		m, n := g.x[0].Shape[len(g.x[0].Shape)-2], g.x[0].Shape[len(g.x[0].Shape)-1]
		lead := s.Shape[:len(s.Shape)-1]
		column := g.Reshape(s, append(lead.Clone(), k, 1))
		row := g.Reshape(s, append(lead.Clone(), 1, k))
		inner := g.Expand(g.zero(s), append(lead.Clone(), k, k))
		f := apart(g, g.sub(g.mul(row, row), g.mul(column, column)))
		skew := func(d op.Desc) op.Desc { return g.mul(g.sub(d, transposed(g, d)), f) }
		if g.dy[0].ID != 0 {
			inner = g.add(inner, g.mul(skew(product(g, u, g.dy[0], true, false)), row))
		}
		if g.dy[2].ID != 0 {
			inner = g.add(inner, g.mul(column, skew(product(g, vt, g.dy[2], false, true))))
		}
		if g.dy[1].ID != 0 {
			inner = g.add(inner, onDiagonal(g, g.dy[1], k))
		}
		d := product(g, product(g, u, inner, false, false), vt, false, false)
		if g.dy[0].ID != 0 && m > k { // the part of dU outside the span of U
			out := g.sub(g.dy[0], product(g, u, product(g, u, g.dy[0], true, false), false, false))
			d = g.add(d, product(g, g.div(out, row), vt, false, false))
		}
		if g.dy[2].ID != 0 && n > k {
			out := g.sub(g.dy[2], product(g, product(g, g.dy[2], vt, false, true), vt, false, false))
			d = g.add(d, product(g, u, g.div(out, column), false, false))
		}
		return []op.Desc{d}
	}},
}

// transposed exchanges the last two dimensions.
func transposed(g *grad, x op.Desc) op.Desc {
	n := len(x.Shape)
	axes := each(n)
	if n >= 2 {
		axes[n-1], axes[n-2] = n-2, n-1
	}
	return g.Permute(x, axes...)
}

func eye(g *grad, like op.Desc, n int) op.Desc {
	return g.All(op.Eye, nil, op.Int("rows", n), op.Int("columns", n), op.Type("dtype", like.DType))[0]
}

// diagonal returns x with zeros off its diagonal.
func diagonal(g *grad, x op.Desc) op.Desc {
	return g.mul(x, eye(g, x, x.Shape[len(x.Shape)-1]))
}

// onDiagonal returns matrices with the vectors d [..., n] on their diagonals.
func onDiagonal(g *grad, d op.Desc, n int) op.Desc {
	return g.mul(g.Reshape(d, append(d.Shape.Clone(), 1)), eye(g, d, n))
}

// apart returns 1/gap off the diagonal, and 0 on it.
func apart(g *grad, gap op.Desc) op.Desc {
	e := eye(g, gap, gap.Shape[len(gap.Shape)-1])
	return g.div(g.sub(g.Like(gap, 1), e), g.add(gap, e))
}
