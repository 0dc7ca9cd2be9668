package ref

import (
	"github.com/goburn/burn/core/shape"
)

// each calls f for every index of s in row-major order, with its position. f must not keep or change idx.
func each(s shape.Shape, f func(pos int, idx []int)) {
	n := s.Size()
	idx := make([]int, len(s))
	for pos := range n {
		rest := pos
		for d := len(s) - 1; d >= 0; d-- {
			idx[d] = rest % s[d]
			rest /= s[d]
		}
		f(pos, idx)
	}
}

// at returns the row-major position of idx in s.
func at(s shape.Shape, idx []int) int {
	p := 0
	for d := range s {
		p = p*s[d] + idx[d]
	}
	return p
}

// stretched returns the position in s of the element at index idx of a shape that s broadcasts to.
func stretched(s shape.Shape, idx []int) int {
	pos := 0
	for d, i := range idx[len(idx)-len(s):] {
		if s[d] == 1 {
			i = 0
		}
		pos = pos*s[d] + i
	}
	return pos
}

// lines lists, for every line of s along axis, the positions of its elements in order.
func lines(s shape.Shape, axis int) [][]int { return groups(s, []int{axis}) }

// groups lists, for every element of s reduced over axes, the positions of the elements that are reduced to it, in row-major order.
func groups(s shape.Shape, axes []int) [][]int {
	kept := s.Clone()
	for _, a := range axes {
		kept[a] = 1
	}
	out := make([][]int, kept.Size())
	each(s, func(pos int, idx []int) {
		g := stretched(kept, idx)
		out[g] = append(out[g], pos)
	})
	return out
}

// from lists the axes axis, axis+1, ..., rank-1.
func from(axis, rank int) []int {
	var axes []int
	for a := axis; a < rank; a++ {
		axes = append(axes, a)
	}
	return axes
}
