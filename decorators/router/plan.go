package router

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/program/place"
	"github.com/goburn/burn/decorators/internal/claims"
)

// Plan describes where the units of a program run.
type Plan = place.Plan

// Plans returns copies of the plans of all programs that are defined, in the order of their definition.
func (r *Router) Plans() []*Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*Plan
	for d := range r.devices {
		d.mu.Lock()
		for _, id := range slices.Sorted(maps.Keys(d.programs)) {
			def := d.programs[id]
			p := *def.layout.plan
			p.Units = slices.Clone(p.Units)
			if x := def.placing; x != nil && x.trial != nil && len(x.ways) > 1 {
				p.Tried = d.tried(x)
			}
			all = append(all, &p)
		}
		d.mu.Unlock()
	}
	return all
}

// placing is a program with the possible placements of its units. It is immutable, except the trial of its decision.
type placing struct {
	program *program.Program // its outputs are distinct tensors
	units   []*place.Unit    // nil: the whole program is for the main member
	asked   []*claims.Answer // by node
	*decision

	// With costs, else nil.
	key   string      // shared by programs that are placed alike
	keys  []string    // of the units
	times [][]float64 // of the units on the members
	back  []float64   // by placement: the time in which outputs return to the main member
}

// place decides where the units of a program run.
func (d *device) place(ctx context.Context, c *program.Compiled) (*placing, error) {
	main := d.live(0)
	if d.claims.Uniform() && !d.router.split {
		return &placing{program: c.Program, decision: &decision{ways: [][]int{nil}}}, nil
	}
	q, err := place.Distinct(c.Program)
	if err != nil {
		return nil, err
	}
	x := &placing{program: q, asked: make([]*claims.Answer, len(q.Nodes))}
	g := group.NewGraph(q)
	x.units = place.Units(g, func(k int) []bool {
		n := &q.Nodes[k]
		x.asked[k] = d.claims.Ask(n, g.In(n))
		able := make([]bool, len(d.members))
		for i, m := range d.members {
			able[i] = x.asked[k].Refusals[i] == nil && m.Gone() == nil
		}
		return able
	})
	var assigned []int
	for _, u := range x.units {
		at := main.index
		if !u.Able[at] {
			at = slices.Index(u.Able, true)
		}
		if at < 0 {
			n := &q.Nodes[u.Nodes[0]]
			return nil, fmt.Errorf("router: program %q: no member that is there has %v: %w", q.Name, n.Op, core.ErrUnsupported)
		}
		assigned = append(assigned, at)
	}
	x.decision = &decision{ways: [][]int{assigned}}
	if d.router.split && len(x.units) > 0 {
		if err := d.onInternal(func(s *stream) error { return d.split(ctx, s, x) }); err != nil {
			return nil, err
		}
		d.fault(d.costs.Save(d.router.file))
	}
	d.fallBack(x, main)
	return x, nil
}

// lacks reports whether member m does not claim node k of unit u.
func (x *placing) lacks(u *place.Unit, k int, m *member) bool {
	return !u.Able[m.index] && x.asked[k].Refusals[m.index] != nil
}

// fallBack counts and reports the nodes that do not run on the main member because it does not claim them.
func (d *device) fallBack(x *placing, main *member) {
	d.mu.Lock()
	defer d.unlock()
	for i, u := range x.units {
		to := d.members[x.ways[0][i]]
		for _, k := range u.Nodes {
			if x.lacks(u, k, main) {
				to.fallbacks.Add(1)
				d.reportFallback(&x.program.Nodes[k], x.asked[k], main, to)
			}
		}
	}
}

// plan describes one placement.
func (d *device) plan(x *placing, way int) *Plan {
	plan, main := &Plan{Program: x.program.Name}, d.live(0)
	if len(x.units) == 0 {
		plan.Units = []place.PlannedUnit{{Ops: []string{"all"}, Member: main.Spec, Reason: "main member"}}
		return plan
	}
	prices := x.prices(way)
	for i, u := range x.units {
		p := place.PlannedUnit{Member: d.members[x.ways[way][i]].Spec, Reason: "main member"}
		if prices != nil {
			p.Predicted, p.Reason = span(prices[i].time), "least time of the whole"
			if claimants(u) == 1 {
				p.Reason = "no other member claims it"
			}
		}
		for _, k := range u.Nodes {
			p.Ops = append(p.Ops, x.program.Nodes[k].Op.String())
			if x.lacks(u, k, main) {
				p.Reason = fmt.Sprintf("%s lacks %v", main.Spec, x.program.Nodes[k].Op)
			}
		}
		plan.Units = append(plan.Units, p)
	}
	for i, bytes := range place.Moved(x.units, x.ways[way]) {
		plan.Units[i].Bytes = bytes
	}
	return plan
}

// claimants returns the number of members that claim a unit.
func claimants(u *place.Unit) (n int) {
	for _, able := range u.Able {
		if able {
			n++
		}
	}
	return n
}

// span converts seconds to a Duration. Values beyond its range become the longest Duration.
func span(seconds float64) time.Duration {
	if seconds > math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(seconds * 1e9)
}

// tried describes the ways of a trial. The caller holds mu.
func (d *device) tried(x *placing) (all []place.Tried) {
	for w, a := range x.ways {
		seconds, runs := x.trial.Time(w)
		t := place.Tried{Time: span(seconds), Predicted: span(x.trial.Predicted(w)), Runs: runs, Chosen: x.trial.Done() && x.trial.Next() == w}
		for i, m := range d.members {
			if slices.Contains(a, i) {
				t.Members = append(t.Members, m.Spec)
			}
		}
		all = append(all, t)
	}
	return all
}
