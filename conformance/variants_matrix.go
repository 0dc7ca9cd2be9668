package conformance

import "github.com/goburn/burn/core/op"

func offset(k int) op.Attr { return op.Int("offset", k) }

// triangles returns variants with several diagonals of a matrix, and with batches.
func triangles() []variant {
	var vs []variant
	for _, k := range []int{0, 1, -1, 3, -2, 9, -9} {
		name := "offset-" + number(max(k, -k))
		if k < 0 {
			name += "-below"
		}
		vs = append(vs, v(name, shapes(dims(3, 5)), offset(k)))
	}
	return append(vs, v("batch", shapes(dims(2, 4, 3))), v("empty", shapes(dims(0, 3)), offset(1)), v("no-batch", shapes(dims(0, 2, 2))), v("square", shapes(dims(4, 4))))
}

// squares returns variants with square matrices in several sizes and batches.
func squares(attrs ...op.Attr) []variant {
	l := func(name string, x ...int) variant { return v(name, shapes(dims(x...)), attrs...) }
	return []variant{l("matrix", 4, 4), l("one", 1, 1), l("two", 2, 2), l("batch", 2, 3, 3), l("batches", 2, 1, 5, 5), l("no-batch", 0, 3, 3), l("seven", 7, 7)}
}

func renamed(prefix string, vs []variant) []variant {
	for i := range vs {
		vs[i].name = prefix + vs[i].name
	}
	return vs
}

func systems(attrs ...op.Attr) []variant {
	l := func(name string, a, b []int) variant { return v(name, shapes(dims(a...), dims(b...)), attrs...) }
	return []variant{l("matrix", []int{4, 4}, []int{4, 3}), l("column", []int{5, 5}, []int{5, 1}), l("one", []int{1, 1}, []int{1, 2}), l("batch", []int{2, 3, 3}, []int{2, 3, 2}),
		l("broadcast-a", []int{3, 3}, []int{2, 3, 2}), l("broadcast-b", []int{2, 1, 3, 3}, []int{4, 3, 2}), l("none", []int{3, 3}, []int{3, 0}), l("no-batch", []int{0, 3, 3}, []int{3, 2})}
}

var matrixPlans = map[op.Code]plan{
	op.Tril: {special: extreme, variants: triangles()}, op.Triu: {special: extreme, variants: triangles()}, op.Diagonal: {special: extreme, variants: triangles()}, op.Trace: {variants: triangles()},
	op.Diag:  {special: extreme, variants: []variant{v("main", shapes(dims(3, 4))), v("line", shapes(dims(5))), v("above", shapes(dims(2, 3)), offset(2)), v("below", shapes(dims(2, 3)), offset(-1)), v("none", shapes(dims(0)), offset(2)), v("empty", shapes(dims(0, 3)))}},
	op.Outer: {special: extreme, variants: []variant{v("matrix", shapes(dims(2, 3), dims(2, 4))), v("line", shapes(dims(3), dims(4))), v("broadcast", shapes(dims(3), dims(2, 4))), v("empty", shapes(dims(0), dims(3)))}},
	op.Kron:  {special: extreme, variants: []variant{v("matrix", shapes(dims(2, 3), dims(3, 2))), v("batch", shapes(dims(2, 1, 2, 2), dims(3, 1, 3))), v("scalar", shapes(dims(1, 1), dims(2, 3))), v("empty", shapes(dims(0, 2), dims(2, 2)))}},
	op.Cross: {variants: []variant{v("last", shapes(dims(4, 3), dims(4, 3)), op.Int("axis", 1)), v("front", shapes(dims(3, 5), dims(3, 5)), op.Int("axis", 0)), v("broadcast", shapes(dims(2, 1, 3), dims(4, 3)), op.Int("axis", 2)),
		v("stretched", shapes(dims(2, 1), dims(2, 3)), op.Int("axis", 1)), v("empty", shapes(dims(0, 3), dims(3)), op.Int("axis", 1))}},
	op.Cholesky:        {variants: append(squares(), renamed("upper-", squares(op.Flag("upper", true)))...)},
	op.TriangularSolve: {variants: triangularVariants()},
	op.LU:              {variants: append(squares(), v("tall", shapes(dims(6, 3))), v("wide", shapes(dims(3, 5))), v("column", shapes(dims(4, 1))), v("row", shapes(dims(1, 4))))},
	op.Det:             {variants: squares()}, op.SlogDet: {variants: squares()}, op.Inverse: {variants: squares()}, op.Solve: {variants: systems()},
	op.MatrixPower: {variants: append(append(renamed("cube-", squares(op.Int("n", 3))), renamed("none-", squares(op.Int("n", 0)))...),
		append(renamed("inverse-", squares(op.Int("n", -2))), renamed("first-", squares(op.Int("n", 1)))...)...)},
}

func triangularVariants() []variant {
	vs := systems()
	for _, x := range []struct {
		name  string
		attrs []op.Attr
	}{
		{"upper-", set(op.Flag("upper", true))}, {"transpose-", set(op.Flag("transpose", true))}, {"unit-", set(op.Flag("unit", true))},
		{"upper-transpose-unit-", set(op.Flag("upper", true), op.Flag("transpose", true), op.Flag("unit", true))},
	} {
		vs = append(vs, renamed(x.name, systems(x.attrs...)[:4])...)
	}
	return vs
}

func init() { register(matrixPlans) }
