package group

import "github.com/goburn/burn/core/op"

// memory tracks the bytes of computed tensors that are live at each position of the program. It does not count inputs and constants, which
// the caller owns, or the reuse of the memory of operands.
type memory struct {
	live  []int64
	peak  int64                // the peak of the program, run node by node
	inner map[op.TensorID]bool // tensors that are computed and read within one group only
}

func newMemory(d *decider) *memory {
	m := &memory{live: make([]int64, len(d.Nodes)), inner: map[op.TensorID]bool{}}
	for i := range d.Nodes {
		for _, o := range d.Nodes[i].Outputs {
			m.add(m.live, d, o.ID, 1)
		}
	}
	for _, v := range m.live {
		m.peak = max(m.peak, v)
	}
	return m
}

// add adds the bytes of tensor id, times sign, to the positions from where it is computed to where it is read last.
func (m *memory) add(live []int64, d *decider, id op.TensorID, sign int64) {
	k, made := d.Maker(id)
	if !made || m.inner[id] {
		return
	}
	first := d.at[k]
	last := first
	for _, u := range d.Users(id) {
		if u == Outside {
			last = len(live) - 1
			break
		}
		last = max(last, d.at[u])
	}
	for i := first; i <= last; i++ {
		live[i] += sign * int64(d.Desc(id).Bytes())
	}
}

// with returns the live bytes if the nodes of set run as x.
func (m *memory) with(d *decider, x *Group, set map[int]bool) []int64 {
	live := append([]int64(nil), m.live...)
	each := func(sign int64, inner bool) {
		for _, id := range x.Inputs {
			m.add(live, d, id, sign)
		}
		for k := range set {
			for _, o := range d.Nodes[k].Outputs {
				if inner || d.usedBeyond(o.ID, set) {
					m.add(live, d, o.ID, sign)
				}
			}
		}
	}
	each(-1, true)
	was := map[int]int{}
	for k := range set {
		was[k], d.at[k] = d.at[k], x.At
	}
	each(1, false)
	for k, at := range was {
		d.at[k] = at
	}
	return live
}

// holds reports whether running the nodes of set as x does not increase the peak.
func (m *memory) holds(d *decider, x *Group, set map[int]bool) bool {
	for _, v := range m.with(d, x, set) {
		if v > m.peak {
			return false
		}
	}
	return true
}

// settle updates the live bytes for group x. The positions of its nodes must not have been changed yet.
func (m *memory) settle(d *decider, x *Group) {
	set := map[int]bool{}
	for _, k := range x.Nodes() {
		set[k] = true
	}
	m.live = m.with(d, x, set)
	for k := range set {
		for _, o := range d.Nodes[k].Outputs {
			if !d.usedBeyond(o.ID, set) {
				m.inner[o.ID] = true
			}
		}
	}
}
