package ref

import (
	"github.com/goburn/burn/core/shape"
)

// each calls f for every index of s in row-major order, with its position. f must not keep or change idx.
func each(s shape.Shape, f func(pos int, idx []int)) {
	idx := make([]int, len(s))
	for pos := range s.Size() {
		f(pos, idx)
		for d := len(s) - 1; d >= 0; d-- {
			if idx[d]++; idx[d] < s[d] {
				break
			}
			idx[d] = 0
		}
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
	if len(out) == 0 {
		return out
	}
	all, n := make([]int, s.Size()), s.Size()/len(out)
	for g := range out {
		out[g] = all[g*n : g*n : (g+1)*n]
	}
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
