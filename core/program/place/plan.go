package place

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan describes where the units of a program run. A unit is a set of nodes that are placed together.
type Plan struct {
	Program string
	Units   []PlannedUnit
	Tried   []Tried // the ways that the first runs compare; empty if the predicted costs decided alone
}

// Tried is one of the ways to place a program that its first runs compare.
type Tried struct {
	Members   []string      // specs of the members that have units
	Predicted time.Duration // of a run with its transfers
	Time      time.Duration // of a run: measured, or Predicted if Runs is 0
	Runs      int           // number of timed runs
	Chosen    bool          // all later runs use this way
}

// PlannedUnit is a unit of a plan.
type PlannedUnit struct {
	Ops       []string
	Member    string        // spec
	Reason    string        // why the unit is on the member
	Predicted time.Duration // of one run without transfers; 0 is unknown
	Measured  time.Duration // share of the time of the last timed run, in proportion to the predictions; 0 is unknown
	Bytes     int64         // of operands that one run transfers from other members, each counted for the first unit that needs it
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
	_ = w.Flush() // a strings.Builder never fails
	for _, t := range p.Tried {
		how := "predicted"
		if t.Runs > 0 {
			how = fmt.Sprintf("by %d runs, %v predicted", t.Runs, t.Predicted)
		}
		if t.Chosen {
			how += ", chosen"
		}
		fmt.Fprintf(&b, "on %s: %v %s\n", strings.Join(t.Members, " and "), t.Time, how)
	}
	return b.String()
}
