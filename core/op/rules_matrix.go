package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var matrixRules = map[Code]Decomposition{
	Tril: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Do(Where, b.Do(LessEqual, columnMinusRow(b, x[0]), offsetOf(b, a)), x[0], b.Like(x[0], 0))
	}),
	Triu: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Do(Where, b.Do(LessEqual, offsetOf(b, a), columnMinusRow(b, x[0])), x[0], b.Like(x[0], 0))
	}),
	Diag: elementwise(func(b *Builder, x []Desc, a Attrs) Desc {
		s, k := x[0].Shape, a.Int("offset")
		last := len(s) - 1
		size := s[last] + max(k, -k)
		v := resized(b, x[0], last, size)
		line := append(s[:last:last], size, 1)
		if k < 0 {
			line = append(s[:last:last], 1, size)
		}
		square := DescOf(x[0].DType, size, size)
		return b.Do(Where, b.Do(Equal, columnMinusRow(b, square), offsetOf(b, a)), b.Reshape(v, line), b.Like(x[0], 0))
	}),
	Diagonal: elementwise(func(b *Builder, x []Desc, a Attrs) Desc { return diagonalBy(b, x[0], a.Int("offset")) }),
	Trace: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		return b.Reduce(Sum, diagonalBy(b, x[0], a.Int("offset")), false, len(x[0].Shape)-2)
	}),
	Outer: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		p, q := x[0].Shape, x[1].Shape
		return b.Do(Mul, b.Reshape(x[0], append(p[:len(p):len(p)], 1)), b.Reshape(x[1], slices.Insert(q.Clone(), len(q)-1, 1)))
	}),
	Kron: elementwise(func(b *Builder, x []Desc, _ Attrs) Desc {
		batch, err := inferBatches("C2", x, 2)
		if err != nil {
			b.Fail(err)
			return Desc{}
		}
		flat := func(v Desc) (Desc, int, int) { // as [batch, m, n]
			m, n := v.Shape[len(v.Shape)-2], v.Shape[len(v.Shape)-1]
			return b.Reshape(b.Expand(v, append(batch[:len(batch):len(batch)], m, n)), shape.Of(batch.Size(), m, n)), m, n
		}
		p, m, n := flat(x[0])
		q, k, l := flat(x[1])
		y := b.Do(Mul, b.Reshape(p, shape.Of(batch.Size(), m, 1, n, 1)), b.Reshape(q, shape.Of(batch.Size(), 1, k, 1, l)))
		return b.Reshape(y, append(batch[:len(batch):len(batch)], m*k, n*l))
	}),
	Cross: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		s, err := broadcast("C1", x...)
		if err != nil {
			b.Fail(err)
			return Desc{}
		}
		axis := a.Int("axis")
		rolled := func(v Desc, by int) Desc {
			v = b.Expand(v, s)
			return b.Concat(axis, b.Narrow(v, axis, by, 3-by), b.Narrow(v, axis, 0, by))
		}
		return b.Do(Sub, b.Do(Mul, rolled(x[0], 1), rolled(x[1], 2)), b.Do(Mul, rolled(x[0], 2), rolled(x[1], 1)))
	}),
}

// columnMinusRow returns the index of the column minus the index of the row (i64) for the elements of x's matrices.
func columnMinusRow(b *Builder, x Desc) Desc {
	if b.Err() != nil {
		return x
	}
	m, n := x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1]
	row := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", m, 1), Int("axis", 0))[0]
	col := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", 1, n), Int("axis", 1))[0]
	return b.Do(Sub, col, row)
}

func offsetOf(b *Builder, a Attrs) Desc { return b.FullInt(dtype.I64, int64(a.Int("offset")), nil) }

// eye returns the n by n identity.
func eye(b *Builder, d dtype.DType, n int) Desc {
	return b.Cast(b.Do(Equal, columnMinusRow(b, DescOf(d, n, n)), b.FullInt(dtype.I64, 0, nil)), d)
}

// diagonalBy returns the diagonal at an offset as the last dimension.
func diagonalBy(b *Builder, x Desc, offset int) Desc {
	if b.Err() != nil {
		return x
	}
	s := x.Shape
	n := len(s) - 2
	row, col, length := diagonalAt(s[n], s[n+1], offset)
	if length == 0 {
		return b.All(Full, nil, ScalarInt("value", 0), Type("dtype", x.DType), Dims("shape", append(s[:n:n], 0)))[0]
	}
	return diagonalOf(b, b.Narrow(b.Narrow(x, n, row, length), n+1, col, length), n, n+1)
}

// batched returns x as [batches, rows, columns].
func batched(b *Builder, x Desc) Desc {
	if b.Err() != nil {
		return x
	}
	n := len(x.Shape) - 2
	return b.Reshape(x, shape.Of(shape.Shape(x.Shape[:n]).Size(), x.Shape[n], x.Shape[n+1]))
}

func transposed(b *Builder, x Desc) Desc {
	axes := make([]int, len(x.Shape))
	for i := range axes {
		axes[i] = i
	}
	if n := len(axes); n > 1 {
		axes[n-1], axes[n-2] = n-2, n-1
	}
	return b.Permute(x, axes...)
}

// block returns rows and columns of [batches, rows, columns].
func block(b *Builder, x Desc, row, rows, col, cols int) Desc {
	return b.Narrow(b.Narrow(x, 1, row, rows), 2, col, cols)
}
