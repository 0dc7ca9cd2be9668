package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/plain"
)

// stepSum totals the executions of one step, or of all steps that compute the same ops.
type stepSum struct {
	name         string
	place        string // index among the steps of its program
	shapes       string
	steps, calls int
	total        time.Duration
	flops, bytes int64 // of all calls; 0 if unknown for one of them
}

// sumSteps totals the executions of each step, without whole runs, longest first.
func sumSteps(p *profiled) []stepSum {
	sums := make([]stepSum, len(p.Profile.Steps))
	for _, r := range p.Records {
		st, s := &p.Profile.Steps[r.Step], &sums[r.Step]
		s.calls++
		s.total += r.Duration
		s.flops += st.Flops
		s.bytes += st.Bytes
	}
	var out []stepSum
	for i, s := range sums {
		st := &p.Profile.Steps[i]
		if st.Index == core.WholeRun || s.calls == 0 {
			continue
		}
		s.name, s.shapes, s.steps, s.place = stepName(st), stepShapes(st), 1, "-"
		if st.Program != "" {
			s.place = fmt.Sprint(st.Index)
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b stepSum) int { return cmp.Compare(b.total, a.total) })
	return out
}

// mergeSteps totals the steps that have the same ops, longest first.
func mergeSteps(steps []stepSum) []stepSum {
	at := map[string]int{}
	var out []stepSum
	for _, s := range steps {
		i, ok := at[s.name]
		if !ok {
			at[s.name] = len(out)
			out = append(out, s)
			continue
		}
		m := &out[i]
		if (m.flops == 0) != (s.flops == 0) {
			m.flops, s.flops = 0, 0
		}
		if (m.bytes == 0) != (s.bytes == 0) {
			m.bytes, s.bytes = 0, 0
		}
		m.steps, m.calls, m.total, m.flops, m.bytes = m.steps+s.steps, m.calls+s.calls, m.total+s.total, m.flops+s.flops, m.bytes+s.bytes
	}
	slices.SortStableFunc(out, func(a, b stepSum) int { return cmp.Compare(b.total, a.total) })
	return out
}

// stepName joins the names of a step's ops, with runs of equal names merged.
func stepName(s *core.ProfileStep) string {
	ops := slices.Compact(slices.Clone(s.Ops))
	if len(ops) > 6 {
		ops = append(ops[:5:5], fmt.Sprintf("%d more", len(ops)-5))
	}
	if len(ops) == 0 {
		return "(nameless)"
	}
	return strings.Join(ops, "+")
}

// stepShapes returns the shapes of a step, such as "f32[1,3] f32[3,4] -> f32[1,4]", with long lists cut.
func stepShapes(s *core.ProfileStep) string {
	list := func(ds []op.Desc) string {
		var l []string
		for i, d := range ds {
			if i == 4 && len(ds) > 5 {
				l = append(l, fmt.Sprintf("and %d more", len(ds)-i))
				break
			}
			l = append(l, d.String())
		}
		return strings.Join(l, " ")
	}
	return list(s.In) + " -> " + list(s.Out)
}

// rate formats n per d in billions per second, or returns "-" if it is unknown.
func rate(n int64, d time.Duration) string {
	if n == 0 || d <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", bench.Rate(n, d))
}

func (a *app) printSteps(title string, steps []stepSum, all time.Duration, rows int, single bool) {
	shown := steps
	if rows > 0 && len(steps) > rows {
		shown = steps[:rows]
	}
	w := a.table()
	first, last := "steps", ""
	if single {
		first, last = "step", "\tshapes"
	}
	fmt.Fprintf(w, "\n%s\t%s\tcalls\ttotal\tmean\tshare\tGFLOP/s\tGB/s%s\n", title, first, last)
	for _, s := range shown {
		at := fmt.Sprint(s.steps)
		if single {
			at = s.place
		}
		plain.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%.1f %%\t%s\t%s", s.name, at, s.calls, duration(s.total), duration(s.total/time.Duration(s.calls)),
			100*float64(s.total)/max(1, float64(all)), rate(s.flops, s.total), rate(s.bytes, s.total))
		if single {
			plain.Fprintf(w, "\t%s", s.shapes)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // the errors of this writer are those that stdout returns
	if rest := len(steps) - len(shown); rest > 0 {
		var t time.Duration
		for _, s := range steps[len(shown):] {
			t += s.total
		}
		plain.Fprintf(a.out, "%s more, %s, %.1f %%; --rows 0 shows all\n", count(rest, "row"), duration(t), 100*float64(t)/max(1, float64(all)))
	}
}
