package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goburn/burn/internal/bench"
)

// writeReport writes the generated part of docs/BENCHMARKS.md.
func writeReport(w io.Writer, r *Result) {
	fmt.Fprintf(w, "Of %s on %s (%d processors), %s", r.Time.Format("2 January 2006"), r.CPU, r.CPUs, r.Platform)
	if r.Torch != "" {
		fmt.Fprintf(w, ", PyTorch %s", r.Torch)
	}
	if r.ORT != "" {
		fmt.Fprintf(w, ", ONNX Runtime %s", r.ORT)
	}
	fmt.Fprint(w, ".")
	if r.Load != "" {
		fmt.Fprintf(w, " Load of the machine before the run: %s.", r.Load)
	}
	fmt.Fprintln(w)
	writeTargets(w, r)
	writeLimits(w, r)
	writeOps(w, r)
	writeModels(w, r)
	writeCold(w, r)
	if len(r.Failed) > 0 {
		fmt.Fprint(w, "\n### Failures\n\n")
		for _, f := range r.Failed {
			fmt.Fprintf(w, "- %s, %s: %s\n", f.Name, threadsText(f.Threads), strings.ReplaceAll(f.Error, "\n", ": "))
		}
	}
}

// table writes rows under a head as a Markdown table; the first columns (left is their number) are flush left, the other columns flush
// right.
func table(w io.Writer, head []string, left int, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintf(t, "| %s\t|\n", strings.Join(head, "\t| "))
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---:"
		if i < left {
			rule[i] = "---"
		}
	}
	fmt.Fprintf(t, "|%s\t|\n", strings.Join(rule, "\t|"))
	for _, row := range rows {
		fmt.Fprintf(t, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	_ = t.Flush() // this writer keeps its error
}

func writeTargets(w io.Writer, r *Result) {
	list := targets(r)
	if len(list) == 0 {
		return
	}
	fmt.Fprint(w, "\n### Targets\n\n")
	var rows [][]string
	for _, t := range list {
		rows = append(rows, []string{t.what, t.want, t.got, t.verdict(r)})
	}
	table(w, []string{"what", "target", "measured", "reached"}, 4, rows)
	for _, l := range r.Limits {
		if crowded(r, l.Threads) {
			fmt.Fprintf(w, "\nUndecided: other work kept %s from running at once (their peak is not that of as many processors).\n", threadsText(l.Threads))
		}
	}
}

func writeLimits(w io.Writer, r *Result) {
	if len(r.Limits) == 0 {
		return
	}
	fmt.Fprint(w, "\n### Limits of the machine\n\n")
	head := []string{"what"}
	var rows [][]string
	for i, l := range r.Limits {
		head = append(head, threadsText(l.Threads))
		row := 0
		add := func(what, value string) {
			if i == 0 {
				rows = append(rows, []string{what})
			}
			rows[row] = append(rows[row], value)
			row++
		}
		for _, c := range l.Flops {
			add(fmt.Sprintf("multiply-adds, %s, %s, GFLOP/s", c.Type, c.Level), fmt.Sprintf("%.0f", c.GFlops))
		}
		for _, c := range l.Copy {
			add(fmt.Sprintf("copy of %s, GB/s", bench.Size(c.Bytes/2)), fmt.Sprintf("%.1f", c.GBps))
		}
	}
	table(w, head, 1, rows)
}

// worst is the length of the list of the slowest cases.
const worst = 12

func writeOps(w io.Writer, r *Result) {
	for _, n := range threadCounts(r) {
		var rows [][]string
		var list []OpResult
		for _, o := range r.Ops {
			if o.Threads == n {
				list = append(list, o)
			}
		}
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n### Ops against PyTorch, %s\n\n", threadsText(n))
		table(w, []string{"set", "cases", "geometric mean of speeds", "worst"}, 1, setRows(list))
		slow := slices.Clone(list)
		slices.SortStableFunc(slow, func(a, b OpResult) int { return order(a.Speed(), b.Speed()) })
		names := []string{}
		for _, o := range slow[:min(worst, len(slow))] {
			names = append(names, fmt.Sprintf("%s %.2f", o.Name, o.Speed()))
		}
		fmt.Fprintf(w, "\nSlowest: %s.\n\n", strings.Join(names, ", "))
		for _, o := range list {
			rate := fmt.Sprintf("%.1f GB/s", o.GBps)
			if strings.HasSuffix(o.Limit, "peak") {
				rate = fmt.Sprintf("%.1f GFLOP/s", o.GFlops)
			}
			rows = append(rows, []string{o.Name, microsText(o.Median), microsText(o.Torch.Median), fmt.Sprintf("%.2f", o.Speed()), fmt.Sprintf("%.2f", o.BestSpeed()),
				rate, fmt.Sprintf("%.0f %% of %s", 100*o.OfLimit, o.Limit)})
		}
		table(w, []string{"op", "burn, µs", "PyTorch, µs", "speed", "of the best", "rate", "limit"}, 1, rows)
	}
}

// setRows returns a row for each set of cases and one for all cases.
func setRows(list []OpResult) [][]string {
	var rows [][]string
	row := func(name string, keep func(OpResult) bool) {
		var v []float64
		for _, o := range list {
			if keep(o) {
				v = append(v, o.Speed())
			}
		}
		rows = append(rows, []string{name, fmt.Sprint(len(v)), fmt.Sprintf("%.2f", bench.GeoMean(v)), fmt.Sprintf("%.2f", slices.Min(v))})
	}
	var sets []string
	for _, o := range list {
		if !slices.Contains(sets, o.Set) {
			sets = append(sets, o.Set)
		}
	}
	for _, s := range sets {
		row(s, func(o OpResult) bool { return o.Set == s })
	}
	row("all", func(OpResult) bool { return true })
	return rows
}

func microsText(d time.Duration) string {
	us := micros(d)
	switch {
	case us == 0:
		return ""
	case us < 10:
		return fmt.Sprintf("%.2f", us)
	case us < 100:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

func writeModels(w io.Writer, r *Result) {
	for _, n := range threadCounts(r) {
		var rows [][]string
		var boundary, ort, ortBest, torch, torchBest []float64
		cell := func(v float64, list *[]float64) string {
			if v == 0 {
				return ""
			}
			*list = append(*list, v)
			return fmt.Sprintf("%.2f", v)
		}
		for _, m := range r.Models {
			if m.Threads != n {
				continue
			}
			rows = append(rows, []string{m.Name, microsText(m.Builtin.Median), microsText(m.Process.Median), cell(ratio(m.Process.Median, m.Builtin.Median), &boundary),
				microsText(m.ORT.Median), cell(ratio(m.ORT.Median, m.Builtin.Median), &ort), cell(ratio(m.ORT.Best, m.Builtin.Best), &ortBest),
				microsText(m.Torch.Median), cell(ratio(m.Torch.Median, m.Builtin.Median), &torch), cell(ratio(m.Torch.Best, m.Builtin.Best), &torchBest)})
		}
		if len(rows) == 0 {
			continue
		}
		mean := func(v []float64) string {
			if len(v) == 0 {
				return ""
			}
			return fmt.Sprintf("%.2f", bench.GeoMean(v))
		}
		rows = append(rows, []string{"geometric mean", "", "", mean(boundary), "", mean(ort), mean(ortBest), "", mean(torch), mean(torchBest)})
		fmt.Fprintf(w, "\n### Models, %s\n\n", threadsText(n))
		table(w, []string{"model", "builtin, µs", "process, µs", "process / builtin", "ONNX Runtime, µs", "speed against it", "of the best",
			"PyTorch, µs", "speed against it", "of the best"}, 1, rows)
	}
}

func writeCold(w io.Writer, r *Result) {
	if len(r.Cold) == 0 {
		return
	}
	fmt.Fprint(w, "\n### Cold start and footprint\n\n")
	var rows [][]string
	for _, c := range r.Cold {
		rows = append(rows, []string{c.Model, c.Program, fmt.Sprintf("%.0f", c.First.Median.Seconds()*1e3), fmt.Sprintf("%.0f", c.First.Best.Seconds()*1e3),
			fmt.Sprint(c.Peak >> 20)})
	}
	table(w, []string{"model", "program", "first answer, ms", "best, ms", "peak memory, MiB"}, 2, rows)
	fmt.Fprintln(w)
	rows = nil
	for _, s := range r.Sizes {
		rows = append(rows, []string{s.What, fmt.Sprintf("%.0f", float64(s.Bytes)/(1<<20))})
	}
	table(w, []string{"installed", "MiB"}, 1, rows)
}
