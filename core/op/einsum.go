package op

import (
	"slices"
	"strings"

	"github.com/goburn/burn/core/shape"
)

// einsum is an equation matched with operands. A label is a letter, or -1, -2, ... for the last, the last but one, ...
// dimension that "..." replaces.
type einsum struct {
	terms [][]int // labels per operand, one per dimension
	out   []int
	size  map[int]int
}

const dots = "..."

// parseEinsum matches an equation with the shapes of operands, by constraints C1 to C5 of the row.
func parseEinsum(equation string, in []Desc) (*einsum, error) {
	text := strings.ReplaceAll(equation, " ", "")
	left, right, explicit := strings.Cut(text, "->")
	terms := strings.Split(left, ",")
	for _, t := range append(terms[:len(terms):len(terms)], right) {
		if bad := strings.Trim(strings.Replace(t, dots, "", 1), letters); bad != "" {
			return nil, violation(ErrAttr, "C1", "equation %q has %q in a term, want letters and at most one ...", equation, bad)
		}
	}
	if len(terms) != len(in) {
		return nil, violation(ErrAttr, "C2", "equation %q has %d terms, want %d", equation, len(terms), len(in))
	}
	e := &einsum{size: map[int]int{}}
	covered := 0 // dimensions under ...
	times := map[int]int{}
	for i, t := range terms {
		s := in[i].Shape
		rest := len(s) - len(strings.Replace(t, dots, "", 1))
		if rest < 0 || rest > 0 && !strings.Contains(t, dots) {
			return nil, violation(ErrShape, "C3", "term %q for operand %d, %v", t, i, s)
		}
		labels := labelsOf(t, rest)
		covered = max(covered, rest)
		for d, l := range labels {
			times[l]++
			was, seen := e.size[l]
			switch {
			case !seen || l < 0 && was == 1:
				e.size[l] = s[d]
			case was != s[d] && !(l < 0 && s[d] == 1):
				return nil, violation(ErrShape, "C4", "operand %d has dimension %d where another has %d in %q", i, s[d], was, equation)
			}
		}
		e.terms = append(e.terms, labels)
	}
	if explicit {
		rest := 0
		if strings.Contains(right, dots) {
			rest = covered
		}
		e.out = labelsOf(right, rest)
	} else {
		e.out = labelsOf(dots, covered)
		for _, l := range letters {
			if times[int(l)] == 1 {
				e.out = append(e.out, int(l))
			}
		}
	}
	for i, l := range e.out {
		if _, ok := e.size[l]; !ok || slices.Contains(e.out[:i], l) {
			return nil, violation(ErrAttr, "C5", "output of %q has %q, want letters of the operands, each once", equation, rune(l))
		}
	}
	return e, nil
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// labelsOf returns the labels of a term whose ... replaces rest dimensions.
func labelsOf(term string, rest int) []int {
	var labels []int
	before, after, has := strings.Cut(term, dots)
	for _, l := range before {
		labels = append(labels, int(l))
	}
	if has {
		for d := rest; d > 0; d-- {
			labels = append(labels, -d)
		}
	}
	for _, l := range after {
		labels = append(labels, int(l))
	}
	return labels
}

// shapeOf returns the shape with the sizes of labels.
func (e *einsum) shapeOf(labels []int) shape.Shape {
	s := make(shape.Shape, len(labels))
	for i, l := range labels {
		s[i] = e.size[l]
	}
	return s
}

// carried returns the labels of operand i along which it varies: dimensions of 1 that broadcast are excluded.
func (e *einsum) carried(i int, s shape.Shape) []int {
	var labels []int
	for d, l := range e.terms[i] {
		if !slices.Contains(labels, l) && s[d] == e.size[l] {
			labels = append(labels, l)
		}
	}
	return labels
}

// join describes the product of two operands. Its fields partition their labels.
type join struct {
	batch, inner, left, right []int // batch: labels of both, used later; inner: of both, not used later; left, right: of one only, used later
}

func joinOf(a, b []int, need func(l int) bool) join {
	var j join
	for _, l := range a {
		switch both := slices.Contains(b, l); {
		case both && need(l):
			j.batch = append(j.batch, l)
		case both:
			j.inner = append(j.inner, l)
		case need(l):
			j.left = append(j.left, l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) && need(l) {
			j.right = append(j.right, l)
		}
	}
	return j
}

func (j join) result() []int { return slices.Concat(j.batch, j.left, j.right) }

// needed returns a function that reports whether the output, or an operand other than i and j, has a label.
func (e *einsum) needed(operands [][]int, i, j int) func(l int) bool {
	return func(l int) bool {
		if slices.Contains(e.out, l) {
			return true
		}
		for k, o := range operands {
			if k != i && k != j && slices.Contains(o, l) {
				return true
			}
		}
		return false
	}
}

// next returns the two operands to multiply next: the first pair whose product has at most 8 dimensions. It returns false if there is none.
func (e *einsum) next(operands [][]int) (i, k int, how join, ok bool) {
	for i := range operands {
		for k := i + 1; k < len(operands); k++ {
			how := joinOf(operands[i], operands[k], e.needed(operands, i, k))
			if len(how.result()) <= shape.MaxRank {
				return i, k, how, true
			}
		}
	}
	return 0, 0, join{}, false
}

// afterJoin returns operands with operand i replaced by the product of i and k, and without k.
func afterJoin[T any](operands []T, i, k int, joined T) []T {
	next := slices.Clone(operands)
	next[i] = joined
	return slices.Delete(next, k, k+1)
}

func inferEinsum(in []Desc, a Attrs) ([]Desc, error) {
	e, err := parseEinsum(a.Str("equation"), in)
	if err != nil {
		return nil, err
	}
	var operands [][]int
	for i := range in {
		operands = append(operands, e.carried(i, in[i].Shape))
	}
	for len(operands) > 1 {
		i, k, how, ok := e.next(operands)
		if !ok {
			return nil, violation(ErrShape, "C6", "equation %q joins no two operands into at most %d dimensions", a.Str("equation"), shape.MaxRank)
		}
		operands = afterJoin(operands, i, k, how.result())
	}
	return one(in[0].DType, e.shapeOf(e.out)), nil
}
