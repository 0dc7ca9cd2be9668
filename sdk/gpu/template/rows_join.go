package template

import (
	"github.com/goburn/burn/sdk/gpu/ir"
)

// sums holds the states of a pass in local arrays of a thread: one state for each lane. The states are joined at the end.
type sums struct {
	m     *maker
	p     *Pass
	lanes int
	vars  []ir.Var // one variable for each value of the state
}

func newSums(m *maker, p *Pass, lanes int) *sums {
	s := &sums{m: m, p: p, lanes: lanes}
	zero := p.Zero(m.Builder)
	for i, d := range p.State {
		s.vars = append(s.vars, m.Local(numbered("state", i), d, lanes))
		for k := range lanes {
			m.Set(s.vars[i], m.Int(k), zero[i])
		}
	}
	return s
}

// get returns the state of a lane.
func (s *sums) get(lane int) []ir.Value {
	v := make([]ir.Value, len(s.vars))
	for i, l := range s.vars {
		v[i] = s.m.Get(l, s.m.Int(lane))
	}
	return v
}

// add joins a state to the state of a lane.
func (s *sums) add(lane int, state []ir.Value) {
	for i, v := range s.p.Join(s.m.Builder, s.get(lane), state) {
		s.m.Set(s.vars[i], s.m.Int(lane), v)
	}
}

// total returns the join of all lanes, pairwise.
func (s *sums) total() []ir.Value {
	all := make([][]ir.Value, s.lanes)
	for k := range all {
		all[k] = s.get(k)
	}
	for len(all) > 1 {
		half := (len(all) + 1) / 2
		for k := half; k < len(all); k++ {
			all[k-half] = s.p.Join(s.m.Builder, all[k-half], all[k])
		}
		all = all[:half]
	}
	return all[0]
}

// acrossLanes joins the states of lanes neighbouring threads of a subgroup. lanes is a power of two. Each of these threads has the result.
func acrossLanes(m *maker, p *Pass, state []ir.Value, lanes int) []ir.Value {
	for mask := lanes / 2; mask > 0; mask /= 2 {
		other := make([]ir.Value, len(state))
		for i, v := range state {
			other[i] = m.ShuffleXor(v, mask)
		}
		state = p.Join(m.Builder, state, other)
	}
	return state
}

// exchange is the shared memory through which the subgroups of a block exchange their states.
type exchange struct {
	m    *maker
	p    *Pass
	n    int // subgroups
	mems []ir.Mem
}

func newExchange(m *maker, p *Pass, threads int) *exchange {
	b := &exchange{m: m, p: p, n: threads / m.t.Subgroup}
	for i, d := range p.State {
		b.mems = append(b.mems, m.Shared(numbered("board", i), d, b.n))
	}
	return b
}

// join joins the states of all threads of the block, each of which has the result. It contains barriers. The kernel must execute another
// barrier before the exchange is used again.
func (b *exchange) join(state []ir.Value) []ir.Value {
	m, sub := b.m, b.m.t.Subgroup
	state = acrossLanes(m, b.p, state, sub)
	if sub == 1 {
		b.put(m.Thread(), state)
		m.Barrier()
		return b.halves()
	}
	lane := m.Lane()
	group := m.Div(m.Thread(), m.Int(sub))
	m.If(m.Eq(lane, m.Int(0)), func() { b.put(group, state) })
	m.Barrier()
	if b.n > sub {
		return b.halves()
	}
	return acrossLanes(m, b.p, b.get(m.Rem(lane, m.Int(b.n))), b.n)
}

// put stores a state at a place, and get loads it.
func (b *exchange) put(at ir.Value, state []ir.Value) {
	for i, v := range state {
		b.m.SharedStore(b.mems[i], at, v)
	}
}

func (b *exchange) get(at ir.Value) []ir.Value {
	all := make([]ir.Value, len(b.mems))
	for i := range all {
		all[i] = b.m.SharedLoad(b.mems[i], at)
	}
	return all
}

// halves joins the states in the exchange if there are more states than threads in a subgroup. Each step joins one half of the remaining
// states with the other half, until one state is left.
func (b *exchange) halves() []ir.Value {
	m := b.m
	for half := b.n / 2; half > 0; half /= 2 {
		m.If(m.Lt(m.Thread(), m.Int(half)), func() {
			b.put(m.Thread(), b.p.Join(m.Builder, b.get(m.Thread()), b.get(m.plus(m.Thread(), half))))
		})
		m.Barrier()
	}
	return b.get(m.Int(0))
}
