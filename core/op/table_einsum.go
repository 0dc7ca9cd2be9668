package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
)

var einsumRows = []entry{
	{Einsum, Row{Name: "einsum", Class: Composite, Section: "contraction", Operands: []Operand{variadic(in("x", dtype.Numbers))}, Results: result,
		Doc: "Sum of products by an equation like \"bij,bjk->bik\": a term of letters per operand, one letter per dimension; equal letters " +
			"have equal indices (within a term: the diagonal), letters that the output lacks are summed over. \"...\" stands for the dimensions " +
			"that have no letter, which broadcast and are summed over where the output has no \"...\". Without \"->\" the output is \"...\" and then the letters that " +
			"appear once, in the order of ASCII. Spaces are ignored. The first pair of operands whose product has at most 8 dimensions is contracted " +
			"first, then the first such pair of what is left.",
		Attrs: []AttrSpec{required("equation", KindString, "terms, joined by commas, and -> output")},
		Constraints: []Constraint{{"C1", "a term is letters and at most one ..."}, {"C2", "there are as many terms as operands"},
			{"C3", "a term has a letter per dimension, or no more letters than that and ..."},
			{"C4", "a letter has one length everywhere; dimensions under ... broadcast"},
			{"C5", "letters of the output are distinct and appear in an operand"},
			{"C6", "at each step two operands can meet in a result of at most 8 dimensions"}},
		Tolerance: perTerm(2), Infer: inferEinsum}},
}

var einsumRules = map[Code]Decomposition{
	Einsum: wideOne(func(b *Builder, x []Desc, a Attrs) Desc {
		e, err := parseEinsum(a.Str("equation"), x)
		if err != nil {
			b.Fail(err)
			return Desc{}
		}
		labels := make([][]int, len(x))
		operands := make([]Desc, len(x))
		for i := range x {
			operands[i], labels[i] = e.plain(b, i, x[i])
		}
		for len(operands) > 1 {
			i, k, how, ok := e.next(labels)
			if !ok {
				b.Fail(violation(ErrShape, "C6", "equation %q", a.Str("equation")))
				return Desc{}
			}
			y := e.meet(b, operands[i], operands[k], labels[i], labels[k], how)
			operands, labels = afterJoin(operands, i, k, y), afterJoin(labels, i, k, how.result())
		}
		y, have := e.reduce(b, operands[0], labels[0], e.out)
		return b.Permute(y, order(have, e.out)...)
	}),
}

// plain returns operand i with one dimension for each label along which it varies, and these labels.
func (e *einsum) plain(b *Builder, i int, x Desc) (Desc, []int) {
	labels := slices.Clone(e.terms[i])
	for p := 0; p < len(labels) && b.Err() == nil; p++ {
		for q := p + 1; q < len(labels); q++ {
			if labels[q] == labels[p] {
				x = diagonalOf(b, x, p, q)
				labels = slices.Delete(labels, q, q+1)
				q--
			}
		}
	}
	var have []int
	for d, l := range labels {
		if d < len(x.Shape) && x.Shape[d] == e.size[l] {
			have = append(have, l)
		}
	}
	return b.Reshape(x, e.shapeOf(have)), have
}

// diagonalOf replaces axes p < q of x, of equal length, by axis p with the elements whose indices along both are equal.
func diagonalOf(b *Builder, x Desc, p, q int) Desc {
	var axes []int
	for d := range x.Shape {
		if d != p && d != q {
			axes = append(axes, d)
		}
	}
	n, rank := x.Shape[p], len(x.Shape)
	y := b.Permute(x, append(axes[:rank-2:rank-2], p, q)...)
	s := append(y.Shape[:rank-2:rank-2], n*n)
	y = b.Reshape(y, s)
	starts, steps := make([]int, len(s)), make([]int, len(s))
	for d := range steps {
		steps[d] = 1
	}
	steps[len(s)-1] = n + 1
	size := append(s[:len(s)-1:len(s)-1], n)
	y = b.Un(Slice, y, Ints("start", starts...), Dims("size", size), Ints("step", steps...))
	have := append(axes[:rank-2:rank-2], p)
	want := slices.Clone(have)
	slices.Sort(want)
	return b.Permute(y, order(have, want)...)
}

// order returns the index in have of each label of want: the axes by which Permute arranges dimensions have as want.
func order(have, want []int) []int {
	axes := make([]int, len(want))
	for i, l := range want {
		axes[i] = max(0, slices.Index(have, l))
	}
	return axes
}

// reduce sums x over the labels that are not in keep.
func (e *einsum) reduce(b *Builder, x Desc, labels, keep []int) (Desc, []int) {
	var axes, rest []int
	for d, l := range labels {
		if slices.Contains(keep, l) {
			rest = append(rest, l)
		} else {
			axes = append(axes, d)
		}
	}
	if len(axes) > 0 {
		x = b.Reduce(Sum, x, false, axes...)
	}
	return x, rest
}

// meet returns the product of x and y, whose labels are xl and yl, summed over the labels that how.result() does not contain.
func (e *einsum) meet(b *Builder, x, y Desc, xl, yl []int, how join) Desc {
	arrange := func(v Desc, labels []int, groups ...[]int) Desc {
		var want, flat []int
		for _, g := range groups {
			want, flat = append(want, g...), append(flat, e.shapeOf(g).Size())
		}
		v, labels = e.reduce(b, v, labels, want)
		return b.Reshape(b.Permute(v, order(labels, want)...), flat)
	}
	var z Desc
	if len(how.inner) == 0 {
		z = b.Do(Mul, arrange(x, xl, how.batch, how.left, nil), arrange(y, yl, how.batch, nil, how.right))
	} else {
		z = b.Do(MatMul, arrange(x, xl, how.batch, how.left, how.inner), arrange(y, yl, how.batch, how.inner, how.right))
	}
	return b.Reshape(z, e.shapeOf(how.result()))
}
