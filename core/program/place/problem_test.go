package place

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// random returns a problem with a random graph, random times and random links. With limited, members other than the first have limits.
func random(rnd *rand.Rand, units, members int, limited bool) *Problem {
	p := &Problem{Home: rnd.IntN(members), work: make([]int64, units)}
	links := make([][2]float64, members*members)
	for i := range links {
		links[i] = [2]float64{rnd.Float64() * 2, rnd.Float64()}
	}
	p.Link = func(from, to int, bytes int64) float64 {
		if from == to {
			return 0
		}
		l := links[from*members+to]
		return l[0] + l[1]*float64(bytes)
	}
	for m := range members {
		p.Limit = append(p.Limit, math.Inf(1))
		if limited && m > 0 {
			p.Limit[m] = float64(3 + rnd.IntN(12))
		}
	}
	for i := range units {
		row := make([]float64, members)
		for m := range row {
			if row[m] = rnd.Float64() * 10; m > 0 && rnd.IntN(6) == 0 {
				row[m] = math.Inf(1)
			}
		}
		p.Time = append(p.Time, row)
		p.work[i] = rnd.Int64N(4)
		for range rnd.IntN(3) {
			p.flows = append(p.flows, flow{outside, []int{i}, rnd.Int64N(4)})
		}
		out := flow{producer: i, bytes: rnd.Int64N(6)}
		for k := i + 1; k < units; k++ {
			if rnd.IntN(3) == 0 {
				out.users = append(out.users, k)
			}
		}
		if rnd.IntN(4) == 0 || i == units-1 {
			out.users = append(out.users, outside)
		}
		p.flows = append(p.flows, out)
		if rnd.IntN(2) == 0 {
			p.consts = append(p.consts, flow{outside, []int{i, rnd.IntN(units)}, rnd.Int64N(5)})
		}
	}
	return p
}

// brute returns the least cost over all assignments, computed without the code under test.
func brute(p *Problem) float64 {
	n, k := len(p.Time), len(p.Limit)
	least := math.Inf(1)
	at := make([]int, n)
	for {
		sum := 0.0
		for i, m := range at {
			sum += p.Time[i][m]
		}
		for _, f := range p.flows {
			from := p.Home
			if f.producer >= 0 {
				from = at[f.producer]
			}
			to := uint64(0)
			for _, u := range f.users {
				if u < 0 {
					to |= 1 << p.Home
				} else {
					to |= 1 << at[u]
				}
			}
			for m := range k {
				if m != from && to>>m&1 != 0 {
					sum += p.Link(from, m, f.bytes)
				}
			}
		}
		for m := range k {
			held, work := int64(0), int64(0)
			for _, c := range p.consts {
				if at[c.users[0]] == m || at[c.users[1]] == m {
					held += c.bytes
				}
			}
			for i := range at {
				if at[i] == m && p.work[i] > work {
					work = p.work[i]
				}
			}
			if float64(held+work) > p.Limit[m] {
				sum = math.Inf(1)
			}
		}
		least = min(least, sum)
		i := 0
		for ; i < n; i++ {
			if at[i]++; at[i] < k {
				break
			}
			at[i] = 0
		}
		if i == n {
			return least
		}
	}
}

// Solve returns an assignment with the least cost of all assignments.
func TestSolveEqualsBruteForce(t *testing.T) {
	for _, c := range []struct {
		members, units, graphs int
		limited                bool
	}{{2, 12, 200, false}, {2, 10, 100, true}, {3, 8, 180, false}, {3, 12, 20, false}, {3, 7, 100, true}, {4, 6, 40, false}} {
		for g := range c.graphs {
			rnd := rand.New(rand.NewPCG(uint64(c.members*100+c.units), uint64(g)))
			p := random(rnd, 1+rnd.IntN(c.units), c.members, c.limited)
			got, cost := p.Solve()
			want := brute(p)
			if math.IsInf(want, 1) {
				require.True(t, math.IsInf(cost, 1))
				continue
			}
			require.InDelta(t, want, cost, 1e-9, "%+v, graph %d", c, g)
			require.InDelta(t, want, p.Cost(got), 1e-9)
		}
	}
}

// Cuts alone, without the enumeration of all assignments, are optimal for two members. Solve also assigns a graph of 400 units to three
// members.
func TestCutIsExact(t *testing.T) {
	for g := range 200 {
		rnd := rand.New(rand.NewPCG(5, uint64(g)))
		p := random(rnd, 1+rnd.IntN(12), 2, false)
		require.InDelta(t, brute(p), p.Cost(p.cut(make([]int, len(p.Time)), 0, 1)), 1e-9, "graph %d", g)
	}
	rnd := rand.New(rand.NewPCG(6, 6))
	p := random(rnd, 400, 3, false)
	_, cost := p.Solve()
	require.False(t, math.IsInf(cost, 1))
}
