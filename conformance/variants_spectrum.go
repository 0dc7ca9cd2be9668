package conformance

import "github.com/goburn/burn/core/op"

// rectangular returns variants with square, tall and wide matrices.
func rectangular(attrs ...op.Attr) []variant {
	return append(squares(attrs...), v("tall", shapes(dims(6, 3)), attrs...), v("wide", shapes(dims(3, 5)), attrs...), v("column", shapes(dims(4, 1)), attrs...), v("row", shapes(dims(1, 4)), attrs...),
		v("wide-batch", shapes(dims(2, 2, 4)), attrs...))
}

func matrixNorms() []variant {
	var vs []variant
	for _, ord := range []string{"fro", "nuc", "2", "-2", "1", "-1", "inf", "-inf"} {
		vs = append(vs, renamed(ord+"-", rectangular(op.Str("ord", ord))[3:])...)
	}
	return vs
}

func init() {
	l := func(name string, a, b []int, attrs ...op.Attr) variant {
		return v(name, shapes(dims(a...), dims(b...)), attrs...)
	}
	register(map[op.Code]plan{
		op.QR:   {variants: append(rectangular(), renamed("complete-", rectangular(op.Flag("complete", true)))...)},
		op.Eigh: {variants: squares()}, op.SVD: {variants: rectangular()}, op.MatrixNorm: {variants: matrixNorms()},
		op.PInv: {variants: append(rectangular(), renamed("rcond-", rectangular(op.Float("rcond", 1e-3))[:2])...)},
		op.LstSq: {variants: []variant{l("tall", []int{5, 3}, []int{5, 2}), l("square", []int{3, 3}, []int{3, 1}), l("wide", []int{2, 4}, []int{2, 3}), l("batch", []int{2, 4, 2}, []int{2, 4, 1}),
			l("broadcast", []int{4, 2}, []int{3, 4, 2}), l("rcond", []int{4, 2}, []int{4, 2}, op.Float("rcond", 1e-3)), l("none", []int{4, 2}, []int{4, 0})}},
	})
}
