package train

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/train/metric"
)

// Summary returns a table of the best and the last value of each metric, by split. infos describes the metrics; metrics of the
// system are omitted.
func (h History) Summary(infos ...metric.Info) string {
	known := map[string]metric.Info{}
	for _, i := range infos {
		known[i.Name] = i
	}
	rows := [][]string{{"split", "metric", "best", "epoch", "last", "epoch"}}
	for _, s := range []Split{Train, Valid, Test} {
		for _, name := range h.names(s) {
			i := known[name]
			if i.System {
				continue
			}
			epochs, values := h.Series(s, name)
			last := len(values) - 1
			row := []string{string(s), name, "", "", Format(values[last], i.Unit), fmt.Sprint(epochs[last] + 1)}
			if best, ok := h.Best(Watch{s, name}, i.Better); ok && i.Better != metric.Neither {
				row[2], row[3] = Format(float64(best.Values[name]), i.Unit), fmt.Sprint(best.Epoch+1)
			}
			rows = append(rows, row)
		}
	}
	return table(rows)
}

// names returns the names of the metrics of a split in alphabetical order, with "loss" first.
func (h History) names(s Split) []string {
	seen := map[string]bool{}
	for _, r := range h {
		if r.Split == s {
			for n := range r.Values {
				seen[n] = true
			}
		}
	}
	return sortedNames(seen)
}

func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], len(c))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], c)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
