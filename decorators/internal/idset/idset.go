// Package idset implements a set of numbers that are mostly consecutive, such as ids from a counter. It stores intervals, so that memory
// grows with the number of gaps. decorators/verify uses it for ids that were allocated or freed. It must not know what the numbers mean.
package idset

import (
	"slices"
	"sort"
)

// Set is a set of numbers. The zero Set is empty. Its spans are in order and do not touch. It is not safe for concurrent use.
type Set []span

type span struct{ first, last uint64 }

// find returns the first span that ends at x or later.
func (r Set) find(x uint64) int {
	return sort.Search(len(r), func(i int) bool { return r[i].last >= x })
}

// Has reports whether x is in the set.
func (r Set) Has(x uint64) bool {
	i := r.find(x)
	return i < len(r) && r[i].first <= x
}

// Add adds first to last, inclusive, to the set and reports whether it contained any of them.
func (r *Set) Add(first, last uint64) (overlap bool) {
	from := r.find(max(first, 1) - 1) // the interval ends just below
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
