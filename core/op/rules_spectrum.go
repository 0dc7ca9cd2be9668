package op

import (
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var spectrumRules = map[Code]Decomposition{
	QR: inWide(func(b *Builder, x []Desc, a Attrs) []Desc {
		s := x[0].Shape
		batch, m, n, err := inferFilled(s)
		if err != nil {
			b.Fail(err)
			return []Desc{{}, {}}
		}
		k := min(m, n)
		if a.Bool("complete") {
			k = m
		}
		w, back := levelled(b, batched(b, x[0]))
		q, r := householder(b, w, m, n)
		r = b.Do(Mul, r, back)
		return []Desc{b.Reshape(b.Narrow(q, 2, 0, k), append(batch, m, k)), b.Reshape(b.Narrow(r, 1, 0, k), append(batch, k, n))}
	}),
	Eigh: inWide(func(b *Builder, x []Desc, _ Attrs) []Desc {
		s := x[0].Shape
		n := s[len(s)-1]
		low := batched(b, b.Un(Tril, x[0]))
		w := b.Do(Add, low, transposed(b, b.Un(Tril, low, Int("offset", -1))))
		even := n + n%2
		w = resized(b, resized(b, w, 1, even), 2, even)
		v := b.Expand(eye(b, w.DType, even), w.Shape)
		for range sweeps(w.DType, even) * (even - 1) {
			app, aqq, apq := corners(b, w, even)
			c, sn := rotations(b, app, aqq, apq)
			across := func(y Desc) Desc { return cycled(b, rotated(b, y, c, sn, 2, even), 2, even) }
			w = across(w)
			w = cycled(b, rotated(b, w, c, sn, 1, even), 1, even)
			v = across(v)
		}
		values := b.All(Sort, []Desc{b.Narrow(diagonalBy(b, w, 0), 1, 0, n)}, Int("axis", 1))
		rows := b.With(Gather, []Desc{transposed(b, block(b, v, 0, n, 0, n)), values[1]}, Int("axis", 1), Int("batch", 1))
		rows = b.Do(Mul, rows, signsOf(b, rows))
		return []Desc{b.Reshape(values[0], s[:len(s)-1]), b.Reshape(transposed(b, rows), s)}
	}),
	SVD: inWide(func(b *Builder, x []Desc, _ Attrs) []Desc {
		batch, m, n, err := inferFilled(x[0].Shape)
		if err != nil {
			b.Fail(err)
			return []Desc{{}, {}, {}}
		}
		w := batched(b, x[0])
		if m < n {
			w = transposed(b, w)
		}
		w, back := levelled(b, w)
		u, values, v := singular(b, w, max(m, n), min(m, n)) // columns of u and v
		values = b.Do(Mul, values, b.Reshape(back, shape.Of(batch.Size(), 1)))
		if m < n {
			u, v = v, u
		}
		rows := transposed(b, u)
		sign := signsOf(b, rows)
		k := min(m, n)
		return []Desc{b.Reshape(transposed(b, b.Do(Mul, rows, sign)), append(batch, m, k)), b.Reshape(values, append(batch, k)),
			b.Reshape(b.Do(Mul, transposed(b, v), sign), append(batch, k, n))}
	}),
	MatrixNorm: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		rows := len(x[0].Shape) - 2
		switch ord := a.Str("ord"); ord {
		case "nuc", "2", "-2":
			s := b.All(SVD, x)
			c := map[string]Code{"nuc": Sum, "2": ReduceMax, "-2": ReduceMin}[ord]
			return b.Reduce(c, s[1], false, rows)
		case "1", "-1", "inf", "-inf":
			axis, c := rows, ReduceMax
			if ord == "inf" || ord == "-inf" {
				axis = rows + 1
			}
			if ord[0] == '-' {
				c = ReduceMin
			}
			return b.Reduce(c, b.Reduce(Sum, b.Do(Abs, x[0]), false, axis), false, rows)
		}
		return b.Do(Sqrt, b.Reduce(Sum, b.Do(Mul, x[0], x[0]), false, rows, rows+1))
	}),
	PInv: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		f := b.All(SVD, x)
		if b.Err() != nil {
			return x[0]
		}
		s := x[0].Shape
		r := a.Float("rcond")
		if r == 0 {
			r = float64(max(s[len(s)-1], s[len(s)-2])) * 0x1p-23
			if x[0].DType == dtype.F64 {
				r *= 0x1p-29
			}
		}
		values := f[1]
		counts := b.Do(Less, b.Do(Mul, b.Reduce(ReduceMax, values, true, len(values.Shape)-1), b.Like(values, r)), values)
		one := b.Like(values, 1)
		inverse := b.Do(Where, counts, b.Do(Div, one, b.Do(Where, counts, values, one)), b.Like(values, 0))
		line := append(inverse.Shape[:len(inverse.Shape):len(inverse.Shape)], 1)
		return b.Do(MatMul, transposed(b, f[2]), b.Do(Mul, b.Reshape(inverse, line), transposed(b, f[0])))
	}),
	LstSq: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Do(MatMul, b.Un(PInv, x[0], Float("rcond", a.Float("rcond"))), x[1])
	}),
}

// levelled returns w, [batches, m, n], with each matrix multiplied by a power of two, so that the squares of its elements neither overflow nor
// underflow, and the inverses of these factors, [batches, 1, 1]. Most factors are 1.
func levelled(b *Builder, w Desc) (scaled, back Desc) {
	if b.Err() != nil {
		return w, w
	}
	low, high, factor := 0x1p-40, 0x1p50, 0x1p80 // of f32: the largest element is then between 2^-69 and 2^50
	if w.DType == dtype.F64 {
		low, high, factor = 0x1p-400, 0x1p400, 0x1p600
	}
	most := b.Reduce(ReduceMax, b.Do(Abs, w), true, 1, 2)
	large, small := b.Do(Less, b.Like(w, high), most), b.Do(Less, most, b.Like(w, low))
	up, down, one := b.Like(w, factor), b.Like(w, 1/factor), b.Like(w, 1)
	by := b.Do(Where, large, down, b.Do(Where, small, up, one))
	return b.Do(Mul, w, by), b.Do(Where, large, up, b.Do(Where, small, down, one))
}

// householder returns the complete QR factorisation of w, [batches, m, n], as q, [batches, m, m], and r, [batches, m, n].
func householder(b *Builder, w Desc, m, n int) (q, r Desc) {
	if b.Err() != nil {
		return w, w
	}
	q = b.Expand(eye(b, w.DType, m), shape.Of(w.Shape[0], m, m))
	zero, two := b.Like(w, 0), b.Like(w, 2)
	for j := range min(m-1, n) {
		rest := m - j
		x := block(b, w, j, rest, j, 1)
		norm := b.Do(Sqrt, b.Reduce(Sum, b.Do(Mul, x, x), true, 1))
		first := b.Narrow(x, 1, 0, 1)
		first = b.Do(Add, first, b.Do(Where, b.Do(Less, first, zero), b.Do(Neg, norm), norm))
		v := b.Concat(1, first, b.Narrow(x, 1, 1, rest-1))
		vv := b.Reduce(Sum, b.Do(Mul, v, v), true, 1)
		beta := b.Do(Where, b.Do(Equal, vv, zero), zero, b.Do(Div, two, vv))
		vt := transposed(b, v)
		part := block(b, w, j, rest, j, n-j)
		part = b.Do(Sub, part, b.Do(Mul, b.Do(Mul, beta, v), b.Do(MatMul, vt, part)))
		if j > 0 {
			part = b.Concat(2, block(b, w, j, rest, 0, j), part)
			part = b.Concat(1, b.Narrow(w, 1, 0, j), part)
		}
		w = part
		right := b.Narrow(q, 2, j, rest)
		right = b.Do(Sub, right, b.Do(Mul, b.Do(MatMul, right, v), b.Do(Mul, beta, vt)))
		if j > 0 {
			right = b.Concat(2, b.Narrow(q, 2, 0, j), right)
		}
		q = right
	}
	r = b.Un(Triu, w)
	d := diagonalBy(b, r, 0)
	sign := b.Do(Where, b.Do(Less, d, zero), b.Like(w, -1), b.Like(w, 1)) // [batches, min(m, n)]
	if k := min(m, n); k < m && b.Err() == nil {
		sign = b.Un(Pad, sign, Ints("lo", 0, 0), Ints("hi", 0, m-k), ScalarInt("value", 1))
	}
	if b.Err() != nil {
		return w, w
	}
	across, down := shape.Of(w.Shape[0], 1, m), shape.Of(w.Shape[0], m, 1)
	return b.Do(Mul, q, b.Reshape(sign, across)), b.Do(Mul, r, b.Reshape(sign, down))
}

// sweeps returns the number of times that each pair of n columns is rotated.
func sweeps(d dtype.DType, n int) int {
	if d == dtype.F64 {
		return 6 + bits.Len(uint(n))
	}
	return 5 + bits.Len(uint(n))
}

// Jacobi rotations are applied to n/2 pairs of columns at once: column k with column n-1-k. After each round, all columns except the first
// are rotated by one position, so that all pairs occur in n-1 rounds, after which the columns are in their original order.

// corners returns elements (k, k), (n-1-k, n-1-k) and (k, n-1-k) of [batches, n, n] for k below n/2.
func corners(b *Builder, w Desc, n int) (app, aqq, apq Desc) {
	if b.Err() != nil {
		return w, w, w
	}
	d := diagonalBy(b, w, 0)
	anti := b.Un(Slice, b.Reshape(w, shape.Of(w.Shape[0], n*n)), Ints("start", 0, n-1), Ints("size", w.Shape[0], n/2), Ints("step", 1, n-1))
	return b.Narrow(d, 1, 0, n/2), b.Un(Flip, b.Narrow(d, 1, n/2, n/2), Ints("axes", 1)), anti
}

// rotations returns the cosines and sines of the rotations that make apq zero, [batches, pairs].
func rotations(b *Builder, app, aqq, apq Desc) (c, s Desc) {
	zero, one := b.Like(apq, 0), b.Like(apq, 1)
	none := b.Do(Equal, apq, zero)
	tau := b.Do(Div, b.Do(Sub, aqq, app), b.Do(Mul, b.Like(apq, 2), b.Do(Where, none, one, apq)))
	t := b.Do(Div, one, b.Do(Add, b.Do(Abs, tau), b.Do(Sqrt, b.Do(Add, one, b.Do(Mul, tau, tau)))))
	t = b.Do(Where, none, zero, b.Do(Where, b.Do(Less, tau, zero), b.Do(Neg, t), t))
	c = b.Do(Div, one, b.Do(Sqrt, b.Do(Add, one, b.Do(Mul, t, t))))
	return c, b.Do(Mul, t, c)
}

// rotated applies the rotations with cosines c and sines s to the pairs of rows (axis 1) or columns (axis 2) of w.
func rotated(b *Builder, w, c, s Desc, axis, n int) Desc {
	if b.Err() != nil {
		return w
	}
	line := shape.Of(c.Shape[0], 1, 1)
	line[axis] = n / 2
	c, s = b.Reshape(c, line), b.Reshape(s, line)
	p, q := b.Narrow(w, axis, 0, n/2), b.Un(Flip, b.Narrow(w, axis, n/2, n/2), Ints("axes", axis))
	first := b.Do(Sub, b.Do(Mul, c, p), b.Do(Mul, s, q))
	second := b.Do(Add, b.Do(Mul, s, p), b.Do(Mul, c, q))
	return b.Concat(axis, first, b.Un(Flip, second, Ints("axes", axis)))
}

// cycled rotates all rows or columns except the first by one position.
func cycled(b *Builder, w Desc, axis, n int) Desc {
	if n == 2 {
		return w
	}
	return b.Concat(axis, b.Narrow(w, axis, 0, 1), b.Narrow(w, axis, n-1, 1), b.Narrow(w, axis, 1, n-2))
}

// singular returns the singular value decomposition of w, [batches, m, n] with m >= n. Rotations make the columns orthogonal (Hestenes 1958);
// the lengths of the columns are the singular values.
func singular(b *Builder, w Desc, m, n int) (u, values, v Desc) {
	even := n + n%2
	w = resized(b, w, 2, even)
	if b.Err() != nil {
		return w, w, w
	}
	v = b.Expand(eye(b, w.DType, even), shape.Of(w.Shape[0], even, even))
	for range sweeps(w.DType, even) * (even - 1) {
		p, q := b.Narrow(w, 2, 0, even/2), b.Un(Flip, b.Narrow(w, 2, even/2, even/2), Ints("axes", 2))
		dot := func(x, y Desc) Desc { return b.Reduce(Sum, b.Do(Mul, x, y), false, 1) }
		c, s := rotations(b, dot(p, p), dot(q, q), dot(p, q))
		w = cycled(b, rotated(b, w, c, s, 2, even), 2, even)
		v = cycled(b, rotated(b, v, c, s, 2, even), 2, even)
	}
	w, v = b.Narrow(w, 2, 0, n), block(b, v, 0, n, 0, n)
	length := b.Do(Sqrt, b.Reduce(Sum, b.Do(Mul, w, w), false, 1))
	f := b.All(Sort, []Desc{length}, Int("axis", 1), Flag("descending", true))
	sorted := func(x Desc) Desc {
		return transposed(b, b.With(Gather, []Desc{transposed(b, x), f[1]}, Int("axis", 1), Int("batch", 1)))
	}
	// The columns of q are the normalised columns of w. They are orthonormal even if columns of w are zero.
	q, _ := householder(b, sorted(w), m, n)
	return b.Narrow(q, 2, 0, n), f[0], sorted(v)
}

// signsOf returns -1 for rows whose element of largest magnitude is negative, else 1: [batches, rows, 1].
func signsOf(b *Builder, rows Desc) Desc {
	at := b.Un(ArgMax, b.Do(Abs, rows), Int("axis", 2))
	top := b.With(Gather, []Desc{rows, at}, Int("axis", 2), Int("batch", 2))
	if b.Err() != nil {
		return rows
	}
	sign := b.Do(Where, b.Do(Less, top, b.Like(top, 0)), b.Like(top, -1), b.Like(top, 1))
	return b.Reshape(sign, shape.Of(top.Shape[0], top.Shape[1], 1))
}
