package router

import (
	"fmt"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/claims"
)

// anywhere is the place of streams for which On was not called.
const anywhere = -1

// choose returns the member that a node runs on, and the index of the one that it prefers, by the rule in the package comment. The caller
// holds mu.
func (d *device) choose(n *op.Node, in []op.Desc, ts []*tensor, place int) (m *member, prefers int) {
	if place == anywhere {
		place = d.heaviest(ts, func(t *tensor, m *member) bool { return t.place == m.index }, nil)
	}
	m = d.live(place)
	if d.claims.Has(m.index, n, in) || d.router.strict {
		return m, m.index
	}
	a := d.claims.Ask(n, in)
	to := d.heaviest(ts, func(t *tensor, m *member) bool { return t.on(m) != nil },
		func(m *member) bool { return a.Refusals[m.index] == nil && m.Gone() == nil })
	if to < 0 {
		return m, m.index // the member that returns the error
	}
	d.members[to].fallbacks.Add(1)
	d.reportFallback(n, a, m, d.members[to])
	return d.members[to], m.index
}

// heaviest returns the index of the member that has the most bytes of the operands. has reports whether a member has an operand. may
// reports whether a member is a candidate; nil: all are. heaviest prefers lower indices, and returns -1 if there is no candidate.
func (d *device) heaviest(ts []*tensor, has func(t *tensor, m *member) bool, may func(m *member) bool) int {
	best, most := -1, int64(-1)
	for i, m := range d.members {
		if may != nil && !may(m) {
			continue
		}
		sum := int64(0)
		for _, t := range ts {
			if t != nil && has(t, m) {
				sum += int64(t.desc.Bytes()) + 1 // counts an empty operand too
			}
		}
		if sum > most {
			best, most = i, sum
		}
	}
	return best
}

// live returns the member with that index or, if that member is lost, the first member that is not lost.
func (d *device) live(index int) *member {
	if d.members[index].Gone() == nil {
		return d.members[index]
	}
	for _, m := range d.members {
		if m.Gone() == nil {
			return m
		}
	}
	return d.members[index]
}

// reportFallback reports the first fallback of an op and class of shapes.
func (d *device) reportFallback(n *op.Node, a *claims.Answer, from, to *member) {
	if d.router.onFallback == nil || !d.claims.First(a) {
		return
	}
	name := n.Op.String()
	d.fallbacks = append(d.fallbacks, Fallback{Op: name, Class: a.Class[len(name)+len(" of "):], From: from.Spec, To: to.Spec,
		Reason: fmt.Errorf("%s: %w", from.Spec, a.Refusals[from.index])})
}
