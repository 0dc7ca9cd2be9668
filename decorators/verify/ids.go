package verify

import (
	"slices"
	"sort"
)

// ranges is a set of numbers that mostly follow each other: its spans are in order and do not touch.
type ranges []span

type span struct{ first, last uint64 }

// find returns the first span that ends at x or later.
func (r ranges) find(x uint64) int {
	return sort.Search(len(r), func(i int) bool { return r[i].last >= x })
}

func (r ranges) has(x uint64) bool {
	i := r.find(x)
	return i < len(r) && r[i].first <= x
}

// add puts first to last into the set and reports whether any of them was there.
func (r *ranges) add(first, last uint64) (overlap bool) {
	from := r.find(max(first, 1) - 1) // touches below
	to := from
	s := span{first, last}
	for to < len(*r) && (*r)[to].first <= last+1 {
		o := (*r)[to]
		overlap = overlap || o.first <= last && o.last >= first
		s.first, s.last = min(s.first, o.first), max(s.last, o.last)
		to++
	}
	*r = slices.Replace(*r, from, to, s)
	return overlap
}
