package router

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/program/place"
)

// Plan describes where the units of a program run. A unit is nodes that are placed together.
type Plan struct {
	Program string
	Units   []PlannedUnit
}

// PlannedUnit is a unit of a plan.
type PlannedUnit struct {
	Ops       []string
	Member    string        // spec
	Reason    string        // why it is there
	Predicted time.Duration // of one run without transfers; 0 is unknown
	Measured  time.Duration // its share of the last run that was timed, by the predictions; 0 is unknown
	Bytes     int64         // of operands that one run brings there from other members, each counted for the first unit that needs it
}

// String prints the plan as a table with a line for each unit.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %q\n", p.Program)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "unit\tmember\treason\tpredicted\tmeasured\tbytes moved")
	for _, u := range p.Units {
		fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%v\t%d\n", strings.Join(u.Ops, " "), u.Member, u.Reason, u.Predicted, u.Measured, u.Bytes)
	}
	_ = w.Flush() // a strings.Builder takes all
	return b.String()
}

// Plans returns copies of the plans of all programs that are defined, in the order of their definition.
func (r *Router) Plans() []*Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*Plan
	for d := range r.devices {
		d.mu.Lock()
		for _, id := range slices.Sorted(maps.Keys(d.programs)) {
			p := *d.programs[id].layout.plan
			p.Units = slices.Clone(p.Units)
			all = append(all, &p)
		}
		d.mu.Unlock()
	}
	return all
}

// place decides where the units of a program run. It returns them with the program that they are of, which has outputs
// that differ from each other.
func (d *device) place(ctx context.Context, c *program.Compiled) (q *program.Program, plan *Plan, units []*place.Unit, assigned []int, prices []priced, err error) {
	plan = &Plan{Program: c.Program.Name}
	main := d.live(0)
	if d.uniform && !d.router.split {
		plan.Units = []PlannedUnit{{Ops: []string{"all"}, Member: main.spec, Reason: "main member"}}
		return c.Program, plan, nil, nil, nil, nil
	}
	if q, err = place.Distinct(c.Program); err != nil {
		return nil, nil, nil, nil, nil, err
	}
	g := group.NewGraph(q)
	asked := make([]*answer, len(q.Nodes))
	units = place.Units(g, func(k int) []bool {
		n := &q.Nodes[k]
		asked[k] = d.ask(n, g.In(n))
		able := make([]bool, len(d.members))
		for i, m := range d.members {
			able[i] = asked[k].refusals[i] == nil && m.gone() == nil
		}
		return able
	})
	for _, u := range units {
		at := main.index
		if !u.Able[at] {
			at = slices.Index(u.Able, true)
		}
		if at < 0 {
			n := &q.Nodes[u.Nodes[0]]
			return nil, nil, nil, nil, nil, fmt.Errorf("router: program %q: no member that is there has %v: %w", q.Name, n.Op, core.ErrUnsupported)
		}
		assigned = append(assigned, at)
	}
	if d.router.split && len(units) > 0 {
		err = d.apart(func(s *stream) (err error) {
			assigned, prices, err = d.split(ctx, s, q, units)
			return err
		})
		if err != nil {
			return nil, nil, nil, nil, nil, err
		}
		d.fault(d.costs.save(d.router.file))
	}
	for i, u := range units {
		p := PlannedUnit{Member: d.members[assigned[i]].spec, Reason: "main member"}
		if prices != nil {
			p.Predicted = time.Duration(prices[i].time * 1e9)
		}
		switch able := claimants(u); {
		case d.router.split && able == 1:
			p.Reason = "no other member claims it"
		case d.router.split:
			p.Reason = "least time of the whole"
		}
		for _, k := range u.Nodes {
			p.Ops = append(p.Ops, q.Nodes[k].Op.String())
			if !u.Able[main.index] && asked[k].refusals[main.index] != nil {
				p.Reason = fmt.Sprintf("%s lacks %v", main.spec, q.Nodes[k].Op)
				d.members[assigned[i]].fallbacks.Add(1)
				d.mu.Lock()
				d.tell(&q.Nodes[k], asked[k], main, d.members[assigned[i]])
				d.unlock()
			}
		}
		plan.Units = append(plan.Units, p)
	}
	count(plan, q, units, assigned)
	return q, plan, units, assigned, prices, nil
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

// count sets the bytes that a run moves, where its inputs are on the first member.
func count(plan *Plan, q *program.Program, units []*place.Unit, assigned []int) {
	home := map[op.TensorID]int{}
	type copied struct {
		id op.TensorID
		at int
	}
	there := map[copied]bool{}
	for i, u := range units {
		for _, d := range u.In {
			if at := assigned[i]; home[d.ID] != at && !there[copied{d.ID, at}] {
				there[copied{d.ID, at}] = true
				plan.Units[i].Bytes += int64(d.Bytes())
			}
		}
		for _, d := range u.Out {
			home[d.ID] = assigned[i]
		}
	}
}
