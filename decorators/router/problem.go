package router

import (
	"math"
	"slices"
)

// outside is the maker of what a run is given, and the user of what it returns: the host, at the home member.
const outside = -1

// problem is the search for the member of each unit with the least sum of times: those of the units on their members, and
// of transfers, one for each tensor and member that it is brought to.
type problem struct {
	time  [][]float64 // by unit and member, in seconds; infinite where a member does not claim the unit
	flows []flow
	link  func(from, to int, bytes int64) float64
	home  int // the member of what is outside

	consts []flow    // constants: what they weigh, once on each member that has a user
	work   []int64   // by unit: bytes of operands and results
	limit  []float64 // by member: bytes; infinite for none
}

// flow is a tensor that goes from its maker to its users.
type flow struct {
	maker int
	users []int
	bytes int64
}

func (p *problem) members() int { return len(p.limit) }

// at is the member of a unit, or of what is outside.
func (p *problem) at(assigned []int, unit int) int {
	if unit == outside {
		return p.home
	}
	return assigned[unit]
}

// cost is the sum of times, infinite where a limit is exceeded.
func (p *problem) cost(assigned []int) float64 {
	if !p.fits(assigned) {
		return math.Inf(1)
	}
	sum := 0.0
	for i, m := range assigned {
		sum += p.time[i][m]
	}
	var there [mostMembers]bool
	for _, f := range p.flows {
		from, seen := p.at(assigned, f.maker), there[:p.members()]
		clear(seen)
		seen[from] = true
		for _, u := range f.users {
			if to := p.at(assigned, u); !seen[to] {
				seen[to] = true
				sum += p.link(from, to, f.bytes)
			}
		}
	}
	return sum
}

// fits reports whether the constants on each member and the largest unit there are within its limit.
func (p *problem) fits(assigned []int) bool {
	for m, limit := range p.limit {
		if math.IsInf(limit, 1) {
			continue
		}
		largest, held := int64(0), int64(0)
		for i, at := range assigned {
			if at == m {
				largest = max(largest, p.work[i])
			}
		}
		for _, c := range p.consts {
			if slices.ContainsFunc(c.users, func(u int) bool { return p.at(assigned, u) == m }) {
				held += c.bytes
			}
		}
		if float64(held+largest) > limit {
			return false
		}
	}
	return true
}

// exact bounds the number of ways to place units up to which all are looked at.
const exact = 1 << 20

// solve returns the best way that it finds and its cost, starting from ways that are given. It is the best there is for two
// members without limits, and where the ways are few; else no change of one unit, and no exchange between two members,
// makes it better. The cost is infinite where nothing fits.
func (p *problem) solve(starts ...[]int) (best []int, least float64) {
	least = math.Inf(1)
	try := func(a []int) bool {
		if c := p.cost(a); c < least {
			best, least = slices.Clone(a), c
			return true
		}
		return false
	}
	n, k := len(p.time), p.members()
	for m := range k {
		starts = append(starts, slices.Repeat([]int{m}, n))
	}
	greedy := make([]int, n)
	for i := range greedy {
		for m := range k {
			if p.time[i][m] < p.time[i][greedy[i]] {
				greedy[i] = m
			}
		}
	}
	for _, s := range append(starts, greedy) {
		if s != nil {
			try(s)
			p.improve(s, try)
		}
	}
	if best != nil {
		p.improve(best, try)
	}
	if (k > 2 || !p.free()) && math.Pow(float64(k), float64(n)) <= exact {
		p.enumerate(make([]int, n), 0, 0, &best, &least)
	}
	return best, least
}

// free reports whether there are no limits.
func (p *problem) free() bool {
	return !slices.ContainsFunc(p.limit, func(l float64) bool { return !math.IsInf(l, 1) })
}

// improve exchanges units between each two members by least cuts, and then moves single units, until nothing helps.
func (p *problem) improve(from []int, try func([]int) bool) {
	a := slices.Clone(from)
	for better := true; better; {
		better = false
		for x := range p.members() {
			for y := range x {
				if b := p.cut(a, y, x); try(b) {
					a, better = b, true
				}
			}
		}
		if p.members() == 2 && p.free() {
			return // the cut was the best there is
		}
		for i := range a {
			for m, old := 0, a[i]; m < p.members(); m++ {
				if a[i] = m; try(a) {
					old, better = m, true
				}
				a[i] = old
			}
		}
	}
}

// enumerate looks at all ways to place the units from the i-th on, while units alone cost less than the best way.
func (p *problem) enumerate(a []int, i int, spent float64, best *[]int, least *float64) {
	if spent >= *least {
		return
	}
	if i == len(a) {
		if c := p.cost(a); c < *least {
			*best, *least = slices.Clone(a), c
		}
		return
	}
	for m := range p.members() {
		a[i] = m
		p.enumerate(a, i+1, spent+p.time[i][m], best, least)
	}
}
