package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var factorRules = map[Code]Decomposition{
	Cholesky: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		w := batched(b, x[0])
		if a.Bool("upper") {
			w = transposed(b, w)
		}
		n := x[0].Shape[len(x[0].Shape)-1]
		var cols []Desc
		for k := range n {
			rest := n - k - 1
			root := b.Do(Sqrt, block(b, w, 0, 1, 0, 1))
			below := b.Do(Div, block(b, w, 1, rest, 0, 1), root)
			cols = append(cols, b.Un(Pad, b.Concat(1, root, below), Ints("lo", 0, k, 0), Ints("hi", 0, 0, 0)))
			if rest > 0 {
				w = b.Do(Sub, block(b, w, 1, rest, 1, rest), b.Do(Mul, below, transposed(b, below)))
			}
		}
		l := b.Concat(2, cols...)
		if a.Bool("upper") {
			l = transposed(b, l)
		}
		return b.Reshape(l, x[0].Shape)
	}),
	TriangularSolve: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		t, y, s := systems(b, x)
		if a.Bool("transpose") {
			t = transposed(b, t)
		}
		flip := a.Bool("upper") != a.Bool("transpose")
		if flip {
			t, y = b.Un(Flip, t, Ints("axes", 1, 2)), b.Un(Flip, y, Ints("axes", 1))
		}
		n := x[0].Shape[len(x[0].Shape)-1]
		k := s[len(s)-1]
		var rows []Desc
		for i := range n {
			row := b.Narrow(y, 1, 0, 1)
			if !a.Bool("unit") {
				row = b.Do(Div, row, block(b, t, i, 1, i, 1))
			}
			rows = append(rows, row)
			if rest := n - i - 1; rest > 0 {
				y = b.Do(Sub, block(b, y, 1, rest, 0, k), b.Do(Mul, block(b, t, i+1, rest, i, 1), row))
			}
		}
		y = b.Concat(1, rows...)
		if flip {
			y = b.Un(Flip, y, Ints("axes", 1))
		}
		return b.Reshape(y, s)
	}),
	LU: inWide(func(b *Builder, x []Desc, _ Attrs) []Desc {
		s := x[0].Shape
		r := len(s) - 2
		m, n, batch := s[r], s[r+1], s[:r:r]
		w := batched(b, x[0])
		count := shape.Shape(batch).Size()
		line := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", 1, m), Int("axis", 1))[0]
		perm := b.Expand(line, shape.Of(count, m))
		var pivots []Desc
		for k := range min(m, n) {
			at := b.FullInt(dtype.I64, int64(k), nil)
			column := b.Reshape(b.Do(Abs, block(b, w, k, m-k, k, 1)), shape.Of(count, m-k))
			pivot := b.Do(Add, b.Un(ArgMax, column, Int("axis", 1), Flag("keep_dims", true)), at) // [count, 1]
			pivots = append(pivots, pivot)
			order := b.Do(Where, b.Do(Equal, line, at), pivot, b.Do(Where, b.Do(Equal, line, pivot), at, line))
			w = b.With(Gather, []Desc{w, order}, Int("axis", 1), Int("batch", 1))
			perm = b.With(Gather, []Desc{perm, order}, Int("axis", 1), Int("batch", 1))
			rest := m - k - 1
			if rest == 0 {
				continue
			}
			top := block(b, w, k, 1, k, 1)
			zero := b.Like(w, 0)
			f := b.Do(Where, b.Do(Equal, top, zero), zero, b.Do(Div, block(b, w, k+1, rest, k, 1), top))
			lower := []Desc{block(b, w, k+1, rest, 0, k), f}
			if right := n - k - 1; right > 0 {
				lower = append(lower, b.Do(Sub, block(b, w, k+1, rest, k+1, right), b.Do(Mul, f, block(b, w, k, 1, k+1, right))))
			}
			w = b.Concat(1, block(b, w, 0, k+1, 0, n), b.Concat(2, lower...))
		}
		return []Desc{b.Reshape(w, s), b.Reshape(b.Concat(1, pivots...), append(batch, min(m, n))), b.Reshape(perm, append(batch, m))}
	}),
	Det: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		d, parity := triangle(b, x[0])
		last := len(x[0].Shape) - 2
		return b.Do(Mul, b.Reduce(Prod, d, false, last), parity)
	}),
	SlogDet: inWide(func(b *Builder, x []Desc, _ Attrs) []Desc {
		d, parity := triangle(b, x[0])
		last := len(x[0].Shape) - 2
		return []Desc{b.Do(Mul, b.Reduce(Prod, b.Do(Sign, d), false, last), parity), b.Reduce(Sum, b.Do(Log, b.Do(Abs, d)), false, last)}
	}),
	Inverse: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		return b.Do(Solve, x[0], eye(b, x[0].DType, x[0].Shape[len(x[0].Shape)-1]))
	}),
	Solve: wideOne(func(b *Builder, x []Desc, _ Attrs) Desc {
		t, y, s := systems(b, x)
		f := b.All(LU, []Desc{t})
		y = b.With(Gather, []Desc{y, f[min(2, len(f)-1)]}, Int("axis", 1), Int("batch", 1))
		y = b.With(TriangularSolve, []Desc{f[0], y}, Flag("unit", true))
		return b.Reshape(b.With(TriangularSolve, []Desc{f[0], y}, Flag("upper", true)), s)
	}),
	MatrixPower: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		w, n := x[0], a.Int("n")
		if n == 0 {
			return b.Expand(eye(b, w.DType, w.Shape[len(w.Shape)-1]), w.Shape)
		}
		if n < 0 {
			w, n = b.Do(Inverse, w), -n
		}
		var y *Desc
		for ; ; n /= 2 {
			if n%2 == 1 && y == nil {
				first := w
				y = &first
			} else if n%2 == 1 {
				next := b.Do(MatMul, *y, w)
				y = &next
			}
			if n == 1 {
				return *y
			}
			w = b.Do(MatMul, w, w)
		}
	}),
}

// systems returns a and b of a·x = b as [batches, rows, columns] of the broadcast batches, and the shape of x.
func systems(b *Builder, x []Desc) (a, y Desc, s shape.Shape) {
	batch, err := inferBatches("C4", x, 2)
	if err != nil {
		b.Fail(err)
		return x[0], x[1], x[1].Shape
	}
	full := func(v Desc) shape.Shape { return append(batch[:len(batch):len(batch)], v.Shape[len(v.Shape)-2:]...) }
	return batched(b, b.Expand(x[0], full(x[0]))), batched(b, b.Expand(x[1], full(x[1]))), full(x[1])
}

// triangle returns the diagonal of the upper factor of x, and 1 or -1 for an even or odd number of swaps.
func triangle(b *Builder, x Desc) (diagonal, parity Desc) {
	f := b.All(LU, []Desc{x})
	if b.Err() != nil {
		return x, x
	}
	n := x.Shape[len(x.Shape)-1]
	line := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", n), Int("axis", 0))[0]
	signs := b.Do(Where, b.Do(Equal, f[1], line), b.Like(x, 1), b.Like(x, -1))
	return diagonalBy(b, f[0], 0), b.Reduce(Prod, signs, false, len(x.Shape)-2)
}
