package place

import (
	"cmp"
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// outside represents the host, which is at the home member, produces the inputs of a run and uses its outputs.
const outside = -1

// MaxMembers is the greatest number of members of a Problem.
const MaxMembers = 64

// Problem is the search for the assignment of units to members with the least total time. The total is the sum of the time of each unit on
// its member, plus the time of one transfer for each tensor and member that it is copied to. A member needs memory for the constants of all
// its units, plus the operands and results of its largest unit.
type Problem struct {
	// Time is the time of each unit on each member, in seconds. It is infinite if the member does not claim the unit.
	Time [][]float64
	// Link returns the transfer time of a tensor from one member to another, in seconds.
	Link func(from, to int, bytes int64) float64
	// Home is the member that has the inputs of the program and receives its outputs.
	Home int
	// Limit is the bytes of memory of each member; infinite for none.
	Limit []float64

	flows  []flow
	consts []flow  // their bytes count once on each member that has a user
	work   []int64 // by unit: bytes of operands and results
}

// NewProblem returns the problem of a program with these units. The caller sets its exported fields.
func NewProblem(q *program.Program, units []*Unit) *Problem {
	p := &Problem{}
	flows := map[op.TensorID]*flow{}
	var order []op.TensorID
	add := func(d op.Desc, producer int) {
		flows[d.ID] = &flow{producer: producer, bytes: int64(d.Bytes())}
		order = append(order, d.ID)
	}
	consts := map[op.TensorID]int{}
	for _, d := range q.Consts {
		consts[d.ID] = len(p.consts)
		p.consts = append(p.consts, flow{bytes: int64(d.Bytes())})
	}
	for _, d := range q.Inputs {
		add(d, outside)
	}
	for i, u := range units {
		p.work = append(p.work, 0)
		for _, d := range u.In {
			f := flows[d.ID]
			f.users = append(f.users, i)
			p.work[i] += f.bytes
		}
		for _, d := range u.Consts {
			c := &p.consts[consts[d.ID]]
			c.users = append(c.users, i)
		}
		for _, d := range u.Out {
			add(d, i)
			p.work[i] += int64(d.Bytes())
		}
	}
	for _, id := range q.Outputs {
		flows[id].users = append(flows[id].users, outside)
	}
	for _, id := range order {
		if f := flows[id]; len(f.users) > 0 {
			p.flows = append(p.flows, *f)
		}
	}
	return p
}

// flow is a tensor that goes from its producer to its users.
type flow struct {
	producer int
	users    []int
	bytes    int64
}

func (p *Problem) members() int { return len(p.Limit) }

// at returns the member of a unit, or the home member for outside.
func (p *Problem) at(assigned []int, unit int) int {
	if unit == outside {
		return p.Home
	}
	return assigned[unit]
}

// Cost returns the total time, infinite if a limit is exceeded.
func (p *Problem) Cost(assigned []int) float64 {
	if !p.fits(assigned) {
		return math.Inf(1)
	}
	sum := 0.0
	for i, m := range assigned {
		sum += p.Time[i][m]
	}
	var there [MaxMembers]bool
	for _, f := range p.flows {
		from, seen := p.at(assigned, f.producer), there[:p.members()]
		clear(seen)
		seen[from] = true
		for _, u := range f.users {
			if to := p.at(assigned, u); !seen[to] {
				seen[to] = true
				sum += p.Link(from, to, f.bytes)
			}
		}
	}
	return sum
}

// fits reports whether the memory that each member needs is within its limit.
func (p *Problem) fits(assigned []int) bool {
	for m, limit := range p.Limit {
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

// exact is the number of assignments up to which Solve tries all.
const exact = 1 << 20

// Solve returns the best assignment that it finds and its cost. starts are assignments to begin with. The result is optimal for two members
// without limits, and for small programs. Otherwise it is a local optimum: no move of one unit, and no cut between two members, improves
// it. The cost is infinite if no assignment fits.
func (p *Problem) Solve(starts ...[]int) (best []int, least float64) {
	least = math.Inf(1)
	try := func(a []int) bool {
		if c := p.Cost(a); c < least {
			best, least = slices.Clone(a), c
			return true
		}
		return false
	}
	n, k := len(p.Time), p.members()
	for m := range k {
		starts = append(starts, slices.Repeat([]int{m}, n))
	}
	greedy := make([]int, n)
	for i := range greedy {
		for m := range k {
			if p.Time[i][m] < p.Time[i][greedy[i]] {
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

// splitMargin bounds the predicted cost of a split that is preferred to a single member, as a fraction of the cost of that member. If each
// predicted cost is wrong by at most ten percent, a split within the bound is at most 3 % slower than the single member.
const splitMargin = 0.84

// Ways returns assignments, for a Trial to compare, and their predicted costs. They are the best single members, in the order of their
// costs, and the best split, if Solve returns a split. The split comes before a single member only if its predicted gain exceeds the
// uncertainty of costs. All costs are finite. If no assignment fits, Ways returns nil.
func (p *Problem) Ways(starts ...[]int) (ways [][]int, costs []float64) {
	best, least := p.Solve(starts...)
	if math.IsInf(least, 1) {
		return nil, nil
	}
	type way struct {
		assigned []int
		cost     float64
	}
	var all []way
	for m := range p.members() {
		one := slices.Repeat([]int{m}, len(p.Time))
		if c := p.Cost(one); !math.IsInf(c, 1) {
			all = append(all, way{one, c})
		}
	}
	slices.SortStableFunc(all, func(a, b way) int { return cmp.Compare(a.cost, b.cost) })
	all = all[:min(len(all), maxSingle)]
	if !slices.ContainsFunc(all, func(w way) bool { return slices.Equal(w.assigned, best) }) {
		at := 0
		for at < len(all) && least > splitMargin*all[at].cost {
			at++
		}
		all = slices.Insert(all, at, way{best, least})
	}
	for _, w := range all {
		ways, costs = append(ways, w.assigned), append(costs, w.cost)
	}
	return ways, costs
}

// Possible reports whether each of the assignments has a finite cost: each unit is on a member that claims it, and no memory limit is
// exceeded. It returns false if an assignment is for another number of units.
func (p *Problem) Possible(ways ...[]int) bool {
	for _, a := range ways {
		if len(a) != len(p.Time) || math.IsInf(p.Cost(a), 1) {
			return false
		}
	}
	return true
}

// maxSingle bounds the number of single members among the ways.
const maxSingle = 3

// Return returns the time of transferring the outputs to the home member, in seconds.
func (p *Problem) Return(assigned []int) (sum float64) {
	for _, f := range p.flows {
		if from := p.at(assigned, f.producer); from != p.Home && slices.Contains(f.users, outside) {
			sum += p.Link(from, p.Home, f.bytes)
		}
	}
	return sum
}

// free reports whether there are no memory limits.
func (p *Problem) free() bool {
	return !slices.ContainsFunc(p.Limit, func(l float64) bool { return !math.IsInf(l, 1) })
}

// improve reassigns units between each pair of members by minimum cuts, and then moves single units. It repeats this until neither
// decreases the least cost.
func (p *Problem) improve(from []int, try func([]int) bool) {
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
			return // the cut was optimal
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

// enumerate tries all assignments of the units from the i-th on. It stops where the times of the units so far, without transfers, exceed
// the least cost found.
func (p *Problem) enumerate(a []int, i int, spent float64, best *[]int, least *float64) {
	if spent >= *least {
		return
	}
	if i == len(a) {
		if c := p.Cost(a); c < *least {
			*best, *least = slices.Clone(a), c
		}
		return
	}
	for m := range p.members() {
		a[i] = m
		p.enumerate(a, i+1, spent+p.Time[i][m], best, least)
	}
}
